#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "base/rd.h"
#include "base/sqlite.h"
#include "sink/parquet_file.h"
#include "sink/parquet_hash.h"
#include "unit.h"

static struct tide_err err;
static struct tide_buf out;

static void expect_bytes(const char *expected, size_t size) {
  assert_ok(err);
  ck_assert_uint_eq(out.len, size);
  ck_assert_mem_eq(out.data, expected, size);
  tide_buf_clear(&out);
}
#define EXPECT(literal) expect_bytes(literal, sizeof(literal) - 1)

/* ---- thrift: bytes made by hand from thrift-compact-protocol.md ---- */

START_TEST(fields_say_how_far_their_id_is_from_the_one_before) {
  struct tide_thrift thrift;
  tide_thrift_init(&thrift, &out, &err);
  tide_thrift_begin(&thrift);
  tide_thrift_i32(&thrift, 1, 5);
  tide_thrift_bool(&thrift, 2, true);
  tide_thrift_bool(&thrift, 4, false);
  tide_thrift_i64(&thrift, 20, -1);
  tide_thrift_string(&thrift, 21, "ab");
  tide_thrift_end(&thrift);
  EXPECT("\x15\x0a\x11\x22\x06\x28\x01\x18\x02"
         "ab\x00");
}
END_TEST

START_TEST(structs_and_lists_count_ids_anew) {
  struct tide_thrift thrift;
  tide_thrift_init(&thrift, &out, &err);
  tide_thrift_begin(&thrift);
  tide_thrift_begin_field(&thrift, 3);
  tide_thrift_i32(&thrift, 1, 1);
  tide_thrift_end(&thrift);
  tide_thrift_list(&thrift, 4, TIDE_THRIFT_STRUCT, 2);
  for (int i = 0; i < 2; i++) {
    tide_thrift_begin(&thrift);
    tide_thrift_i32(&thrift, 1, i);
    tide_thrift_end(&thrift);
  }
  tide_thrift_list(&thrift, 5, TIDE_THRIFT_TRUE, 15);
  for (int i = 0; i < 15; i++)
    tide_thrift_element_bool(&thrift, i == 0);
  tide_thrift_end(&thrift);
  EXPECT("\x3c\x15\x02\x00\x19\x2c\x15\x00\x00\x15\x02\x00\x19\xf1\x0f"
         "\x01\x02\x02\x02\x02\x02\x02\x02\x02\x02\x02\x02\x02\x02\x02\x00");
}
END_TEST

/* ---- layouts: the examples of Encodings.md, and bytes made by hand ---- */

START_TEST(hybrid_packs_eight_at_a_time) {
  static const uint64_t eight[] = {0, 1, 2, 3, 4, 5, 6, 7};
  static const uint64_t three[] = {1, 2, 3};
  tide_parquet_put_hybrid(&out, eight, 8, 3, &err);
  EXPECT("\x03\x88\xc6\xfa");
  tide_parquet_put_hybrid(&out, three, 3, 2, &err);
  EXPECT("\x03\x39\x00");
}
END_TEST

START_TEST(hybrid_has_long_runs_as_runs) {
  uint64_t values[120];
  for (size_t i = 0; i < 120; i++)
    values[i] = i < 8 ? i : i < 108 ? 4 : 1;
  tide_parquet_put_hybrid(&out, values + 8, 100, 3, &err);
  EXPECT("\xc8\x01\x04");
  tide_parquet_put_hybrid(&out, values, 120, 3, &err);
  EXPECT("\x03\x88\xc6\xfa\xc8\x01\x04\x05\x49\x92\x24\x49\x02\x00");
  tide_parquet_put_hybrid(&out, values + 8, 100, 9, &err);
  EXPECT("\xc8\x01\x04\x00");
}
END_TEST

START_TEST(deltas_are_above_the_least_one) {
  static const int64_t example[] = {7, 5, 3, 1, 2, 3, 4, 5};
  static const int64_t extremes[] = {INT64_MIN, INT64_MAX, INT64_MIN};
  tide_parquet_put_delta(&out, example, 8, &err);
  EXPECT("\x80\x01\x04\x08\x0e\x03\x02\x00\x00\x00\xc0\x3f\x00\x00\x00\x00\x00\x00");
  tide_parquet_put_delta(&out, extremes, 3, &err);
  EXPECT(
      "\x80\x01\x04\x03\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01\x01\x02\x00\x00\x00\x08\x00\x00\x00\x00\x00\x00\x00");
  tide_parquet_put_delta(&out, example, 1, &err);
  EXPECT("\x80\x01\x04\x01\x0e");
}
END_TEST

/* The check value of CRC-32 (the catalogue of parametrised CRC algorithms, CRC-32/ISO-HDLC). */
START_TEST(crc_is_that_of_gzip) {
  struct tide_parquet_crc_table table;
  tide_parquet_crc_init(&table);
  ck_assert_uint_eq(tide_parquet_crc(&table, 0, "123456789", 9), 0xcbf43926);
  ck_assert_uint_eq(tide_parquet_crc(&table, tide_parquet_crc(&table, 0, "1234", 4), "56789", 5), 0xcbf43926);
}
END_TEST

/* ---- bounds ---- */

static struct tide_parquet_bounds bounds_of_text(const char *text, bool is_text) {
  const int64_t size = (int64_t)strlen(text);
  return tide_parquet_bounds_of_bytes((const unsigned char *)text, &size, 1, is_text);
}

static void expect_bound(const struct tide_parquet_bound *bound, const char *text, bool exact) {
  ck_assert_uint_eq(bound->size, strlen(text));
  ck_assert_mem_eq(bound->bytes, text, bound->size);
  ck_assert_int_eq(bound->exact, exact);
}

#define TEN_A "aaaaaaaaaa"
#define SIXTY_A TEN_A TEN_A TEN_A TEN_A TEN_A TEN_A

START_TEST(short_strings_bound_themselves) {
  static const int64_t sizes[] = {1, 2, 0, 1};
  struct tide_parquet_bounds bounds = tide_parquet_bounds_of_bytes((const unsigned char *)"bbc\xff", sizes, 4, false);
  expect_bound(&bounds.min, "", true);
  expect_bound(&bounds.max, "\xff", true);
  bounds = bounds_of_text(SIXTY_A "aaaa", true);
  expect_bound(&bounds.min, SIXTY_A "aaaa", true);
  expect_bound(&bounds.max, SIXTY_A "aaaa", true);
}
END_TEST

START_TEST(long_strings_are_cut_and_the_greatest_rounded_up) {
  struct tide_parquet_bounds bounds = bounds_of_text(SIXTY_A "aaaaz", true);
  expect_bound(&bounds.min, SIXTY_A "aaaa", false);
  expect_bound(&bounds.max, SIXTY_A "aaab", false);
  bounds = bounds_of_text(SIXTY_A "aaa\xffz", false);
  expect_bound(&bounds.min, SIXTY_A "aaa\xff", false);
  expect_bound(&bounds.max, SIXTY_A "aab", false);
}
END_TEST

START_TEST(text_is_cut_between_characters) {
  struct tide_parquet_bounds bounds = bounds_of_text(SIXTY_A "aa\xe2\x82\xacz", true);
  expect_bound(&bounds.min, SIXTY_A "aa", false);
  expect_bound(&bounds.max, SIXTY_A "ab", false);
  bounds = bounds_of_text(SIXTY_A "a\xed\x9f\xbfz", true); /* the last one before the surrogates */
  expect_bound(&bounds.max, SIXTY_A "a\xee\x80\x80", false);
  bounds = bounds_of_text(SIXTY_A "a\xf4\x8f\xbf\xbf", true); /* cut before the last of all */
  expect_bound(&bounds.max, SIXTY_A "b", false);
  bounds = bounds_of_text(SIXTY_A "\xf4\x8f\xbf\xbfz", true); /* which has none above it */
  expect_bound(&bounds.max, SIXTY_A "b" + 1, false);
}
END_TEST

START_TEST(some_strings_have_no_short_upper_bound) {
  char last[84 + 1] = {0};
  for (size_t i = 0; i < 84; i += 4)
    memcpy(last + i, "\xf4\x8f\xbf\xbf", 4);
  ck_assert(bounds_of_text(last, true).unlimited);
  memset(last, 0xff, 84);
  ck_assert(bounds_of_text(last, false).unlimited);
}
END_TEST

static struct tide_parquet_bounds bounds_of_reals(const double *reals, size_t n) {
  int64_t bits[8];
  memcpy(bits, reals, n * sizeof *reals);
  return tide_parquet_bounds_of_numbers(TIDE_PARQUET_DOUBLE, bits, n);
}

START_TEST(zeros_bound_with_both_signs_and_nan_does_not_bound) {
  struct tide_parquet_bounds bounds = bounds_of_reals((const double[]){0.0, -0.0}, 2);
  ck_assert_mem_eq(bounds.min.bytes, "\x00\x00\x00\x00\x00\x00\x00\x80", 8);
  ck_assert_mem_eq(bounds.max.bytes, "\x00\x00\x00\x00\x00\x00\x00\x00", 8);
  bounds = bounds_of_reals((const double[]){NAN, 1.0, -2.0, NAN}, 4);
  ck_assert_mem_eq(bounds.min.bytes, "\x00\x00\x00\x00\x00\x00\x00\xc0", 8);
  ck_assert_mem_eq(bounds.max.bytes, "\x00\x00\x00\x00\x00\x00\xf0\x3f", 8);
  ck_assert_int_eq(bounds.nans, 2);
  ck_assert(!bounds_of_reals((const double[]){NAN}, 1).any);
}
END_TEST

/* ---- a dictionary ---- */

START_TEST(a_dictionary_holds_each_value_once) {
  struct tide_parquet_dict dict = {0};
  for (int round = 0; round < 2; round++) {
    for (int i = 0; i < 5000; i++) {
      unsigned char bytes[3] = {(unsigned char)i, (unsigned char)(i >> 8), 'x'};
      ck_assert_int_eq(tide_parquet_dict_bytes(&dict, bytes, 3, &err), i);
    }
  }
  ck_assert_uint_eq(dict.count, 5000);
  ck_assert_uint_eq(dict.size, 5000 * 7);
  ck_assert_mem_eq(dict.bytes.data + 7, "\x03\x00\x00\x00\x01\x00x", 7);
  tide_parquet_dict_reset(&dict);
  ck_assert_int_eq(tide_parquet_dict_bytes(&dict, (const unsigned char *)"", 0, &err), 0);
  tide_parquet_dict_clear(&dict);
  assert_ok(err);
}
END_TEST

START_TEST(a_dictionary_that_is_full_says_so) {
  struct tide_parquet_dict dict = {0};
  for (int64_t i = 0; i < TIDE_PARQUET_DICT_ENTRIES; i++)
    ck_assert_int_eq(tide_parquet_dict_number(&dict, i * 1000003, 8, &err), i);
  ck_assert_int_eq(tide_parquet_dict_number(&dict, -1, 8, &err), -1);
  ck_assert_int_eq(tide_parquet_dict_number(&dict, 1000003, 8, &err), 1);
  tide_parquet_dict_clear(&dict);
  assert_ok(err);
}
END_TEST

/* ---- values in the layout that suits them ---- */

/* The first page has a hundred different values, in an order that does not repeat, the second a thousand, as numbers
 * without order or as the bytes of a string of eight. */
static void expect_dictionary_of_the_first_page(enum tide_parquet_type type) {
  enum { VALUES = 1000, DIFFERENT = 100, SIZE = 8 };
  const bool is_bytes = type == TIDE_PARQUET_BYTE_ARRAY;
  static uint64_t parts[VALUES];
  static int64_t numbers[VALUES];
  struct tide_parquet_dict dict = {0};
  struct tide_parquet_scratch scratch = {0};
  struct tide_buf laid_out = {0};
  bool refused = false;
  for (int page = 0; page < 2; page++) {
    for (uint64_t i = 0; i < VALUES; i++) {
      const uint64_t value = page == 0 ? (i * i + i / DIFFERENT) % DIFFERENT : DIFFERENT + i;
      parts[i] = (value + 1) * (value + 1) * 0x9e3779b97f4a7c15;
      numbers[i] = is_bytes ? SIZE : (int64_t)parts[i];
    }
    const struct tide_parquet_values values = {
        tide_parquet_layout_find(0), type, VALUES, numbers, (const unsigned char *)parts, is_bytes ? sizeof parts : 0};
    const enum tide_parquet_encoding encoding =
        tide_parquet_put_values(&values, &dict, &refused, &scratch, &laid_out, &err);
    assert_ok(err);
    ck_assert_int_eq(encoding, page == 0 ? TIDE_PARQUET_RLE_DICTIONARY : TIDE_PARQUET_PLAIN);
    ck_assert_int_eq(refused, page == 1);
    ck_assert_uint_eq(dict.count, DIFFERENT);
    ck_assert_uint_eq(dict.size, DIFFERENT * (is_bytes ? 4 + SIZE : SIZE));
    ck_assert_uint_eq(is_bytes ? dict.bytes.len : 0, is_bytes ? DIFFERENT * (4 + SIZE) : 0);
  }
  tide_parquet_dict_clear(&dict);
  tide_parquet_scratch_clear(&scratch);
  tide_buf_clear(&laid_out);
}

START_TEST(a_page_that_leaves_the_dictionary_adds_nothing_to_it) {
  expect_dictionary_of_the_first_page(TIDE_PARQUET_BYTE_ARRAY);
  expect_dictionary_of_the_first_page(TIDE_PARQUET_INT64);
}
END_TEST

/* ---- nested columns ---- */

static unsigned take_field(struct tide_rd *rd, unsigned head) {
  ck_assert_uint_eq(tide_rd_u8(rd), head);
  return (unsigned)tide_rd_zigzag(rd);
}

/* Checks the header of a data page and gives its bytes before compression. */
static void expect_page(struct tide_rd *rd, unsigned entries, unsigned encoding, const char *body, size_t size) {
  unsigned char plain[256];
  ck_assert_uint_eq(take_field(rd, 0x15), 0);
  ck_assert_uint_eq(take_field(rd, 0x15), size);
  const unsigned packed = take_field(rd, 0x15);
  const unsigned crc = take_field(rd, 0x15);
  ck_assert_uint_eq(tide_rd_u8(rd), 0x1c);
  ck_assert_uint_eq(take_field(rd, 0x15), entries);
  ck_assert_uint_eq(take_field(rd, 0x15), encoding);
  ck_assert_uint_eq(take_field(rd, 0x15), 3);
  ck_assert_uint_eq(take_field(rd, 0x15), 3);
  ck_assert_uint_eq(tide_rd_u8(rd), 0);
  ck_assert_uint_eq(tide_rd_u8(rd), 0);
  const unsigned char *frame = tide_rd_bytes(rd, packed);
  ck_assert_ptr_nonnull(frame);
  struct tide_parquet_crc_table table;
  tide_parquet_crc_init(&table);
  ck_assert_uint_eq(tide_parquet_crc(&table, 0, frame, packed), crc);
  struct tide_zpand *pand = tide_zpand_create(&err);
  tide_zpand_frame(pand, frame, packed, plain, size, &err);
  assert_ok(err);
  ck_assert_mem_eq(plain, body, size);
  tide_zpand_destroy(pand);
}

/* The lists ["a", NULL], [], NULL, ["b"] of an OPTIONAL list of OPTIONAL strings, levels made by hand. */
START_TEST(levels_tell_lists_apart) {
  static const struct tide_parquet_node nodes[] = {
      {.name = "schema", .children = 1},
      {.name = "l", .children = 1, .repetition = TIDE_PARQUET_OPTIONAL, .logical = TIDE_PARQUET_LIST},
      {.name = "list", .children = 1, .repetition = TIDE_PARQUET_REPEATED},
      {.name = "element",
       .type = TIDE_PARQUET_BYTE_ARRAY,
       .repetition = TIDE_PARQUET_OPTIONAL,
       .logical = TIDE_PARQUET_STRING}};
  char hash[TIDE_HASH_DIGITS_SIZE];
  struct tide_parquet_file *file =
      tide_parquet_file_create(nodes, 4, tide_parquet_layout_find(TIDE_PARQUET_LAYOUT_NEWEST), 3, &err);
  struct tide_parquet_leaf *leaf = tide_parquet_file_leaf(file, 0);
  ck_assert_uint_eq(leaf->max_def, 3);
  ck_assert_uint_eq(leaf->max_rep, 1);
  tide_parquet_put_bytes(leaf, 0, "a", 1, &err);
  tide_parquet_leaf_reserve(leaf, 3, &err);
  tide_parquet_put_null(leaf, 1, 2);
  tide_parquet_put_null(leaf, 0, 1);
  tide_parquet_put_null(leaf, 0, 0);
  tide_parquet_put_bytes(leaf, 0, "b", 1, &err);
  ck_assert_uint_eq(leaf->rows, 4);
  tide_parquet_file_finish(file, NULL, 0, &out, hash, &err);
  assert_ok(err);
  struct tide_rd rd = tide_rd_over(out.data + 4, out.len - 4);
  expect_page(&rd, 5, 0,
              "\x02\x00\x00\x00\x03\x02"
              "\x03\x00\x00\x00\x03\x1b\x03"
              "\x01\x00\x00\x00\x61\x01\x00\x00\x00\x62",
              23);
  ck_assert_int_eq(tide_parquet_file_rows(file), 4);
  ck_assert_int_eq(tide_parquet_file_totals(file, 0)->nulls, 3);
  tide_parquet_file_destroy(file);
  tide_buf_clear(&out);
}
END_TEST

/* A row group ends by its weight: which bytes it holds must not depend on the compressor. */
START_TEST(weight_is_the_same_whatever_the_compressor_makes_of_a_page) {
  static const struct tide_parquet_node node = {.name = "s", .type = TIDE_PARQUET_BYTE_ARRAY};
  static const struct tide_parquet_place flat = {0};
  struct tide_parquet_press press[2];
  bool differ = false;
  tide_parquet_press_init(&press[0], 1, &err);
  tide_parquet_press_init(&press[1], 19, &err);
  for (unsigned n = 1; n <= 40; n++) {
    struct tide_parquet_leaf leaves[2];
    for (int i = 0; i < 2; i++) {
      tide_parquet_leaf_init(&leaves[i], &node, tide_parquet_layout_find(TIDE_PARQUET_LAYOUT_NEWEST), &flat);
      for (unsigned row = 0; row < 20 * n; row++) {
        char text[32];
        snprintf(text, sizeof text, "%08x the same", row * 2654435761u);
        tide_parquet_put_bytes(&leaves[i], 0, text, strlen(text), &err);
      }
      tide_parquet_leaf_end_page(&leaves[i], &press[i], &err);
    }
    assert_ok(err);
    differ = differ || leaves[0].plain_size != leaves[1].plain_size;
    ck_assert_uint_eq(tide_parquet_leaf_weight(&leaves[0]), tide_parquet_leaf_weight(&leaves[1]));
    ck_assert_uint_ge(tide_parquet_leaf_weight(&leaves[0]), 20 * n * 17);
    tide_parquet_leaf_clear(&leaves[0]);
    tide_parquet_leaf_clear(&leaves[1]);
  }
  ck_assert_msg(differ, "no page has headers of two lengths");
  tide_parquet_press_clear(&press[0]);
  tide_parquet_press_clear(&press[1]);
}
END_TEST

/* Files of batches under way have these in them. */
START_TEST(layouts_never_change) {
  static const struct tide_parquet_layout frozen[] = {
      {"Tidemark version 1 (build parquet)", 20480, 524288, 131072, 12582912, 1, false},
      {"Tidemark version 2 (build parquet)", 65536, 2097152, 131072, 20971520, 5, true},
  };
  ck_assert_int_eq(TIDE_PARQUET_LAYOUT_NEWEST, sizeof frozen / sizeof *frozen);
  for (int i = 0; i < TIDE_PARQUET_LAYOUT_NEWEST; i++) {
    const struct tide_parquet_layout *layout = tide_parquet_layout_find(i + 1);
    ck_assert_str_eq(layout->created_by, frozen[i].created_by);
    ck_assert_uint_eq(layout->page_rows, frozen[i].page_rows);
    ck_assert_uint_eq(layout->page_bytes, frozen[i].page_bytes);
    ck_assert_uint_eq(layout->group_rows, frozen[i].group_rows);
    ck_assert_uint_eq(layout->group_bytes, frozen[i].group_bytes);
    ck_assert_uint_eq(layout->index_weight, frozen[i].index_weight);
    ck_assert_int_eq(layout->long_matches, frozen[i].long_matches);
  }
}
END_TEST

/* What a batch of layout 1 is shipped as again must be the bytes that may have arrived, which were compressed as
 * ever. */
START_TEST(long_matches_are_of_the_layouts_that_have_them) {
  static const struct tide_parquet_node node = {.name = "s", .type = TIDE_PARQUET_BYTE_ARRAY};
  static const struct tide_parquet_place flat = {0};
  static const struct {
    int version;
    bool takes_long;
  } cases[] = {{1, false}, {2, true}};
  struct tide_parquet_press press;
  tide_parquet_press_init(&press, 3, &err);
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    struct tide_parquet_leaf leaf;
    tide_parquet_leaf_init(&leaf, &node, tide_parquet_layout_find(cases[i].version), &flat);
    for (unsigned row = 0; row < 4000; row++) {
      char text[160];
      snprintf(text, sizeof text,
               "request %u of the front took %u ms and was answered by the second of two hosts behind it", row % 7,
               row % 3);
      tide_parquet_put_bytes(&leaf, 0, text, strlen(text), &err);
      leaf.dict_refused = true;
    }
    tide_parquet_leaf_end_page(&leaf, &press, &err);
    assert_ok(err);
    ck_assert_int_eq(leaf.takes_long, cases[i].takes_long);
    tide_parquet_leaf_clear(&leaf);
  }
  tide_parquet_press_clear(&press);
}
END_TEST

/* Words of six letters, of a thousand, in any order: looking for long matches alone would see none of them again. */
START_TEST(pages_of_short_matches_are_compressed_by_them) {
  static const struct tide_parquet_node node = {.name = "s", .type = TIDE_PARQUET_BYTE_ARRAY};
  static const struct tide_parquet_place flat = {0};
  struct tide_parquet_press press;
  struct tide_parquet_leaf leaf;
  tide_parquet_press_init(&press, 3, &err);
  tide_parquet_leaf_init(&leaf, &node, tide_parquet_layout_find(TIDE_PARQUET_LAYOUT_NEWEST), &flat);
  leaf.dict_refused = true;
  uint64_t order = 1;
  for (unsigned row = 0; row < 4000; row++) {
    char text[72];
    for (size_t i = 0; i < sizeof text; i++) {
      order = i % 6 == 0 ? order * UINT64_C(6364136223846793005) + 1442695040888963407 : order;
      text[i] = (char)('A' + ((order >> 54) * UINT64_C(0x9e3779b97f4a7c15) >> (8 * (i % 6) + 8)) % 64);
    }
    tide_parquet_put_bytes(&leaf, 0, text, sizeof text, &err);
  }
  tide_parquet_leaf_end_page(&leaf, &press, &err);
  assert_ok(err);
  ck_assert(!leaf.takes_long);
  tide_parquet_leaf_clear(&leaf);
  tide_parquet_press_clear(&press);
}
END_TEST

/* Two levels of groups around a leaf, and what follows them at the top again. */
START_TEST(leaves_have_the_levels_of_their_paths) {
  static const struct tide_parquet_node nodes[] = {
      {.name = "schema", .children = 2},
      {.name = "a", .children = 2, .repetition = TIDE_PARQUET_OPTIONAL},
      {.name = "b", .children = 1, .repetition = TIDE_PARQUET_REPEATED},
      {.name = "c", .type = TIDE_PARQUET_INT32},
      {.name = "d", .type = TIDE_PARQUET_INT32, .repetition = TIDE_PARQUET_OPTIONAL},
      {.name = "e", .type = TIDE_PARQUET_INT32}};
  static const struct tide_parquet_place expected[] = {{3, 2, 1}, {4, 2, 0}, {5, 0, 0}};
  struct tide_parquet_place places[3];
  struct tide_thrift thrift;
  ck_assert_uint_eq(tide_parquet_leaves(nodes, 6, places), 3);
  for (size_t i = 0; i < 3; i++) {
    ck_assert_uint_eq(places[i].node, expected[i].node);
    ck_assert_uint_eq(places[i].max_def, expected[i].max_def);
    ck_assert_uint_eq(places[i].max_rep, expected[i].max_rep);
  }
  tide_thrift_init(&thrift, &out, &err);
  tide_thrift_begin(&thrift);
  tide_parquet_put_path(&thrift, 1, nodes, 3);
  tide_parquet_put_path(&thrift, 2, nodes, 4);
  tide_parquet_put_path(&thrift, 3, nodes, 5);
  tide_thrift_end(&thrift);
  EXPECT("\x19\x38\x01"
         "a\x01"
         "b\x01"
         "c\x19\x28\x01"
         "a\x01"
         "d\x19\x18\x01"
         "e\x00");
}
END_TEST

int main(void) {
  const TTest *const tests[] = {fields_say_how_far_their_id_is_from_the_one_before,
                                structs_and_lists_count_ids_anew,
                                hybrid_packs_eight_at_a_time,
                                hybrid_has_long_runs_as_runs,
                                deltas_are_above_the_least_one,
                                crc_is_that_of_gzip,
                                short_strings_bound_themselves,
                                long_strings_are_cut_and_the_greatest_rounded_up,
                                text_is_cut_between_characters,
                                some_strings_have_no_short_upper_bound,
                                zeros_bound_with_both_signs_and_nan_does_not_bound,
                                a_dictionary_holds_each_value_once,
                                a_dictionary_that_is_full_says_so,
                                a_page_that_leaves_the_dictionary_adds_nothing_to_it,
                                levels_tell_lists_apart,
                                weight_is_the_same_whatever_the_compressor_makes_of_a_page,
                                layouts_never_change,
                                long_matches_are_of_the_layouts_that_have_them,
                                pages_of_short_matches_are_compressed_by_them,
                                leaves_have_the_levels_of_their_paths,
                                NULL};
  return unit_main("parquet", tests);
}
