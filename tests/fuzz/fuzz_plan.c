/* The plan that xBestIndex hands to xFilter as a string, which only the same process writes, and the values beside it.
 *
 *   u8   0: the string is taken as it is; 1: there is none, and the numbers of the values are a list of since; otherwise it
 *        is written, of constraints
 *   u8   number of values, and these (values.h)
 *   the string to the end, or constraints: u8 column, u8 operator */
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "engine/plan.h"
#include "fuzz.h"
#include "values.h"

enum { COLUMNS = 6, VALUES_MAX = 20, MEMORY = 4 << 20 };

static struct tide_column columns[COLUMNS] = {{.name = (char *)"day", .type = TIDE_TYPE_INTEGER, .partition_at = 0},
                                              {.name = (char *)"t", .type = TIDE_TYPE_TEXT, .partition_at = 1},
                                              {.name = (char *)"r", .type = TIDE_TYPE_REAL, .partition_at = -1},
                                              {.name = (char *)"b", .type = TIDE_TYPE_BLOB, .partition_at = -1},
                                              {.name = (char *)"any", .type = TIDE_TYPE_ANY, .partition_at = -1},
                                              {.name = (char *)"i", .type = TIDE_TYPE_INTEGER, .partition_at = -1}};
static size_t partition[] = {0, 1};
static const struct tide_spec spec = {
    .refs = 1, .ncolumns = COLUMNS, .columns = columns, .npartition = 2, .partition = partition};

static void ask(const char *idx, const struct tide_val *values, size_t nvalues, bool ours) {
  struct tide_err err = {0};
  struct tide_scan_request request;
  struct tide_buf text = {0};
  tide_plan_request(idx, values, nvalues, &spec, &request, &err);
  fuzz_check_error(&err, SQLITE_ERROR, 0);
  FUZZ_CHECK(!ours || err.rc == 0);
  if (err.rc == 0) {
    FUZZ_CHECK(request.npreds <= nvalues);
    for (size_t i = 0; i < request.npreds; i++)
      FUZZ_CHECK(request.preds[i].column >= 0 && request.preds[i].column < COLUMNS);
    tide_scan_request_one_partition(&request, &spec, &text, &err);
    fuzz_check_error(&err, 0, 0);
    tide_scan_request_clear(&request);
  }
  tide_buf_clear(&text);
}

/* A list gives its numbers once, in their order, and no others. */
static void walk_list(const struct tide_val *values, size_t count) {
  struct tide_err err = {0};
  struct tide_scan_request request;
  if (count == 0)
    return;
  int64_t *list = tide_alloc(count * sizeof *list, &err);
  for (size_t i = 0; i < count; i++)
    list[i] = values[i].i;
  tide_scan_request_init(&request);
  tide_scan_request_list(&request, list, count);
  for (int64_t above = INT64_MIN, next; above < INT64_MAX; above = next) {
    next = tide_scan_request_next(&request, above);
    bool found = next == INT64_MAX; /* also: there is none above */
    for (size_t i = 0; i < count; i++) {
      found = found || values[i].i == next;
      FUZZ_CHECK(values[i].i <= above || values[i].i >= next);
    }
    FUZZ_CHECK(found && next > above);
  }
  tide_scan_request_clear(&request);
}

static size_t write_plan(struct fuzz_input *input, size_t nvalues, struct tide_buf *out) {
  struct tide_err err = {0};
  size_t terms = 0;
  tide_plan_put_order(out, fuzz_u8(input) % 3, &err);
  while (terms < nvalues && input->left > 0) {
    const struct tide_plan_constraint constraint = {.column = fuzz_u8(input) % (COLUMNS + 2) - 2,
                                                    .op = fuzz_u8(input) % (TIDE_OP_NOT_NULL + 1)};
    if (!tide_plan_takes(&constraint))
      continue;
    tide_plan_put_term(out, &constraint, &err);
    terms++;
  }
  tide_buf_put_u8(out, 0, &err);
  fuzz_check_error(&err, 0, 0);
  return terms;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  struct fuzz_input input = {data, size};
  struct tide_val values[VALUES_MAX];
  char scratch[VALUES_MAX][FUZZ_SCRATCH];
  const uint8_t what = fuzz_u8(&input);
  const bool ours = what > 1;
  const size_t count = fuzz_u8(&input) % (VALUES_MAX + 1);
  for (size_t i = 0; i < count; i++)
    values[i] = fuzz_value(&input, scratch[i]);
  struct fuzz_input copy = input;
  char *idx = fuzz_string(&copy, copy.left, &size);
  struct tide_buf plan = {0};
  fuzz_begin(MEMORY);
  if (what == 1)
    walk_list(values, count);
  const size_t terms = ours ? write_plan(&input, count, &plan) : count;
  if (what != 1)
    ask(ours ? (const char *)plan.data : idx, values, terms, ours);
  tide_buf_clear(&plan);
  fuzz_end();
  free(idx);
  return 0;
}
