#include "values.h"

#include <stdio.h>
#include <string.h>

#include <zstd.h>

static struct tide_val text_of(struct fuzz_input *input, size_t size) {
  const size_t n = size < input->left ? size : input->left;
  struct tide_val val = tide_val_text((const char *)input->at, n);
  input->at += n;
  input->left -= n;
  return val;
}

static struct tide_val line_of(struct fuzz_input *input, uint8_t shape, char scratch[FUZZ_SCRATCH]) {
  static const char *const formats[] = {"GET /page/%llu took %llu ms", "id %016llx of %08llx",
                                        "%08llx-1234-5678-9abc-%012llx", "%llu%llu"};
  const uint64_t a = fuzz_number(input, UINT16_MAX), b = (shape & 16) != 0 ? fuzz_u64(input) : fuzz_u8(input);
  const int n = snprintf(scratch, FUZZ_SCRATCH, formats[shape & 3], (unsigned long long)(a & 0xffffffff),
                         (unsigned long long)(b & 0xffffffffffff));
  return tide_val_text(scratch, (size_t)n);
}

struct tide_val fuzz_value(struct fuzz_input *input, char scratch[FUZZ_SCRATCH]) {
  const uint8_t byte = fuzz_u8(input), shape = byte >> 3;
  struct tide_val val;
  switch (byte & 7) {
  case 0:
    return tide_val_null();
  case 1:
    return tide_val_int((int64_t)fuzz_u64(input));
  case 2:
    return tide_val_int((int8_t)fuzz_u8(input) * (INT64_C(1) << shape));
  case 3:
    val = tide_val_real(tide_real_of_bits((int64_t)fuzz_u64(input)));
    return val.r == val.r ? val : tide_val_null();
  case 4:
    return tide_val_real((int8_t)fuzz_u8(input) / (shape < 8 ? 100.0 : 3.0));
  case 5:
    return text_of(input, shape < 24 ? shape : fuzz_number(input, 4096));
  case 6:
    return line_of(input, shape, scratch);
  default:
    val = text_of(input, shape);
    val.type = TIDE_VAL_BLOB;
    return val;
  }
}

uint64_t fuzz_sum(const struct tide_val *val) {
  uint64_t sum = (uint64_t)val->i ^ val->type;
  FUZZ_CHECK(val->type < TIDE_VAL_TYPES && val->r == val->r);
  for (size_t i = 0; i < val->n; i++)
    sum = sum * 31 + ((const uint8_t *)val->p)[i];
  return sum ^ (uint64_t)tide_bits_of_real(val->r) ^ val->n << 32;
}

bool fuzz_is_bomb(const uint8_t *bytes, size_t size, uint64_t least) {
  for (size_t at = 0; at < size; at++) {
    const unsigned long long stated = ZSTD_getFrameContentSize(bytes + at, size - at);
    if (stated >= least && stated != ZSTD_CONTENTSIZE_ERROR && stated != ZSTD_CONTENTSIZE_UNKNOWN)
      return true;
  }
  return false;
}

bool fuzz_same(const struct tide_val *a, const struct tide_val *b) {
  return a->type == b->type && a->i == b->i && tide_bits_of_real(a->r) == tide_bits_of_real(b->r) && a->n == b->n &&
         (a->n == 0 || memcmp(a->p, b->p, a->n) == 0);
}
