/* Which segments are rewritten: by hand what is due, then a model that applies what is picked until nothing is. */
#include <string.h>

#include "engine/pick.h"
#include "random.h"
#include "unit.h"

enum { ROWS = 1000, BYTES = 100000, LEVEL = 12, ROW_BYTES = 100 };

static const struct tide_pick_rules eager = {ROWS, BYTES, LEVEL, true};
static const struct tide_pick_rules lazy = {ROWS, BYTES, LEVEL, false};

/* ---- the model ---- */

/* The rows of a model's segment that are alive have `raw` bytes; by their share of raw_bytes they may seem to have
 * others. */
struct piece {
  struct tide_segment_row row;
  int64_t raw;
};

struct model {
  struct piece pieces[4096];
  size_t count;
  int64_t next_since;
  int64_t rewritten; /* rows */
  int64_t runs;
};

static int64_t live_of(const struct piece *piece) {
  return piece->row.rows - piece->row.deleted - piece->row.pruned;
}

static struct piece make_piece(int64_t first_since, int64_t rows, int64_t raw, int64_t level) {
  return (struct piece){.row = {.first_since = first_since,
                                .last_since = first_since + rows - 1,
                                .rows = rows,
                                .level = level,
                                .raw_bytes = raw,
                                .stored_bytes = raw / 10},
                        .raw = raw};
}

static void add(struct model *model, int64_t rows, int64_t raw, int64_t level) {
  ck_assert_uint_lt(model->count, sizeof model->pieces / sizeof *model->pieces);
  model->pieces[model->count++] = make_piece(model->next_since + 1, rows, raw, level);
  model->next_since += rows;
}

/* The first run that is due from a place on; its length, 0 when none is. */
static size_t pick_from(struct tide_pick *pick, const struct model *model, const struct tide_pick_rules *rules,
                        size_t from, size_t *ret_first) {
  struct tide_err err = {0};
  struct tide_pick_run run = {0};
  bool found = false;
  tide_pick_init(pick, rules);
  for (size_t i = from; i < model->count && !found; i++)
    found = tide_pick_add(pick, &model->pieces[i].row, &run, &err);
  if (!found)
    found = tide_pick_add(pick, NULL, &run, &err);
  assert_ok(err);
  if (!found)
    return 0;
  *ret_first = from;
  while (model->pieces[*ret_first].row.first_since != run.segments[0].first_since)
    ++*ret_first;
  return run.count;
}

/* What the packer makes of a run: segments that are full by rows or by bytes, and the rest. */
static size_t pack(const struct model *model, const struct tide_pick_rules *rules, size_t first, size_t count,
                   struct piece *out) {
  int64_t live = 0, raw = 0, since = model->pieces[first].row.first_since;
  size_t made = 0;
  for (size_t i = first; i < first + count; i++) {
    live += live_of(&model->pieces[i]);
    raw += model->pieces[i].raw;
  }
  while (live > 0) {
    const int64_t row_raw = raw / live;
    int64_t rows = live < rules->segment_rows ? live : rules->segment_rows;
    if (row_raw > 0 && rows > (rules->segment_bytes + row_raw - 1) / row_raw)
      rows = (rules->segment_bytes + row_raw - 1) / row_raw;
    const int64_t bytes = rows == live ? raw : rows * row_raw;
    out[made++] = make_piece(since, rows, bytes, rules->level);
    since += rows;
    live -= rows;
    raw -= bytes;
  }
  return made;
}

/* Gives how many segments it became. */
static size_t rewrite(struct model *model, const struct tide_pick_rules *rules, size_t first, size_t count) {
  static struct piece out[4096];
  const size_t made = pack(model, rules, first, count, out);
  for (size_t i = 0; i < made; i++)
    model->rewritten += out[i].row.rows;
  memmove(&model->pieces[first + made], &model->pieces[first + count],
          (model->count - first - count) * sizeof *model->pieces);
  memcpy(&model->pieces[first], out, made * sizeof *out);
  model->count = model->count - count + made;
  model->runs++;
  return made;
}

/* One look at everything, as tide_compact does it. */
static int64_t compact_once(struct model *model, const struct tide_pick_rules *rules) {
  struct tide_pick pick = {0};
  const int64_t before = model->runs;
  size_t first = 0, count;
  while ((count = pick_from(&pick, model, rules, first, &first)) > 0)
    first += rewrite(model, rules, first, count);
  tide_pick_clear(&pick);
  return model->runs - before;
}

static int64_t live_total(const struct model *model) {
  int64_t live = 0;
  for (size_t i = 0; i < model->count; i++)
    live += live_of(&model->pieces[i]);
  return live;
}

/* ---- by hand ---- */

/* One segment in words: rows, of which deleted and pruned, and its level. */
struct given {
  int64_t rows, deleted, pruned, level;
};

static void expect(const struct tide_pick_rules *rules, const struct given *given, size_t ngiven, size_t first,
                   size_t count) {
  static struct model model;
  struct tide_pick pick = {0};
  size_t found = 0;
  model.count = 0;
  for (size_t i = 0; i < ngiven; i++) {
    add(&model, given[i].rows, given[i].rows * ROW_BYTES, given[i].level);
    model.pieces[i].row.deleted = given[i].deleted;
    model.pieces[i].row.pruned = given[i].pruned;
  }
  const size_t length = pick_from(&pick, &model, rules, 0, &found);
  ck_assert_msg(length == count && (count == 0 || found == first), "run of %zu at %zu, not of %zu at %zu", length,
                found, count, first);
  tide_pick_clear(&pick);
}
#define EXPECT(rules, first, count, ...)                                                                               \
  do {                                                                                                                 \
    const struct given given[] = {__VA_ARGS__};                                                                        \
    expect(rules, given, sizeof given / sizeof *given, first, count);                                                  \
  } while (0)
#define FULL                                                                                                           \
  { ROWS, 0, 0, LEVEL }
#define SMALL(rows)                                                                                                    \
  { rows, 0, 0, LEVEL }

START_TEST(small_neighbours_are_gathered_up_to_the_target) {
  EXPECT(&eager, 0, 0, FULL);
  EXPECT(&eager, 0, 0, SMALL(1));
  EXPECT(&eager, 0, 2, SMALL(1), SMALL(1));
  EXPECT(&eager, 0, 3, SMALL(300), SMALL(300), SMALL(400), SMALL(1));
  EXPECT(&eager, 0, 2, SMALL(300), SMALL(300), SMALL(401), SMALL(1));
  EXPECT(&eager, 1, 2, FULL, SMALL(1), SMALL(999), FULL);
  EXPECT(&eager, 0, 0, SMALL(600), SMALL(401), SMALL(600));
}
END_TEST

START_TEST(live_rows_count_and_not_those_written) {
  EXPECT(&eager, 0, 2, {600, 0, 100, LEVEL}, {600, 100, 0, LEVEL});
  EXPECT(&eager, 0, 3, {600, 500, 0, LEVEL}, {600, 0, 600, LEVEL}, {900, 0, 0, LEVEL}, FULL);
}
END_TEST

START_TEST(raw_bytes_are_a_target_too) {
  static struct model model;
  struct tide_pick pick = {0};
  size_t first;
  model.count = 0;
  add(&model, 10, BYTES / 2, LEVEL);
  add(&model, 10, BYTES / 2 + 1, LEVEL);
  ck_assert_uint_eq(pick_from(&pick, &model, &eager, 0, &first), 0);
  model.pieces[1].row.pruned = 1;
  ck_assert_uint_eq(pick_from(&pick, &model, &eager, 0, &first), 2);
  tide_pick_clear(&pick);
}
END_TEST

START_TEST(numbers_that_cannot_be_do_not_overflow) {
  static struct model model;
  struct tide_pick pick = {0};
  size_t first;
  model.count = 0;
  for (int i = 0; i < 3; i++) {
    add(&model, 1 << 20, BYTES, LEVEL);
    model.pieces[i].row.raw_bytes = model.pieces[i].row.stored_bytes = INT64_C(1) << 62;
  }
  ck_assert_uint_eq(pick_from(&pick, &model, &eager, 0, &first), 0);
  model.pieces[0].row.deleted = model.pieces[1].row.deleted = 1 << 20;
  ck_assert_uint_eq(pick_from(&pick, &model, &eager, 0, &first), 1);
  tide_pick_clear(&pick);
}
END_TEST

START_TEST(dead_segments_are_dropped_by_themselves) {
  EXPECT(&lazy, 0, 1, {50, 50, 0, 3});
  EXPECT(&lazy, 1, 2, FULL, {50, 20, 30, 3}, {50, 0, 50, 3}, FULL);
  EXPECT(&lazy, 0, 1, {50, 0, 50, 3}, SMALL(10), SMALL(10)); /* and what follows is not read for them */
  EXPECT(&eager, 0, 3, SMALL(10), {50, 50, 0, 3}, SMALL(10), {50, 50, 0, 3}, FULL); /* those between go along */
}
END_TEST

START_TEST(deleted_and_pruned_rows_are_cleaned_out) {
  EXPECT(&eager, 0, 1, {ROWS, 1, 0, LEVEL});
  EXPECT(&lazy, 0, 1, {ROWS, 1, 0, LEVEL});
  EXPECT(&eager, 0, 1, {ROWS, 0, 1, LEVEL});
  EXPECT(&lazy, 0, 0, {ROWS, 0, 249, LEVEL});
  EXPECT(&lazy, 0, 1, {ROWS, 0, 250, LEVEL});
  EXPECT(&lazy, 1, 1, SMALL(600), {410, 1, 0, LEVEL}, SMALL(900));
}
END_TEST

START_TEST(low_levels_are_recompressed_when_settled) {
  EXPECT(&eager, 0, 1, {10, 0, 0, LEVEL - 1});
  EXPECT(&eager, 0, 0, {10, 0, 0, LEVEL + 1});
  EXPECT(&lazy, 0, 0, {499, 0, 0, 3});             /* the newest may still grow */
  EXPECT(&lazy, 0, 1, {500, 0, 0, 3});             /* half a segment */
  EXPECT(&lazy, 0, 1, {499, 0, 0, 3}, SMALL(502)); /* no room for the next */
  EXPECT(&lazy, 0, 0, {499, 0, 0, 3}, SMALL(400)); /* waits for as much behind it */
  EXPECT(&lazy, 1, 1, SMALL(600), {300, 0, 0, 3}, {ROWS, 0, 0, LEVEL});
}
END_TEST

START_TEST(lazily_a_run_waits_for_as_much_behind_its_first) {
  EXPECT(&lazy, 0, 2, SMALL(100), SMALL(100));
  EXPECT(&lazy, 0, 0, SMALL(101), SMALL(100));
  EXPECT(&lazy, 0, 3, SMALL(101), SMALL(100), SMALL(1));
  EXPECT(&lazy, 1, 2, SMALL(300), SMALL(100), SMALL(100));
  EXPECT(&lazy, 0, 4, SMALL(300), SMALL(100), SMALL(100), SMALL(100));
}
END_TEST

START_TEST(lazily_as_many_bytes_too) {
  static struct model model;
  struct tide_pick pick = {0};
  size_t first;
  model.count = 0;
  add(&model, 10, 1001, LEVEL);
  add(&model, 90, 1000, LEVEL);
  ck_assert_uint_eq(pick_from(&pick, &model, &lazy, 0, &first), 0);
  add(&model, 1, 1, LEVEL);
  ck_assert_uint_eq(pick_from(&pick, &model, &lazy, 0, &first), 3);
  tide_pick_clear(&pick);
}
END_TEST

START_TEST(lowered_target_is_no_reason) {
  EXPECT(&eager, 0, 0, SMALL(5 * ROWS), SMALL(3 * ROWS));
}
END_TEST

START_TEST(a_run_is_bounded_in_segments) {
  static struct model model;
  struct tide_pick pick = {0};
  struct tide_pick_rules wide = eager;
  size_t first;
  wide.segment_rows = 1 << 20;
  model.count = 0;
  for (int i = 0; i < TIDE_PICK_SEGMENTS_MAX + 100; i++)
    add(&model, 1, 1, LEVEL);
  ck_assert_uint_eq(pick_from(&pick, &model, &wide, 0, &first), TIDE_PICK_SEGMENTS_MAX);
  tide_pick_clear(&pick);
  ck_assert_int_eq(compact_once(&model, &wide), 2);
  ck_assert_int_eq(compact_once(&model, &wide), 1);
  ck_assert_uint_eq(model.count, 1);
}
END_TEST

/* ---- in the long run ---- */

START_TEST(a_timer_rewrites_each_row_a_few_times) {
  static struct model model;
  const struct tide_pick_rules rules = {65536, 8 << 20, LEVEL, false};
  size_t most = 0;
  model.count = 0;
  for (int i = 0; i < 1000; i++) {
    add(&model, 100, 100 * ROW_BYTES, 3);
    while (compact_once(&model, &rules) > 0)
      ;
    if (model.count > most)
      most = model.count;
  }
  /* log2(65536 / 100) is 9.4; and one time more for the first */
  ck_assert_msg(model.rewritten < 100000 * 10, "%lld rows were rewritten", (long long)model.rewritten);
  ck_assert_int_eq(live_total(&model), 100000);
  ck_assert_msg(most <= 12, "%zu segments were left", most);
}
END_TEST

static void disturb(struct model *model) {
  for (size_t i = 0; i < model->count; i++) {
    struct tide_segment_row *row = &model->pieces[i].row;
    const int64_t live = live_of(&model->pieces[i]);
    const int64_t gone = next_random() % 4 == 0 ? (int64_t)(next_random() % (uint64_t)(live + 1)) : 0;
    if (next_random() % 2 == 0)
      row->deleted += gone;
    else
      row->pruned += gone;
    const int64_t left = live_of(&model->pieces[i]);
    if (gone > 0) /* those that are left may be the big ones, or the small */
      model->pieces[i].raw = left == 0 ? 0 : left + (int64_t)(next_random() % (uint64_t)(model->pieces[i].raw + 1));
    if (model->pieces[i].raw > row->raw_bytes)
      model->pieces[i].raw = row->raw_bytes;
  }
}

static void add_random(struct model *model) {
  const size_t n = 1 + next_random() % 60;
  for (size_t i = 0; i < n; i++) {
    const int64_t rows = 1 + (int64_t)(next_random() % (next_random() % 3 == 0 ? ROWS : 100));
    const int64_t raw = rows * (int64_t)(1 + next_random() % 200);
    add(model, rows, raw, next_random() % 3 == 0 ? LEVEL : 3);
  }
}

/* What an eager compaction promises of its result, seen without the picker. */
static void check_packed(const struct model *model) {
  for (size_t i = 0; i < model->count; i++) {
    const struct piece *piece = &model->pieces[i];
    ck_assert_int_eq(piece->row.deleted + piece->row.pruned, 0);
    ck_assert_int_ge(piece->row.level, LEVEL);
    ck_assert_int_ge(piece->row.rows, 1);
    if (i > 0)
      ck_assert_msg(piece[-1].row.rows + piece->row.rows > ROWS || piece[-1].raw + piece->raw > BYTES,
                    "segments %zu and %zu fit together", i - 1, i);
  }
}

START_TEST(every_layout_comes_to_rest) {
  static struct model model;
  for (int round = 0; round < 2000; round++) {
    const struct tide_pick_rules *rules = round % 2 == 0 ? &eager : &lazy;
    if (round % 20 == 0)
      model.count = 0;
    add_random(&model);
    disturb(&model);
    const int64_t live = live_total(&model);
    int looks = 0;
    while (compact_once(&model, rules) > 0)
      ck_assert_int_lt(++looks, 5);
    ck_assert_int_eq(live_total(&model), live);
    ck_assert_int_eq(compact_once(&model, &lazy), 0); /* and what comes to rest eagerly rests lazily */
    if (rules->eager)
      check_packed(&model);
  }
}
END_TEST

int main(void) {
  const TTest *const tests[] = {small_neighbours_are_gathered_up_to_the_target,
                                live_rows_count_and_not_those_written,
                                raw_bytes_are_a_target_too,
                                numbers_that_cannot_be_do_not_overflow,
                                dead_segments_are_dropped_by_themselves,
                                deleted_and_pruned_rows_are_cleaned_out,
                                low_levels_are_recompressed_when_settled,
                                lazily_a_run_waits_for_as_much_behind_its_first,
                                lazily_as_many_bytes_too,
                                lowered_target_is_no_reason,
                                a_run_is_bounded_in_segments,
                                a_timer_rewrites_each_row_a_few_times,
                                every_layout_comes_to_rest,
                                NULL};
  return unit_main("pick", tests);
}
