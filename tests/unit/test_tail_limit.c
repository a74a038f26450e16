/* The tail of a dataset over many partitions, none of which is due to be sealed by itself: a commit that leaves too many
 * batches in it, or too many bytes, seals partitions, the heaviest first, until there is room again. */
#define _GNU_SOURCE
#include "engine/txn.h"
#include "sql_db.h"
#include "unit.h"

static sqlite3 *db;

static void begin(void) {
  scratch_open();
  db = db_open(scratch_path("db"), NULL);
  db_exec(db, "PRAGMA synchronous = off;"
              "CREATE VIRTUAL TABLE logs USING tidemark(source TEXT, n INTEGER, body TEXT, partition_by=source)");
}

/* One row for each of p100, p101 and so on, in one transaction, which is a batch for each. The body of p<longest>'s has
 * five times the bytes. */
static void append(int partitions, int n, int bytes, int longest) {
  db_exec(db,
          "WITH RECURSIVE c(i) AS (SELECT 100 UNION ALL SELECT i + 1 FROM c WHERE i < %d)"
          " INSERT INTO logs SELECT 'p' || i, %d, printf('%%.*c', iif(i = %d, 5, 1) * %d, 'x') FROM c",
          99 + partitions, n, longest, bytes);
}

/* Which partitions have segments, and which have rows in the tail. */
#define SEALED "SELECT group_concat(partition) FROM (SELECT DISTINCT partition FROM tidemark_segment ORDER BY 1)"
#define IN_TAIL "SELECT count(*), count(DISTINCT partition) FROM logs_tail"

static void end(int rows) {
  assert_int(db, rows, "SELECT count(*) FROM logs");
  assert_text(db, "ok", "SELECT tidemark_check('logs')");
  db_close(db);
}

/* Forty partitions may have 4,096 batches: the 103rd transaction makes 4,120. Partitions of 103 batches each are sealed,
 * first p120, whose rows are the longest, then the others in the order in which they came, until an eighth is free. */
START_TEST(too_many_batches) {
  enum { PARTITIONS = 40, FITS = TIDE_TXN_TAIL_BATCHES / PARTITIONS };
  begin();
  for (int n = 1; n <= FITS; n++)
    append(PARTITIONS, n, 10, 120);
  assert_text(db, "4080|40", IN_TAIL);
  assert_text(db, "-", SEALED);
  append(PARTITIONS, FITS + 1, 10, 120);
  assert_text(db, "source=p100,source=p101,source=p102,source=p103,source=p104,source=p120", SEALED);
  assert_text(db, "3502|34", IN_TAIL);
  assert_text(db, "103|103|1|103",
              "SELECT count(*), count(DISTINCT since), min(n), max(n) FROM logs WHERE source = 'p120'");
  end(PARTITIONS * (FITS + 1));
}
END_TEST

/* 64 MiB have room for 74 rows of 900,000 bytes. Each is a batch, and all weigh alike, so that the first partitions are
 * sealed until 65 are left, for which seven eighths have room. */
START_TEST(too_many_bytes) {
  begin();
  append(74, 1, 900000, 0);
  assert_text(db, "74|74", IN_TAIL);
  append(1, 2, 900000, 0);
  assert_text(db, "65|65", IN_TAIL);
  assert_text(db, "source=p100", "SELECT min(partition) FROM tidemark_segment");
  end(75);
}
END_TEST

int main(void) {
  const TTest *const tests[] = {too_many_batches, too_many_bytes, NULL};
  return unit_main("tail limit", tests);
}
