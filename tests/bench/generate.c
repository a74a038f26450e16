#include "generate.h"

#include <stdbool.h>
#include <string.h>

#include "die.h"

enum {
  MAX_LENGTH = 180,  /* of body and attrs: what leaves 275 bytes of NDJSON a row */
  STRETCH_BITS = 13, /* rows of a stretch in which a server is down or not */
  OUTAGES = 10,      /* one in so many stretches has one */
  STEP_MS = 20,      /* timestamps advance by less */
};
static const int64_t first_ts = 1767225600000; /* 2026-01-01 */

const char *const partition_names[PARTITIONS] = {
    "web-00",    "web-01",    "web-02",    "web-03",    "web-04",    "web-05",    "broker-00", "broker-01",
    "broker-02", "broker-03", "broker-04", "broker-05", "broker-06", "broker-07", "broker-08", "broker-09",
};

void generator_init(struct generator *generator, const char *sample_path, uint64_t seed) {
  *generator = (struct generator){.sample_path = sample_path, .seed = seed};
  generator_restart(generator);
}

void generator_restart(struct generator *generator) {
  prng_seed(&generator->prng, generator->seed);
  generator->rows = 0;
  generator->ts = first_ts;
}

void generator_clear(struct generator *generator) {
  sample_clear(&generator->sample);
}

void block_clear(struct block *block) {
  free(block->rows);
  free(block->text);
  *block = (struct block){0};
}

static void reserve(struct block *block, size_t count, size_t longest) {
  if (count <= block->capacity)
    return;
  block_clear(block);
  block->rows = need(calloc(count, sizeof *block->rows));
  block->text = need(malloc(count * (longest + 2)));
  block->capacity = count;
}

/* Decimal digits; eight come of a number's upper half as a fraction of 2^32. */
static void draw_digits(struct prng *prng, char *to, size_t length) {
  uint64_t fraction = 0;
  for (size_t i = 0; i < length; i++) {
    if (i % 8 == 0)
      fraction = prng_next(prng) >> 32;
    fraction *= 10;
    to[i] = (char)('0' + (fraction >> 32));
    fraction &= UINT32_MAX;
  }
  if (length > 1 && to[0] == '0')
    to[0] = (char)('1' + prng_below(prng, 9));
}

static void draw_hex(struct prng *prng, char *to, size_t length) {
  uint64_t bits = 0;
  for (size_t i = 0; i < length; i++) {
    if (i % 16 == 0)
      bits = prng_next(prng);
    to[i] = "0123456789abcdef"[bits & 15];
    bits >>= 4;
  }
}

static void draw_octet(struct prng *prng, char *to, size_t length) {
  if (length < 3) {
    draw_digits(prng, to, length);
    return;
  }
  const uint32_t octet = 100 + prng_below(prng, 156);
  to[0] = (char)('0' + octet / 100);
  to[1] = (char)('0' + octet / 10 % 10);
  to[2] = (char)('0' + octet % 10);
}

/* Writes the text and its NUL, and gives where it ends. */
static char *draw_text(struct prng *prng, const struct sample_text *text, char *to) {
  memcpy(to, text->bytes, text->length + 1);
  for (size_t i = 0; i < text->place_count; i++) {
    const struct sample_place *place = &text->places[i];
    if (place->kind == SAMPLE_HEX)
      draw_hex(prng, to + place->at, place->length);
    else if (place->kind == SAMPLE_OCTET)
      draw_octet(prng, to + place->at, place->length);
    else
      draw_digits(prng, to + place->at, place->length);
  }
  return to + text->length + 1;
}

/* As many decimal digits as the sample's number has. */
static int64_t draw_like(struct prng *prng, int64_t number) {
  int64_t low = 1;
  while (number >= low * 10)
    low *= 10;
  return number < 10 ? (int64_t)prng_below(prng, 10) : low + (int64_t)prng_below(prng, (uint32_t)(9 * low));
}

/* Few are long: the bound of each is drawn, too. */
static double draw_duration(struct prng *prng) {
  return (1 + prng_below(prng, 64u << prng_below(prng, 15))) / 1000.0;
}

/* The web server that is down in the stretch that holds the row, or none of them. */
static uint32_t server_down(const struct generator *generator) {
  uint64_t state = generator->seed ^ ((generator->rows >> STRETCH_BITS) * 0x9e3779b97f4a7c15u);
  const uint64_t drawn = splitmix64(&state);
  return drawn % OUTAGES == 0 ? (uint32_t)((drawn >> 32) % WEB_PARTITIONS) : PARTITIONS;
}

static char *draw_row(struct generator *generator, struct row *row, char *to) {
  struct prng *prng = &generator->prng;
  const uint32_t partition = prng_below(prng, PARTITIONS);
  const enum sample_family family = partition < WEB_PARTITIONS ? SAMPLE_WEB : SAMPLE_BROKER;
  const uint32_t drawn = prng_below(prng, (uint32_t)generator->sample.count[family]);
  const struct sample_record *record = &generator->sample.records[family][drawn];
  const bool down = partition == server_down(generator);
  generator->ts += prng_below(prng, STEP_MS);
  *row = (struct row){
      .source = partition_names[partition],
      .ts = generator->ts,
      .level = down ? "error" : record->level,
      .component = record->component,
      .status = down ? 503 : record->status,
      .bytes = record->bytes < 0 ? -1 : draw_like(prng, record->bytes),
      .duration = family == SAMPLE_WEB ? draw_duration(prng) : -1,
      .body = to,
      .body_length = (int)record->body.length,
  };
  to = draw_text(prng, &record->body, to);
  if (record->attrs.bytes != NULL) {
    row->attrs = to;
    row->attrs_length = (int)record->attrs.length;
    to = draw_text(prng, &record->attrs, to);
  }
  generator->rows++;
  return to;
}

void generator_fill(struct generator *generator, struct block *block, size_t count) {
  if (generator->sample.longest == 0)
    sample_load(&generator->sample, generator->sample_path, MAX_LENGTH);
  reserve(block, count, generator->sample.longest);
  char *to = block->text;
  for (size_t i = 0; i < count; i++)
    to = draw_row(generator, &block->rows[i], to);
  block->count = count;
}
