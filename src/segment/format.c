#include "segment/format.h"

#include <string.h>

#include <xxhash.h>

#include "base/mem.h"
#include "base/rd.h"
#include "base/sqlite.h"
#include "codec/bitpack.h"
#include "segment/zonemap.h"

enum {
  META_VERSION_AT = 4,
  META_CHECKSUM_AT = 5,
  META_BODY_AT = 13,
  CHUNK_CHECKSUM_AT = 1,
  CHUNK_BODY_AT = 9,
  TEMPLATES_HEADER_MAX = 10 + 4,                                        /* size, hash */
  FRAME_HEADER_MAX = 10 + 4 + 10 + 2 + 2 * (2 + TIDE_ZONEMAP_BYTES_MAX) /* size, hash, first since, zone */
};

static const unsigned char magic[4] = {'T', 'S', 'E', 'G'};

static int corrupt(const char *what, struct tide_err *err) {
  tide_err_set(err, SQLITE_CORRUPT_VTAB, "%s", what);
  return err->rc;
}

static int newer(unsigned version, struct tide_err *err) {
  tide_err_set(err, SQLITE_ERROR,
               "the segment has format version %d, this Tidemark reads up to %d: written by a newer one", (int)version,
               TIDE_FORMAT_VERSION);
  return err->rc;
}

static uint64_t checksum(const unsigned char *bytes, size_t size, unsigned version) {
  return XXH3_64bits_withSeed(bytes, size, version);
}

uint32_t tide_format_hash(const void *frame, size_t size) {
  return (uint32_t)XXH3_64bits(frame, size);
}

/* ---- meta ---- */

int tide_format_meta_init(struct tide_format_meta *meta, size_t ncolumns, struct tide_err *err) {
  *meta = (struct tide_format_meta){.ncolumns = ncolumns};
  meta->entries = tide_alloc_zero(TIDE_SEGMENT_COLUMN_FIRST + ncolumns, sizeof *meta->entries, err);
  meta->zones = tide_alloc_zero(ncolumns, sizeof *meta->zones, err);
  if (tide_err_is_set(err))
    tide_format_meta_clear(meta);
  return err->rc;
}

void tide_format_meta_clear(struct tide_format_meta *meta) {
  tide_free(meta->entries);
  tide_free(meta->zones);
  *meta = (struct tide_format_meta){0};
}

void tide_format_put_meta(const struct tide_format_meta *meta, struct tide_buf *out, struct tide_err *err) {
  size_t start = out->len;
  tide_buf_put(out, magic, sizeof magic, err);
  tide_buf_put_u8(out, TIDE_FORMAT_VERSION, err);
  tide_buf_put_u64(out, 0, err); /* the checksum, set below */
  tide_buf_put_varint(out, meta->rows, err);
  tide_buf_put_zigzag(out, meta->first_since, err);
  tide_buf_put_varint(out, (uint64_t)meta->last_since - (uint64_t)meta->first_since, err);
  tide_buf_put_varint(out, meta->ncolumns, err);
  for (size_t i = 0; i < TIDE_SEGMENT_COLUMN_FIRST + meta->ncolumns; i++) {
    const struct tide_format_entry *entry = &meta->entries[i];
    tide_buf_put_varint(out, entry->chunk_size, err);
    if (entry->chunk_size == 0)
      continue;
    tide_buf_put_varint(out, entry->header_size, err);
    tide_buf_put_u64(out, entry->checksum, err);
  }
  for (size_t i = 0; i < meta->ncolumns; i++)
    tide_zonemap_put(&meta->zones[i], out, err);
  if (!tide_err_is_set(err)) {
    unsigned char *at = out->data + start;
    tide_store_u64(at + META_CHECKSUM_AT,
                   checksum(at + META_BODY_AT, out->len - start - META_BODY_AT, TIDE_FORMAT_VERSION));
  }
}

/* A column with other values than NULL has a chunk, and no other has. */
static void read_column_zone(struct tide_rd *rd, bool has_chunk, struct tide_zone *ret_zone) {
  tide_zonemap_read(rd, ret_zone);
  if ((ret_zone->types >> TIDE_VAL_INT != 0) != has_chunk)
    rd->bad = true;
}

/* header_max: the most that the header of a chunk with these rows can take, so that nobody asks for more memory. */
static void read_entry(struct tide_rd *rd, uint64_t header_max, struct tide_format_entry *ret_entry) {
  struct tide_format_entry entry = {.chunk_size =
                                        tide_rd_varint_max(rd, INT32_MAX)}; /* the most that SQLite stores in a value */
  if (entry.chunk_size > 0) {
    entry.header_size = tide_rd_varint_max(rd, entry.chunk_size);
    entry.checksum = tide_rd_u64(rd);
    if (entry.header_size <= CHUNK_BODY_AT || entry.header_size > header_max)
      rd->bad = true;
  }
  *ret_entry = entry;
}

/* The body, into meta that was initialised with its number of columns. */
static void read_entries_and_zones(struct tide_rd *rd, struct tide_format_meta *meta) {
  uint64_t header_max =
      CHUNK_BODY_AT + TEMPLATES_HEADER_MAX + (uint64_t)tide_format_frames(meta->rows) * FRAME_HEADER_MAX;
  for (size_t i = 0; i < TIDE_SEGMENT_COLUMN_FIRST + meta->ncolumns && !rd->bad; i++) {
    read_entry(rd, header_max, &meta->entries[i]);
    if (i < TIDE_SEGMENT_COLUMN_FIRST && meta->entries[i].chunk_size == 0)
      rd->bad = true;
  }
  for (size_t i = 0; i < meta->ncolumns && !rd->bad; i++)
    read_column_zone(rd, meta->entries[TIDE_SEGMENT_COLUMN_FIRST + i].chunk_size > 0, &meta->zones[i]);
}

static int check_envelope(const unsigned char *bytes, size_t size, struct tide_err *err) {
  if (size < META_BODY_AT || memcmp(bytes, magic, sizeof magic) != 0)
    return corrupt("the segment's meta does not begin as one", err);
  unsigned version = bytes[META_VERSION_AT];
  if (tide_load_u64(bytes + META_CHECKSUM_AT) != checksum(bytes + META_BODY_AT, size - META_BODY_AT, version))
    return corrupt("the segment's meta fails its checksum", err);
  if (version > TIDE_FORMAT_VERSION)
    return newer(version, err);
  return version > 0 ? 0 : corrupt("the segment's meta has no known format version", err);
}

int tide_format_read_meta(const void *bytes, size_t size, size_t max_columns, struct tide_format_meta *ret_meta,
                          struct tide_err *err) {
  *ret_meta = (struct tide_format_meta){0};
  if (tide_err_is_set(err) || check_envelope(bytes, size, err) != 0)
    return err->rc;
  struct tide_rd rd = tide_rd_over((const unsigned char *)bytes + META_BODY_AT, size - META_BODY_AT);
  size_t rows = (size_t)tide_rd_varint_max(&rd, TIDE_OPTIONS_SEGMENT_ROWS_MAX);
  int64_t first = tide_rd_zigzag(&rd);
  uint64_t span =
      tide_rd_varint_max(&rd, (uint64_t)INT64_MAX - (uint64_t)first); /* last is at most the largest integer */
  size_t ncolumns = (size_t)tide_rd_varint_max(&rd, max_columns);
  if (rd.bad || rows == 0 || span < rows - 1 || (rows == 1 && span != 0))
    return corrupt("the segment's meta contradicts itself", err);
  if (tide_format_meta_init(ret_meta, ncolumns, err) != 0)
    return err->rc;
  ret_meta->version = ((const unsigned char *)bytes)[META_VERSION_AT];
  ret_meta->rows = rows;
  ret_meta->first_since = first;
  ret_meta->last_since = (int64_t)((uint64_t)first + span);
  read_entries_and_zones(&rd, ret_meta);
  if (rd.bad || tide_rd_left(&rd) > 0) {
    tide_format_meta_clear(ret_meta);
    corrupt("the segment's meta contradicts itself", err);
  }
  return err->rc;
}

/* ---- the header of a chunk ---- */

size_t tide_format_frame_rows(size_t rows, size_t frame) {
  size_t left = rows - frame * TIDE_SEGMENT_FRAME_ROWS;
  return left < TIDE_SEGMENT_FRAME_ROWS ? left : TIDE_SEGMENT_FRAME_ROWS;
}

int tide_format_directory_init(struct tide_format_directory *directory, size_t nframes, bool is_since,
                               struct tide_err *err) {
  *directory = (struct tide_format_directory){.nframes = nframes};
  directory->offsets = tide_alloc_zero(nframes + 1, sizeof *directory->offsets, err);
  directory->hashes = tide_alloc_zero(nframes, sizeof *directory->hashes, err);
  if (is_since)
    directory->first_since = tide_alloc_zero(nframes, sizeof *directory->first_since, err);
  if (tide_err_is_set(err))
    tide_format_directory_clear(directory);
  return err->rc;
}

void tide_format_directory_clear(struct tide_format_directory *directory) {
  tide_free(directory->offsets);
  tide_free(directory->hashes);
  tide_free(directory->first_since);
  tide_free(directory->zones);
  tide_free(directory->zone_bytes);
  tide_buf_clear(&directory->zones_put);
  *directory = (struct tide_format_directory){0};
}

void tide_format_directory_reset(struct tide_format_directory *directory) {
  directory->nframes = 0;
  tide_buf_reset(&directory->zones_put);
}

void tide_format_directory_add(struct tide_format_directory *directory, const void *frame, size_t size,
                               int64_t first_since, const struct tide_zone *zone, struct tide_err *err) {
  void *offsets = directory->offsets, *hashes = directory->hashes, *sinces = directory->first_since;
  const size_t n = directory->nframes;
  if (tide_err_is_set(err))
    return;
  if (tide_grow(&offsets, &directory->offsets_cap, n + 2, sizeof *directory->offsets, err) == 0 &&
      tide_grow(&hashes, &directory->hashes_cap, n + 1, sizeof *directory->hashes, err) == 0)
    tide_grow(&sinces, &directory->first_since_cap, n + 1, sizeof *directory->first_since, err);
  directory->offsets = offsets;
  directory->hashes = hashes;
  directory->first_since = sinces;
  if (zone != NULL)
    tide_zonemap_put(zone, &directory->zones_put, err);
  if (tide_err_is_set(err))
    return;
  if (n == 0)
    directory->offsets[0] = 0;
  directory->offsets[n + 1] = directory->offsets[n] + size;
  directory->hashes[n] = tide_format_hash(frame, size);
  directory->first_since[n] = first_since;
  directory->nframes = n + 1;
}

void tide_format_put_header(const struct tide_format_directory *directory, bool is_since,
                            const struct tide_buf *templates, struct tide_buf *out, struct tide_format_entry *ret_entry,
                            struct tide_err *err) {
  size_t start = out->len, n = directory->nframes;
  tide_buf_put_u8(out, TIDE_FORMAT_VERSION, err);
  tide_buf_put_u64(out, 0, err); /* the checksum, set below */
  tide_buf_put_varint(out, templates->len, err);
  if (templates->len > 0)
    tide_buf_put_u32(out, tide_format_hash(templates->data, templates->len), err);
  for (size_t i = 0; i < n; i++) {
    tide_buf_put_varint(out, directory->offsets[i + 1] - directory->offsets[i], err);
    tide_buf_put_u32(out, directory->hashes[i], err);
  }
  for (size_t i = 1; is_since && i < n; i++)
    tide_buf_put_varint(out, (uint64_t)directory->first_since[i] - (uint64_t)directory->first_since[i - 1], err);
  tide_buf_put(out, directory->zones_put.data, directory->zones_put.len, err);
  if (tide_err_is_set(err))
    return;
  unsigned char *at = out->data + start;
  size_t size = out->len - start;
  uint64_t sum = checksum(at + CHUNK_BODY_AT, size - CHUNK_BODY_AT, TIDE_FORMAT_VERSION);
  tide_store_u64(at + CHUNK_CHECKSUM_AT, sum);
  *ret_entry = (struct tide_format_entry){
      .chunk_size = size + templates->len + directory->offsets[n], .header_size = size, .checksum = sum};
}

static void read_templates(struct tide_rd *rd, const struct tide_format_entry *entry,
                           struct tide_format_directory *directory) {
  directory->templates_at = entry->header_size;
  directory->templates_size = tide_rd_varint_max(rd, entry->chunk_size - entry->header_size);
  if (directory->templates_size > 0)
    directory->templates_hash = tide_rd_u32(rd);
}

static void read_frames(struct tide_rd *rd, const struct tide_format_entry *entry,
                        struct tide_format_directory *directory) {
  uint64_t at = entry->header_size + directory->templates_size;
  for (size_t i = 0; i < directory->nframes && !rd->bad; i++) {
    directory->offsets[i] = at;
    uint64_t size = tide_rd_varint_max(rd, entry->chunk_size - at);
    directory->hashes[i] = tide_rd_u32(rd);
    if (size == 0)
      rd->bad = true;
    at += size;
  }
  directory->offsets[directory->nframes] = at;
  if (at != entry->chunk_size)
    rd->bad = true;
}

/* Each frame begins above the one before, by at least its rows, and none begins beyond the last since. */
static void read_first_sinces(struct tide_rd *rd, const struct tide_format_meta *meta,
                              struct tide_format_directory *directory) {
  int64_t at = meta->first_since;
  directory->first_since[0] = at;
  for (size_t i = 1; i < directory->nframes && !rd->bad; i++) {
    uint64_t gap = tide_rd_varint_max(rd, (uint64_t)meta->last_since - (uint64_t)at);
    if (gap < TIDE_SEGMENT_FRAME_ROWS)
      rd->bad = true;
    at = (int64_t)((uint64_t)at + gap);
    directory->first_since[i] = at;
  }
}

/* The rest of the header; the zones' texts are views into a copy of it. */
static int read_zones(struct tide_rd *rd, struct tide_format_directory *directory, struct tide_err *err) {
  const size_t size = tide_rd_left(rd);
  directory->zones = tide_alloc_zero(directory->nframes, sizeof *directory->zones, err);
  directory->zone_bytes = tide_alloc(size, err);
  if (tide_err_is_set(err))
    return err->rc;
  memcpy(directory->zone_bytes, rd->at, size);
  struct tide_rd copy = tide_rd_over(directory->zone_bytes, size);
  for (size_t i = 0; i < directory->nframes && !copy.bad; i++) {
    tide_zonemap_read(&copy, &directory->zones[i]);
    if (directory->zones[i].types == 0)
      copy.bad = true;
  }
  rd->bad |= copy.bad;
  rd->at = rd->end - tide_rd_left(&copy);
  return 0;
}

static int check_header(const unsigned char *bytes, const struct tide_format_meta *meta,
                        const struct tide_format_entry *entry, struct tide_err *err) {
  unsigned version = bytes[0];
  uint64_t sum = checksum(bytes + CHUNK_BODY_AT, (size_t)entry->header_size - CHUNK_BODY_AT, version);
  if (tide_load_u64(bytes + CHUNK_CHECKSUM_AT) != sum)
    return corrupt("the chunk's header fails its checksum", err);
  if (sum != entry->checksum)
    return corrupt("the chunk belongs to another segment or column", err);
  return version == meta->version ? 0 : corrupt("the chunk's format version is not the segment's", err);
}

int tide_format_read_header(const void *bytes, const struct tide_format_meta *meta, size_t column,
                            struct tide_format_directory *ret_directory, struct tide_err *err) {
  const struct tide_format_entry *entry = &meta->entries[column];
  const bool is_since = column == TIDE_SEGMENT_COLUMN_SINCE;
  *ret_directory = (struct tide_format_directory){0};
  if (tide_err_is_set(err) || check_header(bytes, meta, entry, err) != 0 ||
      tide_format_directory_init(ret_directory, tide_format_frames(meta->rows), is_since, err) != 0)
    return err->rc;
  struct tide_rd rd =
      tide_rd_over((const unsigned char *)bytes + CHUNK_BODY_AT, (size_t)entry->header_size - CHUNK_BODY_AT);
  if (meta->version > 1)
    read_templates(&rd, entry, ret_directory);
  read_frames(&rd, entry, ret_directory);
  if (is_since)
    read_first_sinces(&rd, meta, ret_directory);
  if (meta->version > 1 && column >= TIDE_SEGMENT_COLUMN_FIRST && !rd.bad)
    read_zones(&rd, ret_directory, err);
  if (!tide_err_is_set(err) && (rd.bad || tide_rd_left(&rd) > 0))
    corrupt("the chunk's header contradicts itself", err);
  if (tide_err_is_set(err))
    tide_format_directory_clear(ret_directory);
  return err->rc;
}
