#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "base/sqlite.h"
#include "codec/chunk.h"
#include "codec/intcol.h"
#include "codec/textcol.h"
#include "codec/zframe.h"
#include "oom.h"
#include "random.h"
#include "unit.h"

#define assert_bytes(buf, ...)                                                                                         \
  do {                                                                                                                 \
    static const unsigned char expected[] = {__VA_ARGS__};                                                             \
    ck_assert_uint_eq((buf).len, sizeof expected);                                                                     \
    ck_assert_mem_eq((buf).data, expected, sizeof expected);                                                           \
  } while (0)

/* ---- tokens ---- */

/* The tokens of a text, one behind the other: kind and characters. */
static const char *tokens_of(const char *text) {
  static char out[4000];
  struct tide_token tokens[TIDE_TOKENS_MAX];
  const size_t size = strlen(text), count = tide_token_find((const unsigned char *)text, size, tokens);
  size_t at = 0;
  out[0] = '\0';
  for (size_t i = 0; i < count; i++) {
    static const char *const kinds[TIDE_TOKEN_KINDS] = {"d", "h", "u", "v", "?", "H", "U", "V"};
    unsigned char back[20];
    tide_token_print(tokens[i].kind, tokens[i].value, tokens[i].size, back);
    ck_assert_mem_eq(back, text + tokens[i].at, tokens[i].size);
    const bool natural = tide_token_natural_size(tokens[i].kind, tokens[i].value) == tokens[i].size;
    ck_assert_msg(natural != tokens[i].padded, "token %zu of %s", i, text);
    at += (size_t)snprintf(out + at, sizeof out - at, "%s%s%.*s", i > 0 ? " " : "", kinds[tokens[i].kind],
                           (int)tokens[i].size, text + tokens[i].at);
  }
  return out;
}

START_TEST(digits_words_and_uuids_are_tokens) {
  ck_assert_str_eq(tokens_of(""), "");
  ck_assert_str_eq(tokens_of("no token, nor deadbeef, decade"), "");
  ck_assert_str_eq(tokens_of("7"), "d7");
  ck_assert_str_eq(tokens_of("10.0.07.255:8080 x86_64 a1b2"), "d10 d0 d07 d255 d8080 d86 d64 d1 d2");
  ck_assert_str_eq(tokens_of("2015-05-17T10:05:03.000Z"), "d2015 d05 d17 d10 d05 d03 d000");
  ck_assert_str_eq(tokens_of("commit 3f2a9c, DEADBEEF01 and 12345f78"), "h3f2a9c HDEADBEEF01 h12345f78");
  ck_assert_str_eq(tokens_of("3f2a9C 3f2a9 3f2a9cx 0x3f2a9c"), "d3 d2 d9 d3 d2 d9 d3 d2 d9 d0 d3 d2 d9");
  ck_assert_str_eq(tokens_of("\xc3\xa9"
                             "3f2a9c\xff"
                             "12"),
                   "h3f2a9c d12");
  ck_assert_str_eq(tokens_of("id=0b5e1c2a-90ab-4def-8123-456789abcdef."), "u0b5e1c2a-90ab-4def v-8123-456789abcdef");
  ck_assert_str_eq(tokens_of("12345678-1234-1234-1234-123456789012"), "u12345678-1234-1234 v-1234-123456789012");
  ck_assert_str_eq(tokens_of("0B5E1C2A-90AB-4DEF-8123-456789ABCDEF"), "U0B5E1C2A-90AB-4DEF V-8123-456789ABCDEF");
  ck_assert_str_eq(tokens_of("12345678-1234-1234-1234-12345678901"), "d12345678 d1234 d1234 d1234 d12345678901");
  ck_assert_str_eq(tokens_of("12345678-1234-1234-1234-1234567890123"), "d12345678 d1234 d1234 d1234 d1234567890123");
  ck_assert_str_eq(tokens_of("9999999999999999999"), "d9999999999999999999"); /* 19 digits */
  ck_assert_str_eq(tokens_of("99999999999999999999"), "d9999999999999999999 d9");
  ck_assert_str_eq(tokens_of("0000000000000000000000000000000000000001"),
                   "d0000000000000000000 d0000000000000000000 d01");
  ck_assert_str_eq(tokens_of("da39a3ee5e6b4b0d3255bfef95601890afd80709"),
                   "hda39a3ee5e6b4b0d h3255bfef95601890 hafd80709");
}
END_TEST

START_TEST(a_text_has_sixty_four_tokens_at_the_most) {
  struct tide_token tokens[TIDE_TOKENS_MAX];
  char text[1000];
  size_t size = 0;
  for (int i = 0; i < 100; i++)
    size += (size_t)sprintf(text + size, "%d ", i);
  ck_assert_uint_eq(tide_token_find((const unsigned char *)text, size, tokens), 64);
  ck_assert_uint_eq(tokens[63].value, 63);
  static const char uuid[] = " 0b5e1c2a-90ab-4def-8123-456789abcdef"; /* would be half inside */
  size = 0;
  for (int i = 0; i < 63; i++)
    size += (size_t)sprintf(text + size, "7 ");
  strcpy(text + size, uuid);
  ck_assert_uint_eq(tide_token_find((const unsigned char *)text, strlen(text), tokens), 64);
  ck_assert_uint_eq(tokens[63].kind, TIDE_TOKEN_HEX);
}
END_TEST

START_TEST(natural_sizes_are_those_of_printf) {
  for (unsigned shift = 0; shift < 64; shift++) {
    for (unsigned i = 0; i < 100; i++) {
      const uint64_t value = i == 0 ? UINT64_MAX >> shift : next_random() >> shift;
      char text[30];
      unsigned char out[30];
      unsigned size = (unsigned)sprintf(text, "%llu", (unsigned long long)value);
      ck_assert_uint_eq(tide_token_natural_size(TIDE_TOKEN_DIGITS, value), size);
      tide_token_print(TIDE_TOKEN_DIGITS, value, size, out);
      ck_assert_mem_eq(out, text, size);
      size = (unsigned)sprintf(text, "%llX", (unsigned long long)value);
      ck_assert_uint_eq(tide_token_natural_size(TIDE_TOKEN_HEX | TIDE_TOKEN_UPPER, value), size);
      tide_token_print(TIDE_TOKEN_HEX | TIDE_TOKEN_UPPER, value, size, out);
      ck_assert_mem_eq(out, text, size);
    }
  }
}
END_TEST

/* ---- a column, there and back ---- */

struct column {
  struct tide_template_set set;
  struct tide_textcol_scratch scratch;
  struct tide_trial trial;
  struct tide_body body; /* of the last frame */
};

static struct column column_of_nothing(void) {
  struct tide_err err = {0};
  struct column column = {0};
  tide_trial_init(&column.trial, &err);
  assert_ok(err);
  return column;
}

static void clear_column(struct column *column) {
  tide_template_set_clear(&column->set);
  tide_textcol_scratch_clear(&column->scratch);
  tide_trial_clear(&column->trial);
  tide_body_clear(&column->body);
}

/* Writes a frame, and gives its kind. */
static unsigned write_frame(struct column *column, const struct tide_slice *slices, size_t n) {
  struct tide_err err = {0};
  tide_body_reset(&column->body);
  tide_textcol_write(&column->scratch, &column->trial, &column->set, slices, n, &column->body, &err);
  assert_ok(err);
  return column->body.sections.data[0];
}

/* Reads the section of templates: memory of exactly its size and the slack, for the sanitizer. False: damage. */
static bool open_book(const struct tide_body *body, struct tide_template_book *book) {
  struct tide_err err = {0};
  *book = (struct tide_template_book){0};
  tide_buf_put(&book->bytes, body->sections.data, body->sections.len, &err);
  assert_ok(err);
  const int rc = tide_template_book_parse(book, tide_rd_over(body->bits.data, body->bits.len), &err);
  ck_assert(rc == 0 || rc == SQLITE_CORRUPT_VTAB);
  return rc == 0;
}

/* Reads of a frame the rows that are wanted, NULL: all, and compares them with slices unless these are NULL. False:
 * damage. */
static bool read_wanted(const struct tide_template_book *book, const struct tide_body *body, const uint8_t *wanted,
                        const struct tide_slice *slices, size_t n) {
  struct tide_err err = {0};
  struct tide_textcol_reader reader = {0};
  struct tide_buf bytes = {0};
  unsigned char *bits = malloc(body->bits.len + 1);
  if (body->bits.len > 0)
    memcpy(bits, body->bits.data, body->bits.len);
  tide_buf_put(&bytes, body->sections.data, body->sections.len, &err);
  struct tide_body_rd rd = {tide_rd_over(bytes.data, bytes.len), tide_rd_over(bits, body->bits.len)};
  int64_t *offsets = malloc(n * sizeof *offsets);
  uint32_t *sizes = malloc(n * sizeof *sizes);
  tide_textcol_read(&reader, book, &rd, n, wanted, &bytes, offsets, sizes, &err);
  assert_ok(err);
  const bool fine = !rd.sections.bad && tide_rd_left(&rd.sections) == 0 && tide_rd_left(&rd.bits) == 0;
  volatile unsigned char sum = 0;
  for (size_t i = 0; fine && i < n; i++) {
    for (size_t j = 0; j < sizes[i]; j++)
      sum = (unsigned char)(sum + bytes.data[offsets[i] + (int64_t)j]); /* can be read */
    if (slices == NULL || (wanted != NULL && !wanted[i]))
      continue;
    ck_assert_uint_eq(sizes[i], slices[i].size);
    ck_assert(sizes[i] == 0 || memcmp(bytes.data + offsets[i], slices[i].bytes, sizes[i]) == 0);
  }
  tide_textcol_reader_clear(&reader);
  tide_buf_clear(&bytes);
  free(bits);
  free(offsets);
  free(sizes);
  return fine;
}

static bool read_frame(const struct tide_template_book *book, const struct tide_body *body,
                       const struct tide_slice *slices, size_t n) {
  return read_wanted(book, body, NULL, slices, n);
}

static struct tide_template_book book_of(const struct column *column) {
  struct tide_err err = {0};
  struct tide_template_book book;
  struct tide_body body = {0};
  struct tide_trial trial;
  tide_trial_init(&trial, &err);
  tide_template_set_put(&column->set, &trial, &body, &err);
  assert_ok(err);
  ck_assert(open_book(&body, &book));
  tide_trial_clear(&trial);
  tide_body_clear(&body);
  return book;
}

enum { TEXT_MAX = 2000 };

/* n texts that a function makes. */
static struct tide_slice *texts_of(size_t n, size_t (*make)(char *text, size_t row)) {
  struct tide_slice *slices = calloc(n, sizeof *slices);
  char text[TEXT_MAX];
  for (size_t i = 0; i < n; i++) {
    slices[i].size = (uint32_t)make(text, i);
    unsigned char *copy = malloc(slices[i].size + 1);
    memcpy(copy, text, slices[i].size);
    slices[i].bytes = copy;
  }
  return slices;
}

static void free_texts(struct tide_slice *slices, size_t n) {
  for (size_t i = 0; i < n; i++)
    free((void *)(uintptr_t)slices[i].bytes);
  free(slices);
}

/* Writes the texts in two frames, reads them back, and gives the kind of the second. */
static unsigned there_and_back(size_t (*make)(char *text, size_t row), size_t n, struct column *column) {
  struct tide_slice *slices = texts_of(2 * n, make);
  struct tide_body first;
  *column = column_of_nothing();
  write_frame(column, slices, n);
  first = column->body;
  column->body = (struct tide_body){0};
  const unsigned kind = write_frame(column, slices + n, n);
  struct tide_template_book book = {0};
  if (column->set.nnumbered > 0)
    book = book_of(column);
  ck_assert(read_frame(book.count > 0 ? &book : NULL, &first, slices, n));
  ck_assert(read_frame(book.count > 0 ? &book : NULL, &column->body, slices + n, n));
  tide_template_book_clear(&book);
  tide_body_clear(&first);
  free_texts(slices, 2 * n);
  return kind;
}

static size_t access_log(char *text, size_t row) {
  static const char *const pages[] = {"/index.html", "/blog/%02u/", "/images/%u.png?size=%u"};
  size_t size =
      (size_t)sprintf(text, "198.18.%u.%u GET ", (unsigned)(next_random() % 256), (unsigned)(next_random() % 256));
  size += (size_t)sprintf(text + size, pages[next_random() % 3], (unsigned)(next_random() % 100), (unsigned)row);
  return size + (size_t)sprintf(text + size, " HTTP/1.1 id=%08x-%04x-4000-8000-%012llx 200 in %03u ms",
                                (unsigned)next_random(), (unsigned)(next_random() & 0xffff),
                                (unsigned long long)(next_random() >> 16), (unsigned)(next_random() % 1000));
}

START_TEST(texts_of_few_templates_come_back) {
  struct column column;
  ck_assert_uint_eq(there_and_back(access_log, 2500, &column), TIDE_TEXTCOL_TEMPLATES);
  ck_assert_uint_ge(column.set.nnumbered, 3);
  ck_assert_uint_le(column.set.nnumbered, 8); /* UUIDs that begin with eight letters are no UUIDs */
  /* 2 octets, a page, a size and a UUID of 96 drawn bits, milliseconds: below 20 bytes */
  ck_assert_uint_lt(column.body.sections.len + column.body.bits.len, 2500 * 20);
  clear_column(&column);
}
END_TEST

/* Everything that templates have to bear: NUL, UTF-8 and what is none, zeros in front, runs of all lengths, both
 * cases. */
static size_t adversary(char *text, size_t row) {
  static const char *const words[] = {"a",
                                      " ",
                                      "",
                                      "\xf0\x9f\x8c\x8a",
                                      "\xff\xfe",
                                      "00",
                                      "=",
                                      "0x",
                                      "-",
                                      "dead",
                                      "12345678-1234-1234-1234-123456789012",
                                      "BEEF",
                                      "f00",
                                      "\xc3\xa9",
                                      "%s",
                                      "_"};
  size_t size = 0;
  const size_t parts = next_random() % 5;
  if (row % 4 == 0)
    size = access_log(text, row);
  if (row % 16 == 1)
    text[size++] = '\0';
  for (size_t i = 0; i < parts; i++) {
    const char *word = words[next_random() % (sizeof words / sizeof *words)];
    for (const char *at = word; *at != '\0'; at++)
      text[size++] = *at;
    const size_t digits = next_random() % 8 == 0 ? next_random() % 45 : next_random() % 4;
    for (size_t j = 0; j < digits; j++)
      text[size++] = (char)(next_random() % 3 == 0 ? '0' : '0' + (char)(next_random() % 10));
    if (next_random() % 4 == 0)
      size += (size_t)sprintf(text + size, next_random() % 2 ? "%llx" : "%llX", (unsigned long long)next_random());
  }
  return size;
}

START_TEST(texts_of_all_kinds_come_back) {
  struct tide_err err = {0};
  const bool is_long = getenv("TIDE_TEST_LONG") != NULL;
  for (size_t round = 0; round < (is_long ? 2000 : 12); round++) {
    struct column column;
    random_seed = round;
    there_and_back(adversary, 64 + round * 331 % 4000, &column);
    clear_column(&column);
  }
  assert_ok(err);
}
END_TEST

static size_t two_of_three(char *text, size_t row) {
  return row % 3 == 0 ? adversary(text, 2) : access_log(text, row);
}

/* ---- what becomes of a column ---- */

static size_t noise(char *text, size_t row) {
  static const char letters[] = "abcdefghijklmnopqrstuvwxyz /=.,:;-ABCDEFGHIJKLMNOPQRSTUVWXYZ0123";
  (void)row;
  const size_t size = 40 + next_random() % 40;
  for (size_t i = 0; i < size; i++)
    text[i] = letters[next_random() % 64];
  return size;
}

START_TEST(texts_that_never_repeat_stay_plain) {
  struct column column;
  ck_assert_uint_eq(there_and_back(noise, 4096, &column), TIDE_TEXTCOL_PLAIN);
  ck_assert_uint_eq(column.set.nnumbered, 0);
  ck_assert_uint_eq(column.set.pause, 0);
  ck_assert_uint_eq(column.set.ntemplates, 2000); /* it was seen early, and the second frame not looked at */
  clear_column(&column);
}
END_TEST

static size_t level(char *text, size_t row) {
  static const char *const levels[] = {"info", "warn", "error 500", "error 404"};
  return (size_t)sprintf(text, "%s", levels[row * 7 % 11 % 4]);
}

START_TEST(few_different_texts_stay_a_dictionary) {
  struct column column;
  ck_assert_uint_eq(there_and_back(level, 3000, &column), TIDE_TEXTCOL_DICTIONARY);
  ck_assert_uint_eq(column.set.ntemplates, 0);
  clear_column(&column);
}
END_TEST

static size_t request(char *text, size_t row) {
  (void)row;
  return (size_t)sprintf(text, "request %llu took %llu ms", (unsigned long long)(next_random() % 300 * 7919),
                         (unsigned long long)(next_random() % 2));
}

START_TEST(texts_that_come_again_are_stored_once) {
  struct column column;
  ck_assert_uint_eq(there_and_back(request, 4096, &column), TIDE_TEXTCOL_INDEXED);
  clear_column(&column);
}
END_TEST

static size_t repeats_and_not(char *text, size_t row) {
  return row % 3 == 0 ? noise(text, row) : request(text, row);
}

static size_t log_and_not(char *text, size_t row) {
  return row % 3 == 0 ? noise(text, row) : access_log(text, row);
}

START_TEST(texts_without_a_template_lie_beside_the_others) {
  struct column column;
  /* those of the first frame are numbered until the section is of some size, then only what repeats */
  const unsigned kind = there_and_back(log_and_not, 4096, &column);
  ck_assert_uint_eq(kind, TIDE_TEXTCOL_TEMPLATES);
  ck_assert_uint_gt(column.set.nnumbered, 1);
  ck_assert_uint_lt(column.set.nnumbered, 1000);
  ck_assert_uint_gt(column.scratch.templates.nothers, 1000);
  clear_column(&column);
}
END_TEST

/* The first frame repeats whole blocks of texts, which zstd finds and numbers hide. */
static size_t blocks(char *text, size_t row) {
  return (size_t)sprintf(text, "sector %u%u%u%u", (unsigned)(row % 700 * 2654435761u), (unsigned)(row % 700 * 40503u),
                         (unsigned)(row % 700 * 69069u), (unsigned)(row % 700 * 1664525u));
}

/* The same 700 lines in turn, all different within any 256 rows. */
static size_t in_turn(char *text, size_t row) {
  uint64_t number = row % 700 + 1;
  size_t size = (size_t)sprintf(text, "step");
  for (unsigned i = 0; i < 12; i++) {
    number = (number ^ number >> 29) * UINT64_C(0xbf58476d1ce4e5b9);
    size += (size_t)sprintf(text + size, " %u", (unsigned)(number >> 35));
  }
  return size;
}

/* The same beside a number of its own: no line comes twice, and only zstd sees that most of it does. */
static size_t in_turn_and_not(char *text, size_t row) {
  const size_t size = in_turn(text, row);
  return size + (size_t)sprintf(text + size, " request %u", (unsigned)row * 7919);
}

/* As many numbers that never come again. */
static size_t never_in_turn(char *text, size_t row) {
  size_t size = (size_t)sprintf(text, "step");
  for (unsigned i = 0; i < 12; i++)
    size += (size_t)sprintf(text + size, " %u", (unsigned)(next_random() >> 35));
  return size + (size_t)sprintf(text + size, " request %u", (unsigned)row * 7919);
}

/* Writes a frame of texts behind those that the column has, and asserts that it is not larger than without templates,
 * with these when it is the first. */
static void assert_not_larger(struct column *column, size_t (*make)(char *text, size_t row), bool is_first) {
  struct tide_err err = {0};
  struct tide_slice *slices = texts_of(4096, make);
  struct tide_body plain = {0}, section = {0};
  tide_textcol_write(&column->scratch, &column->trial, NULL, slices, 4096, &plain, &err);
  const size_t before = tide_trial_size(&column->trial, plain.sections.data, plain.sections.len, &err) + plain.bits.len;
  write_frame(column, slices, 4096);
  size_t after = tide_trial_size(&column->trial, column->body.sections.data, column->body.sections.len, &err) +
                 column->body.bits.len;
  if (is_first && column->set.nnumbered > 0) {
    tide_template_set_put(&column->set, &column->trial, &section, &err);
    after += tide_trial_size(&column->trial, section.sections.data, section.sections.len, &err) + section.bits.len;
  }
  assert_ok(err);
  const size_t most = is_first ? before : before + before / 8; /* later frames are not all measured */
  ck_assert_msg(after <= most, "%.20s: %zu bytes, %zu without templates", (const char *)slices[0].bytes, after, before);
  tide_body_clear(&plain);
  tide_body_clear(&section);
  free_texts(slices, 4096);
}

static size_t (*const makers[])(char *, size_t) = {access_log,      adversary,   noise,  level,   request,
                                                   repeats_and_not, log_and_not, blocks, in_turn, in_turn_and_not};

START_TEST(templates_are_never_much_larger) {
  for (size_t m = 0; m < sizeof makers / sizeof *makers; m++) {
    struct column column = column_of_nothing();
    assert_not_larger(&column, makers[m], true);
    clear_column(&column);
  }
}
END_TEST

START_TEST(later_frames_are_never_much_larger) {
  for (size_t m = 0; m < sizeof makers / sizeof *makers; m++) {
    struct column column = column_of_nothing();
    assert_not_larger(&column, access_log, true);
    for (unsigned frame = 2; frame <= 6; frame++)
      assert_not_larger(&column, makers[m], false);
    clear_column(&column);
  }
}
END_TEST

START_TEST(templates_that_become_larger_are_given_up) {
  struct column column = column_of_nothing();
  struct tide_slice *slices = texts_of(4096, never_in_turn);
  ck_assert_uint_eq(write_frame(&column, slices, 4096), TIDE_TEXTCOL_TEMPLATES);
  free_texts(slices, 4096);
  slices = texts_of(4096, in_turn_and_not);
  for (unsigned frame = 2; frame <= 16; frame++)
    write_frame(&column, slices, 4096);
  ck_assert_uint_eq(write_frame(&column, slices, 4096), TIDE_TEXTCOL_PLAIN); /* the 17th */
  free_texts(slices, 4096);
  clear_column(&column);
}
END_TEST

START_TEST(a_set_begins_anew_with_the_next_segment) {
  struct column column = column_of_nothing();
  struct tide_slice *slices = texts_of(1000, access_log);
  struct tide_err err = {0};
  struct tide_buf first = {0};
  write_frame(&column, slices, 1000);
  tide_buf_put(&first, column.body.sections.data, column.body.sections.len, &err);
  tide_template_set_reset(&column.set);
  write_frame(&column, slices, 1000);
  assert_ok(err);
  ck_assert_uint_eq(first.len, column.body.sections.len);
  ck_assert_mem_eq(first.data, column.body.sections.data, first.len);
  tide_buf_clear(&first);
  free_texts(slices, 1000);
  clear_column(&column);
}
END_TEST

/* ---- bytes ---- */

static struct tide_body body_over(const unsigned char *bytes, size_t size) {
  return (struct tide_body){.sections = {.data = (unsigned char *)(uintptr_t)bytes, .len = size}};
}

static bool book_opens(const unsigned char *bytes, size_t size) {
  struct tide_template_book book;
  const struct tide_body body = body_over(bytes, size);
  const bool fine = open_book(&body, &book);
  tide_template_book_clear(&book);
  return fine;
}

enum { C = TIDE_INTCOL_CONSTANT, B = TIDE_INTCOL_OFFSET_BITS };

/* Two templates: "t7 x" with the token 7, and "07:3" with 07 and 3. */
static const unsigned char two_templates[] = {
    2,                        /* templates */
    C,   8,                   /* of four bytes each */
    B,   2,      4,   0x08,   /* with lists of 2 and 4 bytes */
    1,   1 << 3,              /* one byte of text, a token of one */
    0,   2 << 3, 1,   1 << 3, /* a token of two bytes, one byte of text, a token of one */
    't', '7',    ' ', 'x',    '0', '7', ':', '3'};

START_TEST(templates_by_hand) {
  struct tide_err err = {0};
  struct tide_template_set set = {0};
  struct tide_token tokens[TIDE_TOKENS_MAX];
  struct tide_body body = {0};
  static const char *const texts[] = {"t7 x", "07:3"};
  tide_template_set_begin(&set);
  for (size_t i = 0; i < 2; i++) {
    const unsigned char *text = (const unsigned char *)texts[i];
    ck_assert_int_eq(tide_template_set_find(&set, text, 4, tokens, tide_token_find(text, 4, tokens), &err), (int)i);
  }
  tide_template_set_settle(&set, &err);
  tide_template_set_put(&set, NULL, &body, &err);
  assert_ok(err);
  ck_assert_uint_eq(body.sections.len, sizeof two_templates);
  ck_assert_mem_eq(body.sections.data, two_templates, sizeof two_templates);
  tide_body_clear(&body);
  tide_template_set_clear(&set);
}
END_TEST

/* Rows "07:0009", "t34 x", "no" and "t1 x" with these templates. */
static const unsigned char four_rows[] = {TIDE_TEXTCOL_TEMPLATES,
                                          2,  /* locals */
                                          32, /* rows of one that has sections of its own */
                                          B,
                                          2,
                                          0,
                                          0x46, /* rows 2 1 0 1 */
                                          B,
                                          1,
                                          0,
                                          0x02, /* templates 0 1 */
                                          B,
                                          1,
                                          2,
                                          0x02, /* what varies in them: 1, the first token; 2, the second */
                                          1,
                                          4, /* sizes: as they come; four characters */
                                          B,
                                          6,
                                          2,
                                          0x48,
                                          0x08,
                                          0x00, /* digits of size 1: 9 34 1, that is 8 33 0 above 1 */
                                          TIDE_TEXTCOL_PLAIN,
                                          C,
                                          4,
                                          'n',
                                          'o'};

START_TEST(rows_by_hand) {
  static const struct tide_slice expected[] = {{(const unsigned char *)"07:0009", 7},
                                               {(const unsigned char *)"t34 x", 5},
                                               {(const unsigned char *)"no", 2},
                                               {(const unsigned char *)"t1 x", 4}};
  struct tide_template_book book;
  const struct tide_body templates = body_over(two_templates, sizeof two_templates);
  const struct tide_body rows = body_over(four_rows, sizeof four_rows);
  ck_assert(open_book(&templates, &book));
  ck_assert(read_frame(&book, &rows, expected, 4));
  ck_assert(!read_frame(NULL, &rows, NULL, 4)); /* a column without templates */
  ck_assert(!read_frame(&book, &rows, NULL, 3));
  tide_template_book_clear(&book);
}
END_TEST

START_TEST(sizes_by_hand) {
  /* "t007 x", "t7 x", "t07 x": of no one padding */
  static const unsigned char bytes[] = {TIDE_TEXTCOL_TEMPLATES,
                                        1,
                                        32,
                                        C,
                                        2,
                                        C,
                                        0,
                                        C,
                                        2,
                                        0,
                                        C,
                                        14, /* all 7 */
                                        B,
                                        2,
                                        2,
                                        0x12}; /* sizes 3 1 2: 2 0 1 above 1 */
  static const struct tide_slice expected[] = {
      {(const unsigned char *)"t007 x", 6}, {(const unsigned char *)"t7 x", 4}, {(const unsigned char *)"t07 x", 5}};
  struct tide_template_book book;
  const struct tide_body templates = body_over(two_templates, sizeof two_templates);
  struct tide_body rows = body_over(bytes, sizeof bytes);
  ck_assert(open_book(&templates, &book));
  ck_assert(read_frame(&book, &rows, expected, 3));
  unsigned char wrong[sizeof bytes];
  memcpy(wrong, bytes, sizeof bytes);
  rows = body_over(wrong, sizeof wrong);
  wrong[sizeof wrong - 2] = 0; /* 2 0 1: a token of no character */
  ck_assert(!read_frame(&book, &rows, NULL, 3));
  wrong[sizeof wrong - 2] = 2;
  wrong[11] = 20; /* 10 does not fit one character */
  ck_assert(!read_frame(&book, &rows, NULL, 3));
  wrong[11] = 14;
  wrong[sizeof wrong - 2] = 38; /* 21 19 20: more characters than any number has */
  ck_assert(!read_frame(&book, &rows, NULL, 3));
  tide_template_book_clear(&book);
}
END_TEST

/* ---- damage ---- */

static bool is_refused(size_t at, unsigned char byte) {
  struct tide_template_book book;
  unsigned char bytes[sizeof four_rows];
  memcpy(bytes, four_rows, sizeof bytes);
  bytes[at] = byte;
  const struct tide_body templates = body_over(two_templates, sizeof two_templates),
                         rows = body_over(bytes, sizeof bytes);
  ck_assert(open_book(&templates, &book));
  const bool fine = read_frame(&book, &rows, NULL, 4);
  tide_template_book_clear(&book);
  return !fine;
}

START_TEST(impossible_rows_are_refused) {
  ck_assert(!is_refused(0, TIDE_TEXTCOL_TEMPLATES));
  ck_assert(is_refused(1, 0));     /* no locals */
  ck_assert(is_refused(1, 3));     /* one that no row has */
  ck_assert(is_refused(1, 5));     /* more than rows */
  ck_assert(is_refused(2, 0));     /* every local of sections of its own, whatever its rows */
  ck_assert(is_refused(6, 0x47));  /* a row of local 3 */
  ck_assert(is_refused(10, 0x01)); /* templates 1 0 */
  ck_assert(is_refused(9, 2));     /* templates 1 2 of two */
  ck_assert(is_refused(9, 1));     /* -1 0 */
  ck_assert(is_refused(13, 4));    /* what varies: 2 and 3; the first template has one token */
  ck_assert(is_refused(15, 20));   /* padding that no number needs */
  ck_assert(is_refused(14, 0x03)); /* what varies: 2 and 2 */
}
END_TEST

START_TEST(impossible_templates_are_refused) {
  ck_assert(book_opens(two_templates, sizeof two_templates));
  for (size_t size = 0; size < sizeof two_templates; size++)
    ck_assert(!book_opens(two_templates, size));
  ck_assert(!book_opens((const unsigned char[]){0, C, 0, C, 0}, 5));
  ck_assert(!book_opens((const unsigned char[]){0x81, 0x80, 0x01, C, 0, C, 0}, 7)); /* 16,385 of them */
  ck_assert(book_opens((const unsigned char[]){0x80, 0x80, 0x01, C, 0, C, 0}, 7));
  ck_assert(!book_opens((const unsigned char[]){1, C, 1, C, 0}, 5)); /* a text of -1 bytes */
  unsigned char *large = calloc(1, 20000);
  const unsigned char head[] = {1, C, 0x80, 0x80, 0x02, C, 0}; /* of 16,384 */
  memcpy(large, head, sizeof head);
  ck_assert(book_opens(large, sizeof head + 16384));
  large[2] = 0x82; /* of 16,385 */
  ck_assert(!book_opens(large, sizeof head + 16385));
  free(large);
}
END_TEST

START_TEST(templates_take_little_memory) {
  enum { SUM = 256 << 10 };
  unsigned char *texts = calloc(1, SUM + 20000);
  memcpy(texts, (const unsigned char[]){16, C, 0x80, 0x80, 0x02, C, 0}, 7); /* 16 of 16,384 bytes, without lists */
  ck_assert(book_opens(texts, 7 + SUM));
  texts[0] = 17;
  ck_assert(!book_opens(texts, 7 + SUM + 16384));

  /* no memory is taken for a section that cannot be */
  struct tide_err err = {0};
  struct tide_template_book book = {0};
  struct tide_buf frame = {0};
  enum { LARGE = 8 << 20 };
  struct tide_zpress *press = tide_zpress_create(1, &err);
  struct tide_frame_decoder *decoder = tide_frame_decoder_create(&err);
  unsigned char *zeros = calloc(1, LARGE);
  tide_buf_put_u8(&frame, TIDE_FRAME_ZSTD, &err);
  tide_buf_put_varint(&frame, LARGE, &err);
  tide_zpress_frame(press, zeros, LARGE, &frame, &err);
  assert_ok(err);
  ck_assert_uint_lt(frame.len, 2000);
  ck_assert_int_eq(tide_frame_decode_templates(decoder, frame.data, frame.len, &book, &err), SQLITE_CORRUPT_VTAB);
  ck_assert_str_eq(err.msg, "the templates state a size that they cannot have");
  ck_assert_uint_eq(book.bytes.cap, 0);
  tide_frame_decoder_destroy(decoder);
  tide_zpress_destroy(press);
  tide_template_book_clear(&book);
  tide_buf_clear(&frame);
  free(zeros);
  free(texts);
}
END_TEST

/* Whether a row that varies in the first token of a template "t7 x" with this list can be read. */
static bool list_is_fine(unsigned gap, unsigned mark) {
  static const unsigned char row[] = {TIDE_TEXTCOL_TEMPLATES, 1, 32, C, 2, C, 0, C, 2, 1, C, 14};
  unsigned char bytes[] = {1, C, 8, C, 4, (unsigned char)gap, (unsigned char)mark, 't', '7', ' ', 'x'};
  struct tide_template_book book;
  const struct tide_body templates = body_over(bytes, sizeof bytes), body = body_over(row, sizeof row);
  ck_assert(open_book(&templates, &book));
  const bool fine = read_frame(&book, &body, NULL, 2);
  tide_template_book_clear(&book);
  return fine;
}

START_TEST(impossible_tokens_are_refused) {
  ck_assert(list_is_fine(1, 1 << 3 | TIDE_TOKEN_DIGITS));
  ck_assert(list_is_fine(0, 4 << 3 | TIDE_TOKEN_HEX | TIDE_TOKEN_UPPER));
  ck_assert(!list_is_fine(5, 1 << 3 | TIDE_TOKEN_DIGITS)); /* begins behind the text */
  ck_assert(!list_is_fine(1, 4 << 3 | TIDE_TOKEN_DIGITS)); /* ends behind it */
  ck_assert(!list_is_fine(1, 0 << 3 | TIDE_TOKEN_DIGITS));
  ck_assert(!list_is_fine(1, 1 << 3 | TIDE_TOKEN_DIGITS | TIDE_TOKEN_UPPER));
  ck_assert(!list_is_fine(1, 1 << 3 | TIDE_TOKEN_UUID_HEAD));
  ck_assert(!list_is_fine(0x80, 1)); /* an unfinished number */
}
END_TEST

START_TEST(impossible_indexes_are_refused) {
  static const unsigned char fine[] = {TIDE_TEXTCOL_INDEXED, 1, C, 0, TIDE_TEXTCOL_TEMPLATES, 1, 32, C, 2, C, 0, C, 0};
  static const unsigned char beyond[] = {
      TIDE_TEXTCOL_INDEXED,   1, C,  0x80, 0x80, 0x80, 0x80, 0x80, 0x40, /* entry 2^40 of one */
      TIDE_TEXTCOL_TEMPLATES, 1, 32, C,    2,    C,    0,    C,    0};
  static const struct tide_slice expected[] = {{(const unsigned char *)"t7 x", 4}, {(const unsigned char *)"t7 x", 4}};
  static const uint8_t wanted[] = {0, 1};
  struct tide_template_book book;
  const struct tide_body templates = body_over(two_templates, sizeof two_templates);
  struct tide_body rows = body_over(fine, sizeof fine);
  ck_assert(open_book(&templates, &book));
  ck_assert(read_wanted(&book, &rows, NULL, expected, 2));
  ck_assert(read_wanted(&book, &rows, wanted, expected, 2));
  rows = body_over(beyond, sizeof beyond);
  ck_assert(!read_wanted(&book, &rows, NULL, NULL, 2));
  ck_assert(!read_wanted(&book, &rows, wanted, NULL, 2));
  tide_template_book_clear(&book);
}
END_TEST

/* Changes bytes at random, of which a sanitizer would find what the readers do with them. */
static void survive(size_t (*make)(char *text, size_t row), unsigned kind) {
  enum { ROWS = 300, ROUNDS = 6000 };
  struct column column = column_of_nothing();
  struct tide_err err = {0};
  struct tide_body section = {0};
  random_seed = 7;
  struct tide_slice *slices = texts_of(ROWS, make);
  uint8_t wanted[ROWS];
  size_t fine = 0;
  ck_assert_uint_eq(write_frame(&column, slices, ROWS), kind);
  tide_template_set_put(&column.set, &column.trial, &section, &err);
  assert_ok(err);
  struct tide_buf *runs[] = {&section.sections, &section.bits, &column.body.sections, &column.body.bits};
  for (size_t round = 0; round < ROUNDS; round++) {
    struct tide_buf *run = runs[next_random() % 4];
    if (run->len == 0)
      continue;
    unsigned char *byte = &run->data[next_random() % (round % 2 ? run->len : run->len / 8 + 1)], was = *byte;
    *byte = (unsigned char)(round % 3 ? next_random() : *byte ^ (1u << next_random() % 8));
    for (size_t i = 0; i < ROWS; i++)
      wanted[i] = next_random() % 4 == 0;
    struct tide_template_book book;
    if (open_book(&section, &book))
      fine += read_wanted(&book, &column.body, round % 4 < 2 ? wanted : NULL, NULL, ROWS);
    tide_template_book_clear(&book);
    *byte = was;
  }
  ck_assert_uint_gt(fine, 100);
  ck_assert_uint_lt(fine, ROUNDS - 100);
  tide_body_clear(&section);
  free_texts(slices, ROWS);
  clear_column(&column);
}

static size_t long_request(char *text, size_t row) {
  const unsigned number = (unsigned)(row * 7 % 150);
  return (size_t)sprintf(text, "request %u from 198.18.%u.%u took %u ms", number * 7919, number * 37 % 256,
                         number * 101 % 256, number * number % 9973);
}

START_TEST(any_bytes_are_survived) {
  survive(two_of_three, TIDE_TEXTCOL_TEMPLATES);
  survive(long_request, TIDE_TEXTCOL_INDEXED);
}
END_TEST

/* ---- bounds ---- */

/* Finds a text of one token twice in a frame of its own set. */
static void find_twice(struct tide_template_set *set, const char *text) {
  struct tide_err err = {0};
  struct tide_token tokens[TIDE_TOKENS_MAX];
  const unsigned char *bytes = (const unsigned char *)text;
  const size_t size = strlen(text), count = tide_token_find(bytes, size, tokens);
  ck_assert_uint_eq(count, 1);
  const int32_t found = tide_template_set_find(set, bytes, size, tokens, count, &err);
  ck_assert_int_eq(tide_template_set_find(set, bytes, size, tokens, count, &err), found);
  assert_ok(err);
}

/* `count` templates, each of so many letters, in frames of 1000. */
static struct tide_template_set set_of(size_t count, size_t letters) {
  struct tide_err err = {0};
  struct tide_template_set set = {0};
  char *text = malloc(letters + 3);
  for (size_t i = 0; i < count; i++) {
    memset(text, 'g', letters);
    for (size_t at = 0, rest = i; rest > 0; rest /= 20, at++)
      text[at] = (char)('g' + rest % 20);
    strcpy(text + letters, "-7");
    if (i % 1000 == 0) {
      tide_template_set_settle(&set, &err);
      tide_template_set_begin(&set);
    }
    find_twice(&set, text);
  }
  tide_template_set_settle(&set, &err);
  assert_ok(err);
  free(text);
  return set;
}

START_TEST(a_section_has_a_bound) {
  struct tide_err err = {0};
  static const struct {
    size_t count, letters, numbered;
  } cases[] = {{20000, 5, 16384}, {400, 1498, (256 << 10) / 1500}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    struct tide_template_set set = set_of(cases[i].count, cases[i].letters);
    struct tide_body body = {0};
    struct tide_template_book book;
    ck_assert_uint_eq(set.nnumbered, cases[i].numbered);
    ck_assert_uint_le(set.text_size, 256 << 10);
    tide_template_set_put(&set, NULL, &body, &err);
    assert_ok(err);
    ck_assert(open_book(&body, &book));
    ck_assert_uint_eq(book.count, cases[i].numbered);
    tide_template_book_clear(&book);
    tide_body_clear(&body);
    tide_template_set_clear(&set);
  }
}
END_TEST

START_TEST(what_a_set_remembers_has_a_bound) {
  struct tide_template_set set = set_of(40000, 5);
  ck_assert_uint_eq(set.ntemplates, 32768);
  ck_assert_uint_lt(tide_template_set_memory(&set), 6 << 20);
  tide_template_set_clear(&set);
  set = set_of(1500, 1498);
  ck_assert_uint_gt(set.ntemplates, 600);
  ck_assert_uint_lt(set.ntemplates, 700); /* one MiB of them */
  ck_assert_uint_lt(tide_template_set_memory(&set), 3 << 20);
  tide_template_set_clear(&set);
}
END_TEST

/* ---- memory ---- */

static void encode_and_decode(const struct tide_vec *vec, size_t rows, struct tide_err *err) {
  struct tide_template_set set = {0};
  struct tide_template_book book = {0};
  struct tide_buf frame = {0}, templates = {0};
  struct tide_vec back = {0};
  struct tide_frame_encoder *encoder = tide_frame_encoder_create(1, err);
  if (encoder != NULL && tide_frame_encode(encoder, &set, vec, 0, rows, &frame, err) == 0)
    tide_frame_encode_templates(encoder, &set, &templates, err);
  struct tide_frame_decoder *decoder = tide_err_is_set(err) ? NULL : tide_frame_decoder_create(err);
  if (decoder != NULL) {
    ck_assert_uint_gt(templates.len, 0);
    if (tide_frame_decode_templates(decoder, templates.data, templates.len, &book, err) == 0 &&
        tide_frame_decode(decoder, &book, frame.data, frame.len, rows, NULL, &back, err) == 0)
      for (size_t i = 0; i < rows; i++)
        ck_assert(vec->size[i] == back.size[i] &&
                  memcmp(vec->base + vec->num[i], back.base + back.num[i], vec->size[i]) == 0);
  }
  tide_frame_decoder_destroy(decoder);
  tide_frame_encoder_destroy(encoder);
  tide_template_book_clear(&book);
  tide_template_set_clear(&set);
  tide_vec_clear(&back);
  tide_buf_clear(&frame);
  tide_buf_clear(&templates);
}

START_TEST(every_failed_allocation_is_no_memory) {
  enum { ROWS = 600 };
  oom_install();
  struct tide_slice *slices = texts_of(ROWS, repeats_and_not);
  struct tide_vec vec = {0};
  struct tide_err err = {0};
  tide_vec_reserve(&vec, ROWS, &err);
  for (size_t i = 0; i < ROWS; i++) {
    vec.tag[i] = TIDE_VAL_TEXT;
    vec.num[i] = (int64_t)vec.bytes.len;
    vec.size[i] = slices[i].size;
    tide_buf_put(&vec.bytes, slices[i].bytes, slices[i].size, &err);
  }
  vec.base = vec.bytes.data;
  assert_ok(err);
  const long start = oom_live();
  long n = 1;
  for (;; n++) {
    tide_err_clear(&err);
    oom_fail_at(n);
    encode_and_decode(&vec, ROWS, &err);
    ck_assert_int_eq(oom_live(), start);
    if (!oom_has_failed())
      break;
    ck_assert_int_eq(err.rc, SQLITE_NOMEM);
  }
  oom_fail_at(0);
  assert_ok(err);
  ck_assert_int_gt(n, 60);
  tide_vec_clear(&vec);
  free_texts(slices, ROWS);
}
END_TEST

int main(void) {
  const TTest *const tests[] = {digits_words_and_uuids_are_tokens,
                                a_text_has_sixty_four_tokens_at_the_most,
                                natural_sizes_are_those_of_printf,
                                texts_of_few_templates_come_back,
                                texts_of_all_kinds_come_back,
                                texts_that_never_repeat_stay_plain,
                                few_different_texts_stay_a_dictionary,
                                texts_that_come_again_are_stored_once,
                                texts_without_a_template_lie_beside_the_others,
                                templates_are_never_much_larger,
                                later_frames_are_never_much_larger,
                                templates_that_become_larger_are_given_up,
                                a_set_begins_anew_with_the_next_segment,
                                templates_by_hand,
                                rows_by_hand,
                                sizes_by_hand,
                                impossible_rows_are_refused,
                                impossible_templates_are_refused,
                                templates_take_little_memory,
                                impossible_tokens_are_refused,
                                impossible_indexes_are_refused,
                                any_bytes_are_survived,
                                a_section_has_a_bound,
                                what_a_set_remembers_has_a_bound,
                                every_failed_allocation_is_no_memory,
                                NULL};
  return unit_main("template", tests);
}
