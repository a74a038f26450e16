#include "store/sinks_sql.h"

#include <stddef.h>

const char *const tide_sinks_sql_tables[] = {
    "CREATE TABLE \"%w\".tidemark_registry(dataset TEXT NOT NULL PRIMARY KEY) STRICT, WITHOUT ROWID",

    "CREATE TABLE \"%w\".tidemark_sink(\n"
    "  sink TEXT NOT NULL CHECK(sink <> ''),\n"
    "  dataset TEXT NOT NULL,\n"
    "  target TEXT,\n"
    "  format TEXT,\n"
    "  columns TEXT,\n"
    "  filter TEXT,\n"
    "  options TEXT,\n"
    "  start ANY NOT NULL DEFAULT 'earliest',\n"
    "  state TEXT NOT NULL DEFAULT 'active'\n"
    "    CHECK(state IN ('active', 'paused', 'disabled', 'blocked', 'diverged')),\n"
    "  hold INTEGER NOT NULL DEFAULT 1 CHECK(hold IN (0, 1)),\n"
    "  hold_rows INTEGER CHECK(hold_rows >= 0),\n"
    "  hold_age ANY,\n"
    "  max_rows INTEGER CHECK(max_rows > 0),\n"
    "  max_bytes INTEGER CHECK(max_bytes > 0),\n"
    "  min_rows INTEGER CHECK(min_rows >= 0),\n"
    "  max_delay ANY,\n"
    "  PRIMARY KEY(sink, dataset)) STRICT",

    "CREATE TABLE \"%w\".tidemark_sink_state(\n"
    "  sink TEXT NOT NULL, dataset TEXT NOT NULL, folder TEXT, prefix TEXT NOT NULL,\n"
    "  caught_up INTEGER NOT NULL DEFAULT 0, epoch INTEGER NOT NULL DEFAULT (random()),\n"
    "  from_first INTEGER NOT NULL DEFAULT 0,\n"
    "  PRIMARY KEY(sink, dataset)) STRICT, WITHOUT ROWID",

    "CREATE TABLE \"%w\".tidemark_export_log(\n"
    "  id INTEGER PRIMARY KEY,\n"
    "  sink TEXT NOT NULL,\n"
    "  dataset TEXT NOT NULL,\n"
    "  partition TEXT NOT NULL,\n"
    "  generation INTEGER,\n"
    "  kind TEXT NOT NULL DEFAULT 'batch' CHECK(kind IN ('batch', 'gap', 'rewind')),\n"
    "  since INTEGER NOT NULL,\n"
    "  until INTEGER NOT NULL,\n"
    "  rows INTEGER NOT NULL DEFAULT 0 CHECK(rows >= 0),\n"
    "  skipped INTEGER NOT NULL DEFAULT 0 CHECK(skipped >= 0),\n"
    "  dead INTEGER NOT NULL DEFAULT 0 CHECK(dead >= 0),\n"
    "  bytes INTEGER NOT NULL DEFAULT 0 CHECK(bytes >= 0),\n"
    "  object TEXT,\n"
    "  hash TEXT,\n"
    "  reason TEXT,\n"
    "  committed_at INTEGER NOT NULL\n"
    "    DEFAULT (CAST(round((julianday('now') - 2440587.5) * 86400000) AS INTEGER)),\n"
    /* a constraint, for an index by name would make VACUUM fail beside a TEMP dataset */
    "  UNIQUE(sink, dataset, partition, id)) STRICT",

    "CREATE TABLE \"%w\".tidemark_export_total(\n"
    "  sink TEXT NOT NULL,\n"
    "  dataset TEXT NOT NULL,\n"
    "  partition TEXT NOT NULL,\n"
    "  generation INTEGER NOT NULL,\n"
    "  batches INTEGER NOT NULL,\n"
    "  rows INTEGER NOT NULL,\n"
    "  skipped INTEGER NOT NULL,\n"
    "  dead INTEGER NOT NULL,\n"
    "  gap_rows INTEGER NOT NULL,\n"
    "  rewound_rows INTEGER NOT NULL,\n"
    "  bytes INTEGER NOT NULL,\n"
    "  until INTEGER NOT NULL,\n"
    "  PRIMARY KEY(sink, dataset, partition, generation)) STRICT, WITHOUT ROWID",

    "CREATE VIEW \"%w\".tidemark_watermark(sink, dataset, partition, generation, since, committed_at) AS\n"
    "  SELECT sink, dataset, partition, generation, until, committed_at\n"
    "  FROM (SELECT sink, dataset, partition, generation, until, committed_at, max(id) FROM tidemark_export_log\n"
    "    GROUP BY sink, dataset, partition)",

    "CREATE TABLE \"%w\".tidemark_batch(\n"
    "  batch INTEGER PRIMARY KEY AUTOINCREMENT,\n"
    "  sink TEXT NOT NULL,\n"
    "  dataset TEXT NOT NULL,\n"
    "  partition TEXT NOT NULL,\n"
    "  generation INTEGER NOT NULL,\n"
    "  since INTEGER NOT NULL,\n"
    "  until INTEGER NOT NULL,\n"
    "  rows INTEGER NOT NULL,\n"
    "  key TEXT NOT NULL,\n"
    "  object TEXT,\n"
    "  config TEXT NOT NULL,\n"
    "  owner TEXT,\n"
    "  lease_until INTEGER,\n"
    "  attempts INTEGER NOT NULL DEFAULT 0,\n"
    "  not_before INTEGER,\n"
    "  error TEXT,\n"
    "  claimed_at INTEGER NOT NULL,\n"
    "  UNIQUE(sink, dataset, partition)) STRICT",

    "CREATE TABLE \"%w\".tidemark_dead(\n"
    "  id INTEGER PRIMARY KEY AUTOINCREMENT,\n"
    "  sink TEXT NOT NULL,\n"
    "  dataset TEXT NOT NULL,\n"
    "  partition TEXT NOT NULL,\n"
    "  since INTEGER NOT NULL,\n"
    "  payload TEXT NOT NULL,\n"
    "  reason TEXT NOT NULL,\n"
    "  attempts INTEGER NOT NULL DEFAULT 0,\n"
    "  at INTEGER NOT NULL) STRICT",

    "CREATE TABLE \"%w\".tidemark_sink_count(\n"
    "  sink TEXT NOT NULL, dataset TEXT NOT NULL, place TEXT NOT NULL,\n"
    "  tick INTEGER NOT NULL, token INTEGER NOT NULL, previous INTEGER NOT NULL DEFAULT 0,\n"
    "  marked INTEGER NOT NULL DEFAULT 0, attempts INTEGER NOT NULL DEFAULT 0, not_before INTEGER NOT NULL DEFAULT 0,\n"
    "  refused INTEGER NOT NULL DEFAULT 0,\n"
    "  PRIMARY KEY(sink, dataset, place)) STRICT, WITHOUT ROWID",

    "CREATE TABLE \"%w\".tidemark_sink_fork(\n"
    "  sink TEXT NOT NULL, dataset TEXT NOT NULL, log_id TEXT NOT NULL,\n"
    "  PRIMARY KEY(sink, dataset)) STRICT, WITHOUT ROWID",

    "CREATE VIRTUAL TABLE \"%w\".tidemark_dataset USING tidemark_status(dataset)",
    "CREATE VIRTUAL TABLE \"%w\".tidemark_stat USING tidemark_status(stat)",
    "CREATE VIRTUAL TABLE \"%w\".tidemark_segment USING tidemark_status(segment)",
    "CREATE VIRTUAL TABLE \"%w\".tidemark_lag USING tidemark_status(lag)",
    "CREATE VIRTUAL TABLE \"%w\".tidemark_guard USING tidemark_guard",
    NULL};

/* Its columns have other names where the host sets full_column_names. */
const char *const tide_sinks_sql_earlier_views[] = {
    "CREATE VIEW \"%w\".tidemark_watermark(sink, dataset, partition, generation, since, committed_at) AS\n"
    "  SELECT sink, dataset, partition, generation, until, committed_at\n"
    "  FROM (SELECT *, max(id) FROM tidemark_export_log GROUP BY sink, dataset, partition)",
    NULL};

/* clang-format off */
#define SAME_KEY(row) "sink = " row ".sink AND dataset = " row ".dataset AND partition = " row ".partition"
#define LAST_ROW(row) "FROM tidemark_export_log WHERE " SAME_KEY(row) " ORDER BY id DESC LIMIT 1"
/* Where the sink stands in a partition, and how often it was rewound. */
#define WATERMARK \
  "coalesce((SELECT until " LAST_ROW("NEW") "),\n" \
  "    (SELECT start FROM tidemark_sink WHERE sink = NEW.sink AND dataset = NEW.dataset))"
#define GENERATION "coalesce((SELECT generation " LAST_ROW("NEW") "), 0)"
#define IN_STAT "FROM tidemark_stat WHERE dataset = NEW.dataset AND partition = NEW.partition"
#define NEWEST "coalesce((SELECT last_since " IN_STAT "), 0)"
#define REFUSE(message, condition) "  SELECT RAISE(ABORT, '" message "') WHERE " condition ";\n"
#define RENAMED(table) \
  "NEW.dataset IS NOT OLD.dataset AND OLD.dataset NOT IN (SELECT dataset FROM tidemark_registry)\n" \
  "    AND NEW.dataset IN (SELECT dataset FROM tidemark_registry)"
#define CHECKED_SINK \
  "tidemark_guard(NEW.sink, NEW.dataset, NEW.target, NEW.format, NEW.columns, NEW.filter, NEW.options, NEW.start,\n" \
  "    NEW.hold_age, NEW.max_delay)"

/* A start given as a word, in any letters, becomes the number it stands for; the guard refused other words before. */
#define START_BY_WORD \
  "  UPDATE tidemark_sink SET start = CASE lower(NEW.start) WHEN 'earliest' THEN 0\n" \
  "      WHEN 'latest' THEN (SELECT last_since FROM tidemark_dataset WHERE dataset = NEW.dataset)\n" \
  "      ELSE start END\n" \
  "    WHERE sink = NEW.sink AND dataset = NEW.dataset AND typeof(start) = 'text';\n"

/* Whether no row of the dataset is gone that a sink which begins at its first row never had and has no gap for. For one
 * that was away that is so where its log has a row: those partitions kept getting gaps. */
#define NOTHING_MISSED \
  "NOT EXISTS(SELECT 1 FROM tidemark_stat p WHERE p.dataset = NEW.dataset AND p.written - p.deleted <> p.rows\n" \
  "      AND NOT EXISTS(SELECT 1 FROM tidemark_export_log\n" \
  "        WHERE sink = NEW.sink AND dataset = NEW.dataset AND partition = p.partition))"

/* A sink that begins elsewhere, or once did, leaves rows to nobody's count. */
#define FIRST_NO_MORE \
  "  UPDATE tidemark_sink_state SET from_first = 0\n" \
  "    WHERE sink = NEW.sink AND dataset = NEW.dataset AND from_first AND 0 IS NOT\n" \
  "      (SELECT start FROM tidemark_sink WHERE sink = NEW.sink AND dataset = NEW.dataset);\n"

/* An open batch that would not begin where its sink stands could never be acked. */
#define STRANDED \
  REFUSE("tidemark_sink: start does not change while a batch is open that begins there: ack it or delete it first", \
         "EXISTS(SELECT 1 FROM tidemark_batch b WHERE sink = NEW.sink AND dataset = NEW.dataset\n" \
         "      AND since IS NOT coalesce((SELECT until " LAST_ROW("b") "),\n" \
         "        (SELECT start FROM tidemark_sink WHERE sink = NEW.sink AND dataset = NEW.dataset)))")

const char *const tide_sinks_sql_triggers[] = {
    "CREATE TRIGGER \"%w\".tidemark_sink_insert AFTER INSERT ON tidemark_sink BEGIN\n"
    "  INSERT INTO tidemark_sink_state(sink, dataset, folder, prefix, from_first)\n"
    "    SELECT NEW.sink, NEW.dataset, folder, NEW.dataset, " NOTHING_MISSED "\n"
    "      FROM " CHECKED_SINK " WHERE true\n"
    "    ON CONFLICT DO UPDATE SET folder = excluded.folder, prefix = excluded.prefix, caught_up = 0,\n"
    "      epoch = random(), from_first = from_first AND excluded.from_first;\n"
    START_BY_WORD
    FIRST_NO_MORE
    STRANDED
    "END",

    "CREATE TRIGGER \"%w\".tidemark_sink_key BEFORE UPDATE OF sink, dataset ON tidemark_sink\n"
    "  WHEN (NEW.sink IS NOT OLD.sink OR NEW.dataset IS NOT OLD.dataset) AND NOT (" RENAMED("sink") ") BEGIN\n"
    "  SELECT RAISE(ABORT, 'tidemark_sink: sink and dataset of a registered sink do not change:"
    " delete it and insert another');\n"
    "END",

    "CREATE TRIGGER \"%w\".tidemark_sink_update\n"
    "  AFTER UPDATE OF target, format, columns, filter, options, start, hold_age, max_delay ON tidemark_sink BEGIN\n"
    "  UPDATE tidemark_sink_state SET folder = (SELECT folder FROM " CHECKED_SINK "),\n"
    "      caught_up = CASE WHEN NEW.start IS OLD.start THEN caught_up ELSE 0 END,\n"
    "      epoch = CASE WHEN NEW.start IS OLD.start THEN epoch ELSE random() END\n"
    "    WHERE sink = NEW.sink AND dataset = NEW.dataset;\n"
    START_BY_WORD
    FIRST_NO_MORE
    STRANDED
    "END",

    "CREATE TRIGGER \"%w\".tidemark_sink_delete AFTER DELETE ON tidemark_sink BEGIN\n"
    "  DELETE FROM tidemark_batch WHERE sink = OLD.sink AND dataset = OLD.dataset;\n"
    "END",

    "CREATE TRIGGER \"%w\".tidemark_export_log_insert BEFORE INSERT ON tidemark_export_log BEGIN\n"
    REFUSE("tidemark_export_log: id is given by SQLite: leave it out", "NEW.id IS NOT NULL AND NEW.id <> -1")
    REFUSE("tidemark_export_log: there is no such sink of that dataset in tidemark_sink",
           "NOT EXISTS(SELECT 1 FROM tidemark_sink WHERE sink = NEW.sink AND dataset = NEW.dataset)\n"
           "      AND NOT (NEW.kind IS 'gap' AND EXISTS(SELECT 1 " LAST_ROW("NEW") "))")
    REFUSE("tidemark_export_log: since must be the watermark (the until of the row before, or the start of the sink)",
           "NEW.since IS NOT " WATERMARK)
    REFUSE("tidemark_export_log: generation must be the present one; a rewind begins the next by itself: leave it out",
           "NEW.generation IS NOT NULL AND (NEW.kind IS 'rewind' OR NEW.generation IS NOT " GENERATION ")")
    REFUSE("tidemark_export_log: until must be above since, a row must cover something",
           "NEW.kind IS NOT 'rewind' AND NEW.until <= NEW.since")
    REFUSE("tidemark_export_log: until must not be beyond the newest row of the partition",
           "NEW.kind IS NOT 'rewind' AND NEW.until > " NEWEST)
    REFUSE("tidemark_export_log: an open batch begins at that since and has another end: ack it or delete it first",
           "EXISTS(SELECT 1 FROM tidemark_batch WHERE " SAME_KEY("NEW")
           " AND (NEW.kind IS 'rewind' OR until IS NOT NEW.until))")
    REFUSE("tidemark_export_log: the until of a rewind must be below the watermark and not below 0",
           "NEW.kind IS 'rewind' AND NOT coalesce(NEW.until < NEW.since AND NEW.until >= 0, 0)")
    REFUSE("tidemark_export_log: a rewind must say its reason",
           "NEW.kind IS 'rewind' AND coalesce(NEW.reason, '') = ''")
    REFUSE("tidemark_export_log: the dataset has no such partition to rewind",
           "NEW.kind IS 'rewind' AND NOT EXISTS(SELECT 1 " IN_STAT ")")
    REFUSE("tidemark_export_log: the until of a rewind must not be below tidemark_stat.pruned_upto, up to where the"
           " rows are gone: tidemark_rewind stops there by itself",
           "NEW.kind IS 'rewind' AND NEW.until < (SELECT pruned_upto " IN_STAT ")")
    "END",

    "CREATE TRIGGER \"%w\".tidemark_export_log_inserted AFTER INSERT ON tidemark_export_log BEGIN\n"
    REFUSE("tidemark_export_log: id is given by SQLite: leave it out",
           "NEW.id < 1 OR NEW.id < (SELECT max(id) FROM tidemark_export_log)")
    /* the sink stands at the until of a rewind by now: what lies up to its since is what it gives back */
    "  UPDATE tidemark_export_log SET generation = (NEW.kind = 'rewind') + coalesce((SELECT generation\n"
    "      FROM tidemark_export_log WHERE " SAME_KEY("NEW") " AND id < NEW.id ORDER BY id DESC LIMIT 1), 0),\n"
    "      rows = CASE NEW.kind WHEN 'rewind' THEN (SELECT rows FROM tidemark_lag WHERE " SAME_KEY("NEW") "\n"
    "        AND max_until = NEW.since) ELSE rows END\n"
    "    WHERE id = NEW.id AND generation IS NULL;\n"
    "  DELETE FROM tidemark_batch WHERE " SAME_KEY("NEW") ";\n"
    "  UPDATE tidemark_sink_state SET caught_up = min(caught_up, NEW.until), epoch = random()\n"
    "    WHERE NEW.kind = 'rewind' AND sink = NEW.sink AND dataset = NEW.dataset;\n"
    "END",

    "CREATE TRIGGER \"%w\".tidemark_export_log_update BEFORE UPDATE ON tidemark_export_log\n"
    "  WHEN NOT (OLD.generation IS NULL AND NEW.generation IS NOT NULL AND NEW.dataset IS OLD.dataset\n"
    "      OR " RENAMED("log") ")\n"
    "    OR NEW.id IS NOT OLD.id OR NEW.sink IS NOT OLD.sink OR NEW.partition IS NOT OLD.partition\n"
    "    OR NEW.kind IS NOT OLD.kind OR NEW.since IS NOT OLD.since OR NEW.until IS NOT OLD.until\n"
    "    OR (NEW.rows IS NOT OLD.rows AND (OLD.kind IS NOT 'rewind' OR OLD.generation IS NOT NULL))\n"
    "    OR NEW.skipped IS NOT OLD.skipped OR NEW.dead IS NOT OLD.dead\n"
    "    OR NEW.bytes IS NOT OLD.bytes OR NEW.object IS NOT OLD.object OR NEW.hash IS NOT OLD.hash\n"
    "    OR NEW.reason IS NOT OLD.reason OR NEW.committed_at IS NOT OLD.committed_at\n"
    "    OR (OLD.generation IS NOT NULL AND NEW.generation IS NOT OLD.generation) BEGIN\n"
    "  SELECT RAISE(ABORT, 'tidemark_export_log: rows of the log never change');\n"
    "END",

    "CREATE TRIGGER \"%w\".tidemark_export_log_delete BEFORE DELETE ON tidemark_export_log\n"
    "  WHEN OLD.dataset IN (SELECT dataset FROM tidemark_registry) BEGIN\n"
    REFUSE("tidemark_export_log: the last row of a partition is the watermark and stays",
           "OLD.id = (SELECT id " LAST_ROW("OLD") ")")
    REFUSE("tidemark_export_log: an older row of that sink and partition is still there: delete from the oldest on",
           "EXISTS(SELECT 1 FROM tidemark_export_log WHERE " SAME_KEY("OLD") " AND id < OLD.id)")
    "END",

    "CREATE TRIGGER \"%w\".tidemark_export_log_deleted AFTER DELETE ON tidemark_export_log\n"
    "  WHEN OLD.dataset IN (SELECT dataset FROM tidemark_registry) BEGIN\n"
    "  INSERT INTO tidemark_export_total VALUES(OLD.sink, OLD.dataset, OLD.partition, OLD.generation,\n"
    "      OLD.kind = 'batch', iif(OLD.kind = 'batch', OLD.rows, 0), iif(OLD.kind = 'rewind', 0, OLD.skipped),\n"
    "      iif(OLD.kind = 'rewind', 0, OLD.dead), iif(OLD.kind = 'gap', OLD.rows, 0),\n"
    "      iif(OLD.kind = 'rewind', OLD.rows, 0), OLD.bytes, OLD.until)\n"
    "    ON CONFLICT DO UPDATE SET batches = batches + excluded.batches, rows = rows + excluded.rows,\n"
    "      skipped = skipped + excluded.skipped, dead = dead + excluded.dead,\n"
    "      gap_rows = gap_rows + excluded.gap_rows, rewound_rows = rewound_rows + excluded.rewound_rows,\n"
    "      bytes = bytes + excluded.bytes, until = excluded.until;\n"
    "END",

    "CREATE TRIGGER \"%w\".tidemark_batch_insert BEFORE INSERT ON tidemark_batch BEGIN\n"
    REFUSE("tidemark_batch: the batch number is given by SQLite: leave it out",
           "NEW.batch IS NOT NULL AND NEW.batch <> -1")
    REFUSE("tidemark_batch: there is no such sink of that dataset in tidemark_sink",
           "NOT EXISTS(SELECT 1 FROM tidemark_sink WHERE sink = NEW.sink AND dataset = NEW.dataset)")
    REFUSE("tidemark_batch: the partition has an open batch of that sink",
           "EXISTS(SELECT 1 FROM tidemark_batch WHERE " SAME_KEY("NEW") ")")
    REFUSE("tidemark_batch: since must be the watermark of the sink", "NEW.since IS NOT " WATERMARK)
    REFUSE("tidemark_batch: generation must be the present one", "NEW.generation IS NOT " GENERATION)
    REFUSE("tidemark_batch: until must be above since and not beyond the newest row of the partition",
           "NEW.until <= NEW.since OR NEW.until > " NEWEST)
    "END",

    "CREATE TRIGGER \"%w\".tidemark_batch_update BEFORE UPDATE ON tidemark_batch\n"
    "  WHEN NEW.sink IS NOT OLD.sink OR NEW.partition IS NOT OLD.partition OR NEW.generation IS NOT OLD.generation\n"
    "    OR NEW.since IS NOT OLD.since OR NEW.until IS NOT OLD.until OR NEW.rows IS NOT OLD.rows\n"
    "    OR NEW.key IS NOT OLD.key OR NEW.object IS NOT OLD.object OR NEW.config IS NOT OLD.config\n"
    "    OR NEW.claimed_at IS NOT OLD.claimed_at OR NEW.batch < OLD.batch\n"
    "    OR (NEW.batch > OLD.batch AND NEW.batch IN (SELECT batch FROM tidemark_batch))\n"
    "    OR (NEW.dataset IS NOT OLD.dataset AND NOT (" RENAMED("batch") ")) BEGIN\n"
    "  SELECT RAISE(ABORT, 'tidemark_batch: what a batch is does not change: delete it to give the claim up');\n"
    "END",
    NULL};
/* clang-format on */
