#include "codec/template_book.h"

#include <string.h>

#include "base/mem.h"
#include "base/sqlite.h"
#include "codec/intcol.h"

void tide_template_book_clear(struct tide_template_book *book) {
  tide_buf_clear(&book->bytes);
  tide_free(book->lists_at);
  tide_free(book->texts_at);
  *book = (struct tide_template_book){0};
}

/* Takes the bytes of `count` pieces of at most `max` bytes, whose sizes are given, and says where they begin. Gives how
 * many they are. */
static uint64_t take_pieces(struct tide_rd *rd, const unsigned char *base, const int64_t *sizes, size_t count,
                            int64_t max, uint32_t *ret_at) {
  uint64_t total = 0;
  const uint64_t start = (uint64_t)(rd->at - base);
  for (size_t i = 0; i < count && !rd->bad; i++) {
    ret_at[i] = (uint32_t)(start + total);
    if (sizes[i] < 0 || sizes[i] > max)
      rd->bad = true;
    total += (uint64_t)sizes[i];
  }
  ret_at[count] = (uint32_t)(start + total);
  tide_rd_bytes(rd, total);
  return total;
}

static void read_section(struct tide_template_book *book, struct tide_body_rd *rd, int64_t *scratch) {
  const size_t count = book->count;
  tide_intcol_read(rd, count, scratch);
  tide_intcol_read(rd, count, scratch + count);
  if (rd->sections.bad)
    return;
  take_pieces(&rd->sections, book->bytes.data, scratch + count, count, TIDE_TEMPLATE_LIST_MAX, book->lists_at);
  if (!rd->sections.bad && take_pieces(&rd->sections, book->bytes.data, scratch, count, TIDE_TEMPLATE_TEXT_MAX,
                                       book->texts_at) > TIDE_TEMPLATES_SIZE_MAX)
    rd->sections.bad = true;
}

int tide_template_book_parse(struct tide_template_book *book, struct tide_rd bits, struct tide_err *err) {
  struct tide_body_rd rd = {tide_rd_over(book->bytes.data, book->bytes.len), bits};
  book->count = (size_t)tide_rd_varint_max(&rd.sections, TIDE_TEMPLATES_MAX);
  if (book->bytes.len > INT32_MAX || book->count == 0)
    rd.sections.bad = true;
  if (!rd.sections.bad) {
    int64_t *scratch = tide_realloc(NULL, 2 * book->count, sizeof *scratch, err);
    book->lists_at = tide_realloc(NULL, book->count + 1, sizeof *book->lists_at, err);
    book->texts_at = tide_realloc(NULL, book->count + 1, sizeof *book->texts_at, err);
    if (!tide_err_is_set(err))
      read_section(book, &rd, scratch);
    tide_free(scratch);
  }
  if (!tide_err_is_set(err) && (rd.sections.bad || tide_rd_left(&rd.sections) > 0 || tide_rd_left(&rd.bits) > 0))
    tide_err_set(err, SQLITE_CORRUPT_VTAB, "the templates contradict themselves");
  if (tide_buf_reserve(&book->bytes, TIDE_TEMPLATE_SLACK, err) == 0)
    memset(book->bytes.data + book->bytes.len, 0, TIDE_TEMPLATE_SLACK);
  return err->rc;
}
