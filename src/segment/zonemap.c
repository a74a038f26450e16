#include "segment/zonemap.h"

#include <string.h>

/* The smallest and the largest value of some rows that have a tag, as rows. */
struct extremes {
  size_t low;
  size_t high;
};

/* The first eight bytes of a text or blob as a number that orders as they do; 0 stands for bytes that are not there. */
static uint64_t head_of(const struct tide_val *val) {
  unsigned char bytes[8] = {0};
  uint64_t head;
  if (val->n > 0)
    memcpy(bytes, val->p, val->n < sizeof bytes ? val->n : sizeof bytes);
  memcpy(&head, bytes, sizeof head);
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
  head = __builtin_bswap64(head);
#endif
  return head;
}

/* Texts or blobs: most of them are told apart by their heads. */
static struct extremes extremes_of_bytes(const struct tide_vec *vec, size_t first, size_t end, uint8_t tag) {
  while (vec->tag[first] != tag)
    first++;
  struct extremes found = {first, first};
  struct tide_val low = tide_vec_get(vec, first), high = low;
  uint64_t low_head = head_of(&low), high_head = low_head;
  for (size_t i = first + 1; i < end; i++) {
    if (vec->tag[i] != tag)
      continue;
    struct tide_val val = tide_vec_get(vec, i);
    const uint64_t head = head_of(&val);
    if (head < low_head || (head == low_head && tide_val_compare(&val, &low) < 0)) {
      low = val;
      low_head = head;
      found.low = i;
    } else if (head > high_head || (head == high_head && tide_val_compare(&val, &high) > 0)) {
      high = val;
      high_head = head;
      found.high = i;
    }
  }
  return found;
}

static struct extremes extremes_of_reals(const struct tide_vec *vec, size_t first, size_t end) {
  while (vec->tag[first] != TIDE_VAL_REAL)
    first++;
  struct extremes found = {first, first};
  double low = tide_vec_get(vec, first).r, high = low;
  for (size_t i = first + 1; i < end; i++) {
    if (vec->tag[i] != TIDE_VAL_REAL)
      continue;
    const double val = tide_vec_get(vec, i).r;
    if (val < low) {
      low = val;
      found.low = i;
    } else if (val > high) {
      high = val;
      found.high = i;
    }
  }
  return found;
}

/* Integers are what segments hold most of, and need no comparison of values. */
static struct extremes extremes_of_ints(const struct tide_vec *vec, size_t first, size_t end) {
  while (vec->tag[first] != TIDE_VAL_INT)
    first++;
  struct extremes found = {first, first};
  for (size_t i = first + 1; i < end; i++) {
    if (vec->tag[i] != TIDE_VAL_INT)
      continue;
    if (vec->num[i] < vec->num[found.low])
      found.low = i;
    if (vec->num[i] > vec->num[found.high])
      found.high = i;
  }
  return found;
}

/* The smallest value of at most TIDE_ZONEMAP_BYTES_MAX bytes that is above all that begin like val, in `raised`: false
 * when there is none. */
static bool raise_max(struct tide_val *val, unsigned char *raised) {
  size_t n = TIDE_ZONEMAP_BYTES_MAX;
  memcpy(raised, val->p, n);
  while (n > 0 && raised[n - 1] == 0xff)
    n--;
  if (n == 0)
    return false;
  raised[n - 1]++;
  val->p = raised;
  val->n = n;
  return true;
}

/* Moves the bytes of a bound, at most TIDE_ZONEMAP_BYTES_MAX, to where they are kept. */
static void keep_bytes(struct tide_val *bound, unsigned char *into) {
  if (bound->type < TIDE_VAL_TEXT)
    return;
  if (bound->n > 0)
    memmove(into, bound->p, bound->n);
  bound->p = into;
}

static uint8_t types_of(const struct tide_vec *vec, size_t first, size_t end) {
  unsigned types = 0;
  for (size_t i = first; i < end; i++)
    types |= 1u << vec->tag[i];
  return (uint8_t)types;
}

void tide_zonemap_collect(struct tide_zonemap *map, const struct tide_vec *vec, size_t first, size_t rows) {
  const size_t end = first + rows;
  struct tide_zone zone = {.types = types_of(vec, first, end)};
  for (uint8_t tag = TIDE_VAL_INT; tag < TIDE_VAL_TYPES; tag++) {
    if ((zone.types >> tag & 1) == 0)
      continue;
    struct extremes found = tag == TIDE_VAL_INT    ? extremes_of_ints(vec, first, end)
                            : tag == TIDE_VAL_REAL ? extremes_of_reals(vec, first, end)
                                                   : extremes_of_bytes(vec, first, end, tag);
    struct tide_val low = tide_vec_get(vec, found.low), high = tide_vec_get(vec, found.high);
    if (!zone.bounded || tide_val_compare(&low, &zone.min) < 0)
      zone.min = low;
    if (!zone.bounded || tide_val_compare(&high, &zone.max) > 0)
      zone.max = high;
    zone.bounded = true;
  }
  if (zone.bounded && zone.min.n > TIDE_ZONEMAP_BYTES_MAX)
    zone.min.n = TIDE_ZONEMAP_BYTES_MAX;
  if (zone.bounded && zone.max.n > TIDE_ZONEMAP_BYTES_MAX)
    zone.bounded = raise_max(&zone.max, map->max);
  if (!zone.bounded)
    zone.min = zone.max = tide_val_null();
  keep_bytes(&zone.min, map->min);
  keep_bytes(&zone.max, map->max);
  map->zone = zone;
}

void tide_zonemap_widen(struct tide_zonemap *map, const struct tide_zone *zone) {
  struct tide_zone *all = &map->zone;
  const bool first = all->types >> TIDE_VAL_INT == 0; /* so far NULL at the most */
  all->types |= zone->types;
  if (zone->types >> TIDE_VAL_INT == 0)
    return;
  all->bounded = zone->bounded && (first || all->bounded);
  if (!all->bounded) {
    all->min = all->max = tide_val_null();
    return;
  }
  if (first || tide_val_compare(&zone->min, &all->min) < 0) {
    all->min = zone->min;
    keep_bytes(&all->min, map->min);
  }
  if (first || tide_val_compare(&zone->max, &all->max) > 0) {
    all->max = zone->max;
    keep_bytes(&all->max, map->max);
  }
}

/* ---- bytes ---- */

static void put_value(const struct tide_val *val, struct tide_buf *out, struct tide_err *err) {
  tide_buf_put_u8(out, val->type, err);
  if (val->type == TIDE_VAL_INT) {
    tide_buf_put_zigzag(out, val->i, err);
  } else if (val->type == TIDE_VAL_REAL) {
    tide_buf_put_u64(out, (uint64_t)tide_bits_of_real(val->r), err);
  } else {
    tide_buf_put_u8(out, (uint8_t)val->n, err);
    tide_buf_put(out, val->p, val->n, err);
  }
}

void tide_zonemap_put(const struct tide_zone *zone, struct tide_buf *out, struct tide_err *err) {
  tide_buf_put_u8(out, zone->types, err);
  tide_buf_put_u8(out, zone->bounded ? 1 : 0, err);
  if (zone->bounded) {
    put_value(&zone->min, out, err);
    put_value(&zone->max, out, err);
  }
}

static struct tide_val read_value(struct tide_rd *rd) {
  struct tide_val val = {.type = tide_rd_u8(rd)};
  if (val.type == TIDE_VAL_INT) {
    val.i = tide_rd_zigzag(rd);
  } else if (val.type == TIDE_VAL_REAL) {
    val.r = tide_real_of_bits((int64_t)tide_rd_u64(rd));
    if (val.r != val.r) /* NaN */
      rd->bad = true;
  } else if (val.type == TIDE_VAL_TEXT || val.type == TIDE_VAL_BLOB) {
    val.n = tide_rd_u8(rd);
    val.p = tide_rd_bytes(rd, val.n);
    if (val.n > TIDE_ZONEMAP_BYTES_MAX)
      rd->bad = true;
  } else {
    rd->bad = true;
  }
  return rd->bad ? tide_val_null() : val;
}

void tide_zonemap_read(struct tide_rd *rd, struct tide_zone *ret_zone) {
  struct tide_zone zone = {.types = tide_rd_u8(rd)};
  uint8_t bounds = tide_rd_u8(rd);
  bool has_values = zone.types > 1; /* some other type than NULL */
  if (zone.types >> TIDE_VAL_TYPES != 0 || bounds > (has_values ? 1 : 0))
    rd->bad = true;
  if (bounds == 1 && !rd->bad) {
    zone.bounded = true;
    zone.min = read_value(rd);
    zone.max = read_value(rd);
    if ((zone.types >> zone.min.type & 1) == 0 || (zone.types >> zone.max.type & 1) == 0 ||
        tide_val_compare(&zone.min, &zone.max) > 0)
      rd->bad = true;
  }
  *ret_zone = zone;
}
