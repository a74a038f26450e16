#include "sink/parquet_hash.h"

#include <string.h>

#include "base/mem.h"
#include "base/sqlite.h"
#include "sink/parquet_page.h"

enum { PIECE = 65536, DEPTH_MAX = 16 };

/* ---- bytes from front to back ---- */

struct source {
  long (*read)(void *context, void *into, size_t size, struct tide_err *err);
  void *context;
  struct tide_err *err;
  struct tide_hash *hash; /* of the bytes that are taken one by one; NULL: of none */
  int64_t taken;
  size_t at;
  size_t size;
  unsigned char bytes[PIECE];
};

static void fail(struct source *source, const char *what) {
  tide_err_set(source->err, SQLITE_CORRUPT, "byte %lld: %s", (long long)source->taken, what);
}

/* Makes at least `need` bytes ready, need being small; false at the end and on error. */
static bool is_ready(struct source *source, size_t need) {
  while (source->size - source->at < need && !tide_err_is_set(source->err)) {
    memmove(source->bytes, source->bytes + source->at, source->size - source->at);
    source->size -= source->at;
    source->at = 0;
    long got = source->read(source->context, source->bytes + source->size, PIECE - source->size, source->err);
    if (got <= 0)
      return false;
    source->size += (size_t)got;
  }
  return !tide_err_is_set(source->err);
}

/* The byte `ahead` of the next one; -1 when there is none. */
static int peek(struct source *source, size_t ahead) {
  return is_ready(source, ahead + 1) ? source->bytes[source->at + ahead] : -1;
}

/* The next byte; 0 and an error when there is none. */
static unsigned take(struct source *source) {
  if (!is_ready(source, 1)) {
    fail(source, "the file ends too early");
    return 0;
  }
  if (source->hash != NULL)
    tide_hash_update(source->hash, source->bytes + source->at, 1);
  source->taken++;
  return source->bytes[source->at++];
}

static uint64_t take_varint(struct source *source) {
  uint64_t value = 0;
  for (unsigned shift = 0; shift < 64; shift += 7) {
    unsigned byte = take(source);
    value |= (uint64_t)(byte & 0x7f) << shift;
    if (byte < 0x80)
      return value;
  }
  fail(source, "a number is too long");
  return 0;
}

static int64_t take_int(struct source *source) {
  uint64_t value = take_varint(source);
  return (int64_t)(value >> 1 ^ (0 - (value & 1)));
}

/* ---- thrift ---- */

/* The next field of a struct; *id is that of the one before, 0 at first. false at the struct's end and on error. */
static bool take_field(struct source *source, int *id, unsigned *ret_type) {
  unsigned head = take(source);
  if (tide_err_is_set(source->err) || head == 0)
    return false;
  *ret_type = head & 15;
  int64_t next = head >> 4 > 0 ? *id + (int)(head >> 4) : take_int(source);
  if (next <= *id || next > INT16_MAX)
    fail(source, "a field is out of order");
  *id = (int)next;
  return !tide_err_is_set(source->err);
}

static void skip_struct(struct source *source, int depth);

static void skip_bytes(struct source *source, uint64_t size) {
  for (; size > 0 && !tide_err_is_set(source->err); size--)
    take(source);
}

/* in_list: a boolean takes a byte there, and none as a field. */
static void skip_value(struct source *source, unsigned type, bool in_list, int depth) {
  switch (type) {
  case TIDE_THRIFT_TRUE:
  case TIDE_THRIFT_FALSE:
    skip_bytes(source, in_list ? 1 : 0);
    break;
  case TIDE_THRIFT_I32:
  case TIDE_THRIFT_I64:
    take_varint(source);
    break;
  case TIDE_THRIFT_BINARY:
    skip_bytes(source, take_varint(source));
    break;
  case TIDE_THRIFT_LIST: {
    unsigned head = take(source);
    uint64_t count = head >> 4 < 15 ? head >> 4 : take_varint(source);
    if (depth >= DEPTH_MAX)
      fail(source, "structures are nested too deep");
    for (; count > 0 && !tide_err_is_set(source->err); count--)
      skip_value(source, head & 15, true, depth + 1);
    break;
  }
  case TIDE_THRIFT_STRUCT:
    skip_struct(source, depth + 1);
    break;
  default:
    fail(source, "a value is of a type that is not written here");
  }
}

static void skip_struct(struct source *source, int depth) {
  int id = 0;
  unsigned type;
  if (depth >= DEPTH_MAX)
    fail(source, "structures are nested too deep");
  while (take_field(source, &id, &type))
    skip_value(source, type, false, depth);
}

/* ---- pages ---- */

struct page_header {
  int64_t numbers[5]; /* by field: [1] type, [2] size before compression, [3] stored size, [4] CRC */
  int64_t values[5];  /* of the page type's own header: [1] entries, [2] encoding, [3] and [4] of the levels */
};

static int64_t take_i32(struct source *source) {
  int64_t number = take_int(source);
  if (number < INT32_MIN || number > INT32_MAX)
    fail(source, "a number has more than 32 bits");
  return number;
}

/* Reads fields 1 to 4, all integers; gives the id of the field that follows them, 0 at the struct's end. */
static int take_numbers(struct source *source, int64_t numbers[5]) {
  int id = 0;
  unsigned type;
  while (take_field(source, &id, &type)) {
    if (id > 4 && type == TIDE_THRIFT_STRUCT)
      return id;
    if (id > 4 || type != TIDE_THRIFT_I32) {
      fail(source, "a page's header has a field that is not written here");
      return 0;
    }
    numbers[id] = take_i32(source);
  }
  return 0;
}

static void take_page_header(struct source *source, struct page_header *header) {
  *header = (struct page_header){.numbers = {0, -1, -1, -1}, .values = {0, -1, -1, -1, -1}};
  const int own = take_numbers(source, header->numbers);
  if (tide_err_is_set(source->err))
    return;
  const bool data = header->numbers[1] == TIDE_PARQUET_DATA_PAGE && own == 5;
  const bool dictionary = header->numbers[1] == TIDE_PARQUET_DICTIONARY_PAGE && own == 7;
  const int64_t levels = data ? TIDE_PARQUET_RLE : -1;
  if ((!data && !dictionary) || take_numbers(source, header->values) != 0 || header->values[1] < 0 ||
      header->values[2] < 0 || header->values[2] > UINT8_MAX || header->values[3] != levels ||
      header->values[4] != levels || header->numbers[2] < 0 || header->numbers[3] < 0 || take(source) != 0)
    fail(source, "a page's header is not as it is written here");
}

/* A page's bytes as they are stored, for the decompressor. */
struct page_body {
  struct source *source;
  int64_t left;
  const struct tide_parquet_crc_table *crc_table;
  uint32_t crc;
};

static long read_body(void *context, void *into, size_t size, struct tide_err *err) {
  struct page_body *body = context;
  struct source *source = body->source;
  (void)err; /* the source's own */
  if (body->left == 0)
    return 0;
  if (!is_ready(source, 1)) {
    fail(source, "the file ends within a page");
    return -1;
  }
  size_t count = source->size - source->at;
  count = count < size ? count : size;
  count = (int64_t)count < body->left ? count : (size_t)body->left;
  memcpy(into, source->bytes + source->at, count);
  body->crc = tide_parquet_crc(body->crc_table, body->crc, into, count);
  body->left -= (int64_t)count;
  source->at += count;
  source->taken += (int64_t)count;
  return (long)count;
}

struct walk {
  struct source source;
  struct page_body body;
  struct tide_zreader *zstd; /* over body, page after page */
  struct tide_hash hash;
  struct tide_parquet_crc_table crc_table;
  unsigned char plain[PIECE];
};

static void hash_page(struct walk *walk) {
  struct source *source = &walk->source;
  struct page_header header;
  take_page_header(source, &header);
  if (tide_err_is_set(source->err))
    return;
  walk->body = (struct page_body){.source = source, .left = header.numbers[3], .crc_table = &walk->crc_table};
  struct tide_hash page;
  tide_parquet_digest_begin(&page, (uint32_t)header.numbers[1], (uint32_t)header.values[2], (uint32_t)header.values[1]);
  int64_t plain = 0;
  long got;
  while ((got = tide_zreader_read(walk->zstd, walk->plain, PIECE, source->err)) > 0 && plain <= header.numbers[2]) {
    tide_hash_update(&page, walk->plain, (size_t)got);
    plain += got;
  }
  if (walk->body.left != 0 || plain != header.numbers[2] || walk->body.crc != (uint32_t)header.numbers[4])
    fail(source, "a page's size or CRC is not what its header says");
  char digest[TIDE_HASH_DIGITS_SIZE];
  tide_hash_digits(&page, digest);
  tide_hash_update(&walk->hash, digest, strlen(digest));
}

/* ---- the file ---- */

static void take_magic(struct source *source) {
  static const char magic[] = "PAR1";
  for (size_t i = 0; i < strlen(magic); i++) {
    if (take(source) != (unsigned char)magic[i])
      fail(source, "PAR1 is expected here");
  }
}

/* The first bytes of structures: a field 1 of type i32 (page header, footer) or list (indexes), and a field 2 of type
 * list (footer). */
enum { FIELD_INT = 0x15, FIELD_LIST = 0x19, BYTES_OF_VERSION = 2 };

static bool is_footer(struct source *source) {
  return peek(source, 0) == FIELD_INT && peek(source, BYTES_OF_VERSION) == FIELD_LIST;
}

static void hash_footer(struct walk *walk) {
  struct source *source = &walk->source;
  const int64_t start = source->taken;
  int id = 0;
  unsigned type;
  source->hash = &walk->hash;
  while (id < 2 && take_field(source, &id, &type))
    skip_value(source, type, false, 0);
  source->hash = NULL;
  while (take_field(source, &id, &type))
    skip_value(source, type, false, 0);
  const int64_t size = source->taken - start;
  int64_t stated = 0;
  for (unsigned i = 0; i < 4; i++)
    stated |= (int64_t)take(source) << (8 * i);
  if (stated != size)
    fail(source, "the footer's size is not what is stated behind it");
  take_magic(source);
  if (!tide_err_is_set(source->err) && peek(source, 0) >= 0)
    fail(source, "there are bytes behind the file's end");
}

static void walk_file(struct walk *walk) {
  struct source *source = &walk->source;
  take_magic(source);
  while (!tide_err_is_set(source->err) && peek(source, 0) == FIELD_INT && !is_footer(source))
    hash_page(walk);
  while (!tide_err_is_set(source->err) && peek(source, 0) == FIELD_LIST)
    skip_struct(source, 0);
  if (!tide_err_is_set(source->err) && !is_footer(source))
    fail(source, "a page, an index or the footer is expected here");
  if (!tide_err_is_set(source->err))
    hash_footer(walk);
}

int tide_parquet_hash(long (*read)(void *context, void *into, size_t size, struct tide_err *err), void *context,
                      char ret_hash[TIDE_HASH_DIGITS_SIZE], struct tide_err *err) {
  struct walk *walk = tide_alloc_zero(1, sizeof *walk, err);
  if (walk == NULL)
    return err->rc;
  walk->source.read = read;
  walk->source.context = context;
  walk->source.err = err;
  tide_hash_init(&walk->hash);
  tide_parquet_crc_init(&walk->crc_table);
  walk->zstd = tide_zreader_create(read_body, &walk->body, err);
  if (!tide_err_is_set(err))
    walk_file(walk);
  if (!tide_err_is_set(err))
    tide_hash_digits(&walk->hash, ret_hash);
  else if (err->rc == SQLITE_CORRUPT)
    tide_err_prefix(err, "not a whole Parquet file of Tidemark");
  tide_zreader_destroy(walk->zstd);
  tide_free(walk);
  return err->rc;
}
