#include "store/checks.h"

#include "base/mem.h"
#include "base/stmt.h"

/* ---- tables ---- */

static const char *const shared_tables[] = {"registry",     "sink",  "sink_state", "export_log",
                                            "export_total", "batch", NULL};

static bool has_table(sqlite3 *db, const char *schema, const char *prefix, const char *suffix, struct tide_err *err) {
  return tide_stmt_int(db, 0, err,
                       "SELECT 1 FROM \"%w\".sqlite_schema WHERE type = 'table' AND name = '%q_%q' COLLATE NOCASE",
                       schema, prefix, suffix) != 0;
}

static char *first_missing(sqlite3 *db, const char *schema, const char *prefix, const char *const *suffixes,
                           struct tide_err *err) {
  for (size_t i = 0; suffixes[i] != NULL && !tide_err_is_set(err); i++) {
    if (!has_table(db, schema, prefix, suffixes[i], err))
      return tide_err_is_set(err) ? NULL : tide_printf(err, "%s_%s", prefix, suffixes[i]);
  }
  return NULL;
}

char *tide_checks_missing_table(sqlite3 *db, struct tide_names names, struct tide_err *err) {
  char *missing = first_missing(db, names.schema, names.dataset, tide_names_suffixes(names), err);
  return missing != NULL ? missing : first_missing(db, names.schema, "tidemark", shared_tables, err);
}

/* ---- rows ---- */

sqlite3_stmt *tide_checks_segments_astray(sqlite3 *db, struct tide_names names, struct tide_err *err) {
  return tide_stmt_prepare(
      db, err,
      "SELECT partition, last_since FROM " TIDE_TABLE("segment") " WHERE partition NOT IN"
                                                                 " (SELECT id FROM " TIDE_TABLE("partition") ")",
      names.schema, names.dataset, names.schema, names.dataset);
}

sqlite3_stmt *tide_checks_tail(sqlite3 *db, struct tide_names names, struct tide_err *err) {
  return tide_stmt_prepare(db, err,
                           "SELECT last_since, first_since, partition, rows, length(data) FROM " TIDE_TABLE(
                               "tail") " ORDER BY partition, last_since",
                           names.schema, names.dataset);
}

sqlite3_stmt *tide_checks_deleted(sqlite3 *db, struct tide_names names, struct tide_err *err) {
  return tide_stmt_prepare(db, err, "SELECT partition, since FROM " TIDE_TABLE("deleted") " ORDER BY partition, since",
                           names.schema, names.dataset);
}

sqlite3_stmt *tide_checks_chunk_owners(sqlite3 *db, struct tide_names names, struct tide_err *err) {
  return tide_stmt_prepare(
      db, err, "SELECT chunk, chunks, partition, last_since FROM " TIDE_TABLE("segment") " ORDER BY chunk, chunks",
      names.schema, names.dataset);
}

sqlite3_stmt *tide_checks_chunks(sqlite3 *db, struct tide_names names, struct tide_err *err) {
  return tide_stmt_prepare(db, err, "SELECT id FROM " TIDE_TABLE("chunk") " ORDER BY id", names.schema, names.dataset);
}

sqlite3_stmt *tide_checks_chunk_size(sqlite3 *db, struct tide_names names, struct tide_err *err) {
  return tide_stmt_prepare(db, err, "SELECT length(data) FROM " TIDE_TABLE("chunk") " WHERE id = ?1", names.schema,
                           names.dataset);
}

/* ---- the index of unique= ---- */

sqlite3_stmt *tide_checks_unique(sqlite3 *db, struct tide_names names, struct tide_err *err) {
  return tide_stmt_prepare(db, err, "SELECT since FROM " TIDE_TABLE("unique") " WHERE partition = ?1 ORDER BY since",
                           names.schema, names.dataset);
}

sqlite3_stmt *tide_checks_unique_astray(sqlite3 *db, struct tide_names names, struct tide_err *err) {
  return tide_stmt_prepare(db, err,
                           "SELECT partition, since FROM " TIDE_TABLE("unique") " WHERE partition NOT IN"
                                                                                " (SELECT id FROM " TIDE_TABLE(
                                                                                    "partition") ")",
                           names.schema, names.dataset, names.schema, names.dataset);
}

int64_t tide_checks_unique_count(sqlite3 *db, struct tide_names names, struct tide_err *err) {
  return tide_stmt_int(db, 0, err, "SELECT count(*) FROM " TIDE_TABLE("unique"), names.schema, names.dataset);
}

/* ---- sinks ---- */

/* Each is a format with schema and dataset in turn. */
#define OF_DATASET(table) "\"%w\".tidemark_" table " WHERE dataset = %Q"
#define OF_SINK(table) OF_DATASET(table) " AND sink = ?1"
#define OF_PARTITION(table) OF_SINK(table) " AND partition = ?2"

sqlite3_stmt *tide_checks_sinks(sqlite3 *db, struct tide_names names, struct tide_err *err) {
  return tide_stmt_prepare(
      db, err,
      "SELECT sink, s.sink IS NOT NULL, s.start, t.sink IS NOT NULL, t.caught_up, t.from_first FROM"
      " (SELECT sink FROM " OF_DATASET("sink") " UNION SELECT sink FROM " OF_DATASET(
          "sink_state") " UNION SELECT sink FROM " OF_DATASET("export_log") ")"
                                                                            " LEFT JOIN (SELECT sink, start "
                                                                            "FROM " OF_DATASET(
                                                                                "sink") ") s USING(sink)"
                                                                                        " LEFT JOIN (SELECT sink, "
                                                                                        "caught_up, from_first "
                                                                                        "FROM " OF_DATASET(
                                                                                            "sink_state") ") t "
                                                                                                          "USING(sink) "
                                                                                                          "ORDER BY "
                                                                                                          "sink",
      names.schema, names.dataset, names.schema, names.dataset, names.schema, names.dataset, names.schema,
      names.dataset, names.schema, names.dataset);
}

sqlite3_stmt *tide_checks_log(sqlite3 *db, struct tide_names names, struct tide_err *err) {
  return tide_stmt_prepare(db, err,
                           "SELECT partition, id, coalesce(generation, -1), kind = 'rewind', since, until"
                           " FROM " OF_SINK("export_log") " ORDER BY partition, id",
                           names.schema, names.dataset);
}

sqlite3_stmt *tide_checks_trimmed(sqlite3 *db, struct tide_names names, struct tide_err *err) {
  return tide_stmt_prepare(
      db, err, "SELECT generation, until FROM " OF_PARTITION("export_total") " ORDER BY generation DESC LIMIT 1",
      names.schema, names.dataset);
}

/* total() does not fail on numbers that cannot be, as sum() does. */
sqlite3_stmt *tide_checks_account(sqlite3 *db, struct tide_names names, struct tide_err *err) {
  return tide_stmt_prepare(
      db, err,
      "SELECT CAST((SELECT total(CASE kind WHEN 'rewind' THEN -rows ELSE rows + skipped + dead END)"
      " FROM " OF_PARTITION("export_log") ") + (SELECT total(rows + skipped + dead + gap_rows - rewound_rows)"
                                          " FROM " OF_PARTITION(
                                              "export_total") ") AS INTEGER),"
                                                              " (SELECT until FROM " OF_PARTITION(
                                                                  "export_log") " ORDER BY id DESC LIMIT 1)",
      names.schema, names.dataset, names.schema, names.dataset, names.schema, names.dataset);
}

sqlite3_stmt *tide_checks_batches(sqlite3 *db, struct tide_names names, struct tide_err *err) {
#define LAST(column)                                                                                                   \
  "(SELECT " column " FROM \"%w\".tidemark_export_log l WHERE l.sink = b.sink AND l.dataset = b.dataset"               \
  " AND l.partition = b.partition ORDER BY id DESC LIMIT 1)"
  return tide_stmt_prepare(
      db, err,
      "SELECT b.batch, b.sink, b.partition, b.generation, b.since, b.until,"
      " iif(s.sink IS NULL, NULL, coalesce(" LAST(
          "generation") ", 0)),"
                        " iif(s.sink IS NULL, NULL, coalesce(" LAST(
                            "until") ", s.start))"
                                     " FROM \"%w\".tidemark_batch b LEFT JOIN \"%w\".tidemark_sink s ON s.sink = "
                                     "b.sink AND s.dataset = b.dataset"
                                     " WHERE b.dataset = %Q ORDER BY b.batch",
      names.schema, names.schema, names.schema, names.schema, names.dataset);
}
