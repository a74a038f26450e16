/* Sinks that forward: what each answer of a receiver leads to. */
#define _GNU_SOURCE
#include "receiver.h"
#include "shim_vfs.h"
#include "unit.h"

static const int64_t T0 = 1767225600000; /* 2026-01-01 */
static sqlite3 *db;

static void open_db(void) {
  db = db_open(scratch_path("db"), "shim");
  receiver_add(db);
}

static void begin(void) {
  scratch_open();
  shim_register();
  shim.now_ms = T0;
  open_db();
  db_exec(db, "CREATE VIRTUAL TABLE logs USING tidemark(source TEXT, body TEXT, partition_by=source);"
              "INSERT INTO tidemark_sink(sink, dataset, target, format, columns)"
              " VALUES ('s', 'logs', 'test://receiver', 'ndjson', '[\"since\",\"body\"]')");
}

static void end(void) {
  db_close(db);
}

static void reopen(void) {
  db_close(db);
  open_db();
}

/* Rows "<first>" to "<last>" into a partition. */
static void append(const char *source, int first, int last) {
  db_exec(db,
          "WITH RECURSIVE c(n) AS (SELECT %d UNION ALL SELECT n + 1 FROM c WHERE n < %d)"
          " INSERT INTO logs SELECT '%s', printf('<%%d>', n) FROM c",
          first, last, source);
}

static const char *tick(const char *what) {
  return db_text(db, "SELECT json_extract(tidemark_export('s'), '$.%s')", what);
}

/* Every row of the dataset was taken once, but for those set aside. */
static void check_all_taken(void) {
  const int rows = (int)db_int(db, "SELECT count(*) FROM logs");
  const int dead = (int)db_int(db, "SELECT count(*) FROM tidemark_dead");
  ck_assert_int_eq(receiver_rows(), rows - dead);
  assert_int(db, rows, "SELECT sum(rows + dead) FROM tidemark_export_log");
  assert_int(db, dead, "SELECT sum(dead) FROM tidemark_export_log");
  assert_int(db, 0, "SELECT count(*) FROM tidemark_batch");
}

START_TEST(a_batch_is_one_request_with_its_key) {
  begin();
  append("web", 1, 3);
  ck_assert_str_eq(tick("rows"), "3");
  ck_assert_int_eq(receiver.requests, 1);
  ck_assert_str_eq(receiver.last_body, "{\"since\":1,\"body\":\"<1>\"}\n{\"since\":2,\"body\":\"<2>\"}\n"
                                       "{\"since\":3,\"body\":\"<3>\"}\n");
  ck_assert_str_eq(receiver.last_key, db_text(db, "SELECT log_id || '/s/logs/source=web/0/0-3' FROM tidemark_dataset"));
  ck_assert_str_eq(db_text(db, "SELECT object FROM tidemark_export_log"), receiver.last_key);
  ck_assert_str_eq(tick("batches"), "0");
  ck_assert_int_eq(receiver.requests, 1);
  end();
}
END_TEST

START_TEST(batches_are_smaller_than_those_of_files) {
  begin();
  append("web", 1, 5001);
  ck_assert_str_eq(tick("batches"), "2");
  ck_assert_int_eq(receiver.ledger[0].rows, 5000);
  db_exec(db, "INSERT INTO logs SELECT 'big', printf('%%.*c', 1000000, 'x') FROM logs LIMIT 5");
  ck_assert_str_eq(tick("batches"), "2"); /* 4 MiB */
  end();
}
END_TEST

START_TEST(a_full_batch_waits_for_nobody) {
  begin();
  db_exec(db, "UPDATE tidemark_sink SET min_rows = 5, max_rows = 3");
  append("web", 1, 2);
  ck_assert_str_eq(tick("waiting"), "1");
  append("web", 3, 7);
  ck_assert_str_eq(tick("rows"), "6");
  append("web", 8, 8);
  ck_assert_str_eq(tick("waiting"), "1");
  end();
}
END_TEST

START_TEST(receivers_may_be_shared) {
  begin();
  db_exec(db, "INSERT INTO tidemark_sink(sink, dataset, target, format, filter)"
              " VALUES ('t', 'logs', 'test://receiver', 'ndjson', 'false')");
  end();
}
END_TEST

/* In a request that takes longer than a lease may go without being renewed. */
static void wait_long(void) {
  struct tide_err err = {0};
  receiver.before = NULL;
  shim.now_ms += 25000;
  ck_assert(!posting.patience->is_over(posting.patience->context, &err));
  sqlite3 *other = db_open(scratch_path("db"), "shim");
  assert_int(other, shim.now_ms + 60000, "SELECT lease_until FROM tidemark_batch");
  db_close(other);
}

START_TEST(a_lease_is_renewed_while_a_request_waits) {
  begin();
  append("web", 1, 1);
  receiver.before = wait_long;
  ck_assert_str_eq(tick("rows"), "1");
  ck_assert_ptr_null(receiver.before);
  end();
}
END_TEST

static void do_elsewhere(const char *sql) {
  receiver.before = NULL;
  sqlite3 *other = db_open(scratch_path("db"), "shim");
  receiver_add(other);
  db_exec(other, "%s", sql);
  db_close(other);
}

static void pause_elsewhere(void) {
  do_elsewhere("UPDATE tidemark_sink SET state = 'paused'");
}

START_TEST(a_sink_that_is_paused_in_its_tick_claims_no_more) {
  begin();
  db_exec(db, "UPDATE tidemark_sink SET max_rows = 1");
  append("web", 1, 5);
  receiver.before = pause_elsewhere;
  ck_assert_str_eq(tick("rows"), "1");
  ck_assert_int_eq(receiver.requests, 1);
  assert_int(db, 0, "SELECT count(*) FROM tidemark_batch");
  end();
}
END_TEST

static void give_up_elsewhere(void) {
  do_elsewhere("DELETE FROM tidemark_batch");
}

START_TEST(a_batch_that_is_gone_when_it_is_to_be_halved_is_said) {
  begin();
  append("web", 1, 5);
  receiver.most_rows = 2;
  receiver.before = give_up_elsewhere;
  ck_assert_str_eq(tick("sinks[0].failures[0].error"),
                   "the batch was taken over by another process, or given up, while it was shipped");
  tick("rows");
  check_all_taken();
  end();
}
END_TEST

START_TEST(a_lost_answer_is_asked_for_again_with_the_same_key) {
  char first[KEY_MAX];
  begin();
  append("web", 1, 10);
  receiver.drops_after = true;
  ck_assert_str_eq(tick("sinks[0].failures[0].error"), "the connection was dropped");
  strcpy(first, receiver.last_key);
  append("web", 11, 20); /* the batch does not grow by them */
  db_exec(db, "UPDATE tidemark_sink SET columns = '[\"body\"]', max_rows = 3, target = 'test://another'");
  receiver.drops_after = false;
  shim.now_ms += 2000;
  reopen();
  ck_assert_str_eq(tick("rows"), "20");
  ck_assert_str_eq(receiver.ledger[0].key, first);
  ck_assert_int_eq(receiver.requests, 2 + 4);
  ck_assert_str_eq(receiver.ledger[1].body, "{\"body\":\"<11>\"}\n{\"body\":\"<12>\"}\n{\"body\":\"<13>\"}\n");
  check_all_taken();
  end();
}
END_TEST

START_TEST(a_dropped_connection_leaves_the_others_for_later) {
  begin();
  append("web", 1, 1);
  append("db", 2, 2);
  receiver.drops_before = true;
  ck_assert_str_eq(tick("failed"), "1");
  ck_assert_int_eq(receiver.requests, 1);
  ck_assert_str_eq(tick("waiting"), "2");
  ck_assert_int_eq(receiver.requests, 1);
  receiver.drops_before = false;
  shim.now_ms += 1000;
  ck_assert_str_eq(tick("rows"), "2");
  check_all_taken();
  end();
}
END_TEST

START_TEST(what_is_too_large_is_halved) {
  begin();
  append("web", 1, 100);
  append("db", 101, 130);
  receiver.most_rows = 30;
  ck_assert_str_eq(tick("rows"), "130");
  ck_assert_int_eq(receiver.taken, 6); /* 25 a request, and 5 */
  ck_assert_int_eq(receiver.requests, 6 + 2);
  for (int i = 0; i < receiver.taken; i++) {
    for (int j = 0; j < i; j++)
      ck_assert_str_ne(receiver.ledger[i].key, receiver.ledger[j].key);
  }
  ck_assert_int_eq(receiver_has("<100>"), 1);
  check_all_taken();
  end();
}
END_TEST

START_TEST(one_row_that_is_too_large_is_set_aside) {
  begin();
  append("web", 1, 1);
  receiver.most_rows = 1;
  append("web", 2, 3);
  db_exec(db, "UPDATE tidemark_sink SET max_rows = 1");
  receiver.says = true;
  receiver.say = TIDE_VERDICT_TOO_LARGE;
  ck_assert_str_eq(tick("dead"), "3");
  check_all_taken();
  end();
}
END_TEST

START_TEST(a_refused_row_is_found_and_set_aside) {
  begin();
  append("web", 1, 100);
  receiver.poison = "<37>";
  ck_assert_str_eq(tick("dead"), "1");
  ck_assert_str_eq(
      db_text(db, "SELECT sink, dataset, partition, since, payload, reason, attempts, at FROM tidemark_dead"),
      "s|logs|source=web|37|{\"since\":37,\"body\":\"<37>\"}|400: bad row|0|1767225600000");
  ck_assert_int_eq(receiver_has("<37>"), 0);
  ck_assert_int_eq(receiver_has("<36>"), 1);
  ck_assert_int_eq(receiver_has("<38>"), 1);
  ck_assert_int_lt(receiver.requests, 25);
  check_all_taken();
  end();
}
END_TEST

START_TEST(rows_that_the_receiver_names_are_set_aside_without_a_search) {
  begin();
  append("web", 1, 100);
  receiver.poison = "7>";
  receiver.names_poison = true;
  ck_assert_str_eq(tick("dead"), "10");
  ck_assert_int_eq(receiver.requests, 1);
  ck_assert_str_eq(db_text(db, "SELECT group_concat(since), min(reason) FROM tidemark_dead"),
                   "7,17,27,37,47,57,67,77,87,97|names it");
  check_all_taken();
  end();
}
END_TEST

START_TEST(a_filter_does_not_shift_who_is_refused) {
  begin();
  db_exec(db, "UPDATE tidemark_sink SET filter = 'length(body) = 4'");
  append("web", 1, 30);
  receiver.poison = "<12>";
  receiver.names_poison = true;
  ck_assert_str_eq(tick("skipped"), "9");
  ck_assert_str_eq(db_text(db, "SELECT since, payload FROM tidemark_dead"), "12|{\"since\":12,\"body\":\"<12>\"}");
  assert_int(db, 30, "SELECT sum(rows + skipped + dead) FROM tidemark_export_log");
  end();
}
END_TEST

START_TEST(a_receiver_that_refuses_everything_blocks_the_sink) {
  begin();
  append("web", 1, 1000);
  receiver.says = true;
  receiver.say = TIDE_VERDICT_REFUSED;
  tick("dead");
  assert_int(db, 10, "SELECT count(*) FROM tidemark_dead");
  ck_assert_str_eq(db_text(db, "SELECT state FROM tidemark_sink"), "blocked");
  const int requests = receiver.requests;
  ck_assert_str_eq(tick("batches"), "0");
  ck_assert_int_eq(receiver.requests, requests);
  receiver.says = false;
  db_exec(db, "UPDATE tidemark_sink SET state = 'active'");
  tick("rows");
  check_all_taken();
  end();
}
END_TEST

START_TEST(refusals_are_counted_over_ticks) {
  begin();
  receiver.says = true;
  receiver.say = TIDE_VERDICT_REFUSED;
  for (int i = 1; i <= 15; i++) {
    append("web", i, i);
    reopen();
    tick("dead");
  }
  assert_int(db, 10, "SELECT count(*) FROM tidemark_dead");
  ck_assert_str_eq(db_text(db, "SELECT state FROM tidemark_sink"), "blocked");
  end();
}
END_TEST

START_TEST(one_that_names_every_row_is_refusing_everything_too) {
  begin();
  append("web", 1, 200);
  receiver.poison = "<";
  receiver.names_poison = true;
  tick("dead");
  assert_int(db, 10, "SELECT count(*) FROM tidemark_dead");
  ck_assert_str_eq(db_text(db, "SELECT state, (SELECT min(reason) FROM tidemark_dead) FROM tidemark_sink"),
                   "blocked|names it");
  end();
}
END_TEST

START_TEST(a_row_that_is_taken_between_starts_the_count_again) {
  begin();
  db_exec(db, "UPDATE tidemark_sink SET max_rows = 1");
  append("web", 1, 99);
  receiver.poison = "0>";
  append("web", 100, 100);
  tick("dead");
  append("web", 110, 118);
  db_exec(db, "INSERT INTO logs SELECT 'web', '<0>' FROM (VALUES(1),(2),(3),(4),(5),(6),(7),(8),(9)); "
              "INSERT INTO logs VALUES ('web', 'good'); INSERT INTO logs SELECT 'web', '<0>' FROM (VALUES(1),(2),(3))");
  tick("dead");
  ck_assert_str_eq(db_text(db, "SELECT state FROM tidemark_sink"), "active");
  check_all_taken();
  end();
}
END_TEST

START_TEST(a_clock_that_was_ahead_keeps_nobody_waiting) {
  begin();
  append("web", 1, 1);
  shim.now_ms += 4LL * 365 * 86400000;
  receiver.drops_before = true;
  ck_assert_str_eq(tick("failed"), "1");
  receiver.drops_before = false;
  ck_assert_str_eq(tick("waiting"), "1");
  shim.now_ms = T0;
  ck_assert_str_eq(tick("rows"), "1");
  end();
}
END_TEST

START_TEST(a_receiver_may_ask_for_a_pause) {
  char key[KEY_MAX];
  begin();
  append("web", 1, 1);
  append("db", 2, 2);
  receiver.says = true;
  receiver.say = TIDE_VERDICT_LATER;
  receiver.retry_after_ms = 120000;
  ck_assert_str_eq(tick("sinks[0].failures[0].retry_at"), "1767225720000");
  strcpy(key, receiver.last_key);
  ck_assert_int_eq(receiver.requests, 1);
  shim.now_ms += 119999;
  reopen();
  ck_assert_str_eq(tick("waiting"), "2");
  ck_assert_int_eq(receiver.requests, 1);
  receiver.says = false;
  shim.now_ms++;
  ck_assert_str_eq(tick("rows"), "2");
  ck_assert_str_eq(receiver.ledger[0].key, key);
  check_all_taken();
  end();
}
END_TEST

START_TEST(a_pause_is_a_day_at_the_most_and_now_ends_it) {
  begin();
  append("web", 1, 1);
  receiver.says = true;
  receiver.say = TIDE_VERDICT_LATER;
  receiver.retry_after_ms = 400000000;
  ck_assert_str_eq(tick("sinks[0].failures[0].retry_at"), "1767312000000");
  receiver.says = false;
  ck_assert_str_eq(db_text(db, "SELECT tidemark_export('s', 'now') ->> 'rows'"), "1");
  check_all_taken();
  end();
}
END_TEST

START_TEST(without_a_word_pauses_grow) {
  begin();
  append("web", 1, 1);
  receiver.says = true;
  receiver.say = TIDE_VERDICT_LATER;
  receiver.retry_after_ms = -1;
  int64_t longest = 0;
  for (int i = 0; i < 12; i++) {
    const char *at = tick("sinks[0].failures[0].retry_at");
    const int64_t pause = atoll(at) - shim.now_ms;
    ck_assert_int_ge(pause, (i < 9 ? 750 << i : 225000) * (i > 0) + 1000 * (i == 0));
    ck_assert_int_le(pause, i < 9 ? 1000 << i : 300000);
    longest = pause > longest ? pause : longest;
    shim.now_ms += pause;
  }
  ck_assert_int_ge(longest, 225000);
  receiver.says = false;
  ck_assert_str_eq(tick("rows"), "1");
  append("web", 2, 2);
  receiver.says = true;
  ck_assert_str_eq(tick("sinks[0].failures[0].retry_at"), db_text(db, "SELECT %lld", (long long)shim.now_ms + 1000));
  end();
}
END_TEST

START_TEST(who_is_not_let_in_blocks_the_sink) {
  char key[KEY_MAX];
  begin();
  append("web", 1, 1);
  append("db", 2, 2);
  receiver.says = true;
  receiver.say = TIDE_VERDICT_FORBIDDEN;
  ck_assert_str_eq(tick("sinks[0].failures[0].error"), "as it was told");
  strcpy(key, receiver.last_key);
  ck_assert_int_eq(receiver.requests, 1);
  ck_assert_str_eq(db_text(db, "SELECT state FROM tidemark_sink"), "blocked");
  ck_assert_str_eq(db_text(db, "SELECT error FROM tidemark_batch"), "as it was told");
  receiver.says = false;
  db_exec(db, "UPDATE tidemark_sink SET state = 'active'");
  ck_assert_str_eq(tick("rows"), "2");
  ck_assert_str_eq(receiver.ledger[0].key, key);
  check_all_taken();
  end();
}
END_TEST

START_TEST(a_receiver_that_is_ahead_stops_the_sink_until_a_fork) {
  char key[KEY_MAX];
  begin();
  append("web", 1, 1);
  receiver.says = true;
  receiver.say = TIDE_VERDICT_AHEAD;
  receiver.ahead = 7;
  ck_assert_str_eq(
      tick("sinks[0].failures[0].error"),
      "the receiver was told of tick 7 of this sink, which this database knows nothing of: it was restored "
      "from a backup, or is in use twice. Nothing is sent until SELECT tidemark_fork('s')");
  strcpy(key, receiver.last_key);
  ck_assert_str_eq(db_text(db, "SELECT state FROM tidemark_sink"), "diverged");
  receiver.says = false;
  tick("rows");
  ck_assert_int_eq(receiver.requests, 1);
  ck_assert_str_eq(db_text(db, "SELECT tidemark_fork('s') ->> '$.sinks[0].given_up'"), "1");
  ck_assert_str_eq(tick("rows"), "1");
  ck_assert_str_ne(receiver.last_key, key);
  ck_assert_str_eq(strchr(receiver.last_key, '/'), strchr(key, '/'));
  ck_assert_int_eq(receiver.last_tick, 1);
  check_all_taken();
  end();
}
END_TEST

START_TEST(ticks_are_counted_when_something_was_taken) {
  begin();
  append("web", 1, 1);
  receiver.drops_before = true;
  tick("rows");
  ck_assert_int_eq(receiver.last_tick, 1);
  const int64_t token = receiver.last_token;
  receiver.drops_before = false;
  shim.now_ms += 5000;
  tick("rows");
  ck_assert_int_eq(receiver.last_tick, 1);
  ck_assert(receiver.last_token == token);
  append("web", 2, 2);
  tick("rows");
  ck_assert_int_eq(receiver.last_tick, 2);
  ck_assert(receiver.last_token != token);
  end();
}
END_TEST

START_TEST(a_receiver_that_knows_less_is_no_divergence) {
  begin();
  append("web", 1, 1);
  receiver.says = true;
  receiver.say = TIDE_VERDICT_AHEAD;
  receiver.ahead = 0;
  ck_assert_str_eq(tick("sinks[0].failures[0].error"),
                   "the receiver refuses tick 1 of this sink, for it knows of tick 0 only");
  ck_assert_str_eq(db_text(db, "SELECT state FROM tidemark_sink"), "active");
  end();
}
END_TEST

static void tick_elsewhere(void) {
  receiver.before = NULL;
  sqlite3 *other = db_open(scratch_path("db"), "shim");
  receiver_add(other);
  db_exec(other, "UPDATE tidemark_sink_count SET tick = 9, marked = 9");
  db_close(other);
}

START_TEST(a_later_tick_of_another_process_is_no_divergence) {
  begin();
  append("web", 1, 1);
  receiver.before = tick_elsewhere;
  receiver.says = true;
  receiver.say = TIDE_VERDICT_AHEAD;
  receiver.ahead = 9;
  tick("rows");
  ck_assert_str_eq(db_text(db, "SELECT state FROM tidemark_sink"), "active");
  receiver.says = false;
  shim.now_ms += 1000;
  ck_assert_str_eq(tick("rows"), "1");
  ck_assert_int_ge(receiver.last_tick, 9);
  end();
}
END_TEST

START_TEST(dead_rows_are_sent_again_on_demand) {
  begin();
  append("web", 1, 40);
  receiver.poison = "9>";
  tick("dead");
  assert_int(db, 4, "SELECT count(*) FROM tidemark_dead");
  receiver.poison = "<19>";
  ck_assert_str_eq(db_text(db, "SELECT tidemark_requeue('s') ->> '$.sinks[0]'"),
                   "{\"sink\":\"s\",\"dataset\":\"logs\",\"sent\":4,\"delivered\":3,\"refused\":1,\"failure\":null}");
  ck_assert_str_eq(db_text(db, "SELECT since, attempts, reason FROM tidemark_dead"), "19|1|400: bad row");
  ck_assert_int_eq(receiver_has("<9>"), 1);
  receiver.poison = NULL;
  receiver.drops_after = true;
  ck_assert_str_eq(db_text(db, "SELECT tidemark_requeue('s', 'logs') ->> '$.sinks[0].failure'"),
                   "the connection was dropped");
  receiver.drops_after = false;
  ck_assert_str_eq(db_text(db, "SELECT tidemark_requeue('s', 'logs') ->> '$.sinks[0].delivered'"), "1");
  ck_assert_int_eq(receiver_has("<19>"), 1); /* the same key twice */
  ck_assert_int_eq(receiver_rows(), 40);
  assert_int(db, 0, "SELECT count(*) FROM tidemark_dead");
  assert_int(db, 40, "SELECT sum(rows + dead) FROM tidemark_export_log");
  end();
}
END_TEST

START_TEST(a_row_that_is_refused_again_is_none_that_was_taken) {
  begin();
  db_exec(db, "UPDATE tidemark_sink SET max_rows = 1");
  append("web", 1, 4);
  receiver.poison = "<";
  tick("dead");
  assert_int(db, 4, "SELECT refused FROM tidemark_sink_count");
  db_exec(db, "SELECT tidemark_requeue('s')");
  assert_int(db, 4, "SELECT refused FROM tidemark_sink_count");
  receiver.poison = "<4>";
  db_exec(db, "SELECT tidemark_requeue('s')"); /* three are taken, and the last one is not */
  assert_int(db, 0, "SELECT refused FROM tidemark_sink_count");
  end();
}
END_TEST

START_TEST(dead_rows_wait_as_all_do) {
  begin();
  append("web", 1, 2);
  receiver.poison = "<1>";
  tick("dead");
  db_exec(db, "UPDATE tidemark_sink SET state = 'diverged'");
  db_refuses(db, SQLITE_ERROR, "sink s is diverged: nothing is sent until it is active",
             "SELECT tidemark_requeue('s')");
  db_exec(db, "UPDATE tidemark_sink SET state = 'active'");
  receiver.says = true;
  receiver.say = TIDE_VERDICT_LATER;
  receiver.retry_after_ms = 60000;
  ck_assert_str_eq(db_text(db, "SELECT tidemark_requeue('s') ->> '$.sinks[0].failure'"), "as it was told");
  const int requests = receiver.requests;
  ck_assert_str_eq(db_text(db, "SELECT tidemark_requeue('s') ->> '$.sinks[0].failure'"),
                   "the receiver is to be left alone until 1767225660000");
  ck_assert_int_eq(receiver.requests, requests);
  end();
}
END_TEST

START_TEST(a_forward_sink_is_not_driven_by_hand) {
  begin();
  db_exec(db, "UPDATE tidemark_sink SET format = 'ndjson.zst'");
  db_exec(db, "INSERT INTO tidemark_sink(sink, dataset) VALUES ('hand', 'logs')");
  db_refuses(db, SQLITE_ERROR, "has no target", "SELECT tidemark_requeue('hand')");
  db_refuses(db, SQLITE_ERROR, "no such sink: x", "SELECT tidemark_fork('x')");
  append("web", 1, 1);
  receiver.drops_before = true;
  tick("rows");
  db_refuses(db, SQLITE_ERROR, "has a target", "SELECT tidemark_ack(1)");
  end();
}
END_TEST

int main(void) {
  const TTest *const tests[] = {a_batch_is_one_request_with_its_key,
                                batches_are_smaller_than_those_of_files,
                                a_full_batch_waits_for_nobody,
                                receivers_may_be_shared,
                                a_lease_is_renewed_while_a_request_waits,
                                a_sink_that_is_paused_in_its_tick_claims_no_more,
                                a_batch_that_is_gone_when_it_is_to_be_halved_is_said,
                                a_lost_answer_is_asked_for_again_with_the_same_key,
                                a_dropped_connection_leaves_the_others_for_later,
                                what_is_too_large_is_halved,
                                one_row_that_is_too_large_is_set_aside,
                                a_refused_row_is_found_and_set_aside,
                                rows_that_the_receiver_names_are_set_aside_without_a_search,
                                a_filter_does_not_shift_who_is_refused,
                                a_receiver_that_refuses_everything_blocks_the_sink,
                                refusals_are_counted_over_ticks,
                                one_that_names_every_row_is_refusing_everything_too,
                                a_row_that_is_taken_between_starts_the_count_again,
                                a_clock_that_was_ahead_keeps_nobody_waiting,
                                a_receiver_may_ask_for_a_pause,
                                a_pause_is_a_day_at_the_most_and_now_ends_it,
                                without_a_word_pauses_grow,
                                who_is_not_let_in_blocks_the_sink,
                                a_receiver_that_is_ahead_stops_the_sink_until_a_fork,
                                ticks_are_counted_when_something_was_taken,
                                a_receiver_that_knows_less_is_no_divergence,
                                a_later_tick_of_another_process_is_no_divergence,
                                dead_rows_are_sent_again_on_demand,
                                a_row_that_is_refused_again_is_none_that_was_taken,
                                dead_rows_wait_as_all_do,
                                a_forward_sink_is_not_driven_by_hand,
                                NULL};
  return unit_main("forward", tests);
}
