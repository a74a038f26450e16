#include "codec/token.h"

#include <string.h>

#include "codec/bitpack.h"

enum { HEX_MIN = 6, UUID_CHARACTERS = 36, UUID_WORD = 8 };

/* What a character can be part of. */
enum { DIGIT = 1, HEX_LOWER = 2, HEX_UPPER = 4, WORD = 8 };

static const uint8_t class_of[256] = {
    ['0' ... '9'] = DIGIT | WORD, ['a' ... 'f'] = HEX_LOWER | WORD,
    ['g' ... 'z'] = WORD,         ['A' ... 'F'] = HEX_UPPER | WORD,
    ['G' ... 'Z'] = WORD,
};

struct finder {
  const unsigned char *text;
  size_t size;
  struct tide_token *tokens;
  size_t ntokens;
};

static unsigned hex_of(unsigned char character) {
  return (character & 15u) + (character > '9' ? 9 : 0);
}

static void add(struct finder *finder, size_t at, size_t size, unsigned kind, uint64_t value) {
  if (finder->ntokens < TIDE_TOKENS_MAX)
    finder->tokens[finder->ntokens++] =
        (struct tide_token){.value = value,
                            .at = (uint32_t)at,
                            .size = (uint8_t)size,
                            .kind = (uint8_t)kind,
                            .padded = (kind & 3) <= TIDE_TOKEN_HEX && size > 1 && finder->text[at] == '0'};
}

static void add_digits(struct finder *finder, size_t at, size_t end) {
  while (at < end) {
    const size_t size = end - at < TIDE_TOKEN_DIGITS_MAX ? end - at : TIDE_TOKEN_DIGITS_MAX;
    uint64_t value = 0;
    for (size_t i = at; i < at + size; i++)
      value = value * 10 + (finder->text[i] - '0');
    add(finder, at, size, TIDE_TOKEN_DIGITS, value);
    at += size;
  }
}

static void add_hex(struct finder *finder, size_t at, size_t end, unsigned upper) {
  while (at < end) {
    const size_t size = end - at < TIDE_TOKEN_HEX_MAX ? end - at : TIDE_TOKEN_HEX_MAX;
    uint64_t value = 0;
    for (size_t i = at; i < at + size; i++)
      value = value << 4 | hex_of(finder->text[i]);
    add(finder, at, size, TIDE_TOKEN_HEX | upper, value);
    at += size;
  }
}

/* Whether the classes of some characters, all of them hexadecimal, hold letters of both cases. */
static bool is_mixed(unsigned classes) {
  return (classes & HEX_LOWER) != 0 && (classes & HEX_UPPER) != 0;
}

/* Adds the UUID that begins with the word at `at`, when there is one. */
static bool add_uuid(struct finder *finder, size_t at) {
  const unsigned char *text = finder->text + at;
  if (finder->size - at < UUID_CHARACTERS || finder->ntokens + 2 > TIDE_TOKENS_MAX ||
      (finder->size - at > UUID_CHARACTERS && (class_of[text[UUID_CHARACTERS]] & WORD) != 0))
    return false;
  uint64_t halves[2] = {0, 0};
  unsigned classes = 0;
  for (size_t i = 0; i < UUID_CHARACTERS; i++) {
    const unsigned class = class_of[text[i]];
    if (i == 8 || i == 13 || i == 18 || i == 23) {
      if (text[i] != '-')
        return false;
      continue;
    }
    if ((class & (DIGIT | HEX_LOWER | HEX_UPPER)) == 0)
      return false;
    classes |= class;
    uint64_t *half = &halves[i >= TIDE_TOKEN_UUID_SIZE];
    *half = *half << 4 | hex_of(text[i]);
  }
  if (is_mixed(classes))
    return false;
  const unsigned upper = (classes & HEX_UPPER) != 0 ? TIDE_TOKEN_UPPER : 0;
  add(finder, at, TIDE_TOKEN_UUID_SIZE, TIDE_TOKEN_UUID_HEAD | upper, halves[0]);
  add(finder, at + TIDE_TOKEN_UUID_SIZE, TIDE_TOKEN_UUID_SIZE, TIDE_TOKEN_UUID_TAIL | upper, halves[1]);
  return true;
}

static size_t digits_end(const struct finder *finder, size_t at) {
  while (at < finder->size && (class_of[finder->text[at]] & DIGIT) != 0)
    at++;
  return at;
}

/* Takes the word around its first digit, which is at `at`: gives where to go on. When it is no UUID or hexadecimal
 * word, only that run of digits is taken. ret_word_end: it ends there. */
static size_t take_word(struct finder *finder, size_t at, size_t *ret_word_end) {
  const unsigned char *text = finder->text;
  size_t start = at, end = at;
  unsigned classes = 0;
  bool hex = true;
  while (start > 0 && (class_of[text[start - 1]] & WORD) != 0)
    start--;
  for (end = start; end < finder->size && (class_of[text[end]] & WORD) != 0; end++) {
    classes |= class_of[text[end]];
    hex &= (class_of[text[end]] & (DIGIT | HEX_LOWER | HEX_UPPER)) != 0;
  }
  *ret_word_end = end;
  if (hex && end - start == UUID_WORD && add_uuid(finder, start)) {
    *ret_word_end = start + UUID_CHARACTERS;
    return *ret_word_end;
  }
  if (hex && end - start >= HEX_MIN && (classes & (HEX_LOWER | HEX_UPPER)) != 0 && !is_mixed(classes)) {
    add_hex(finder, start, end, (classes & HEX_UPPER) != 0 ? TIDE_TOKEN_UPPER : 0);
    return end;
  }
  end = digits_end(finder, at);
  add_digits(finder, at, end);
  return end;
}

/* Where the next digit is, from `at` on; size when there is none. */
static size_t next_digit(const unsigned char *text, size_t at, size_t size) {
  const uint64_t ones = UINT64_C(0x0101010101010101), high = ones << 7;
  for (; size - at >= 8; at += 8) {
    const uint64_t off = tide_load_u64(text + at) ^ ones * '0'; /* a digit is 0 to 9 in it */
    const uint64_t below = (off - ones * 10) & ~off & high;     /* right up to the first that is */
    if (below != 0)
      return at + (size_t)__builtin_ctzll(below) / 8;
  }
  while (at < size && (class_of[text[at]] & DIGIT) == 0)
    at++;
  return at;
}

/* Takes a word of digits alone, which most are, that begins at `at`: gives where it ends. `at` when it is no such word,
 * or one that take_word has to look at. */
static size_t take_digits(struct finder *finder, size_t at) {
  const unsigned char *text = finder->text;
  uint64_t value = 0;
  size_t end = at;
  for (; end < finder->size && (unsigned)text[end] - '0' <= 9; end++)
    value = value * 10 + (text[end] - '0');
  if (end - at > TIDE_TOKEN_DIGITS_MAX || (at > 0 && (class_of[text[at - 1]] & WORD) != 0) ||
      (end < finder->size && ((class_of[text[end]] & WORD) != 0 || (text[end] == '-' && end - at == UUID_WORD))))
    return at;
  add(finder, at, end - at, TIDE_TOKEN_DIGITS, value);
  return end;
}

size_t tide_token_find(const unsigned char *text, size_t size, struct tide_token *ret_tokens) {
  struct finder finder = {text, size, ret_tokens, 0};
  size_t word_end = 0; /* of the word that was looked at last */
  for (size_t at = next_digit(text, 0, size); at < size && finder.ntokens < TIDE_TOKENS_MAX;
       at = next_digit(text, at, size)) {
    const size_t end = at < word_end ? digits_end(&finder, at) : take_digits(&finder, at);
    if (at < word_end)
      add_digits(&finder, at, end);
    at = end > at ? end : take_word(&finder, at, &word_end);
  }
  return finder.ntokens;
}

/* ---- back to text ---- */

static unsigned decimal_size(uint64_t value) {
  static const uint64_t powers[] = {0,
                                    10,
                                    100,
                                    1000,
                                    10000,
                                    100000,
                                    1000000,
                                    10000000,
                                    100000000,
                                    1000000000,
                                    10000000000,
                                    100000000000,
                                    1000000000000,
                                    10000000000000,
                                    100000000000000,
                                    1000000000000000,
                                    10000000000000000,
                                    100000000000000000,
                                    1000000000000000000,
                                    10000000000000000000u};
  /* 1233 / 4096 is the logarithm of 2, near enough for 64 bits */
  const unsigned guess = tide_bitpack_width(value | 1) * 1233 >> 12;
  return guess + (value >= powers[guess]);
}

unsigned tide_token_natural_size(unsigned kind, uint64_t value) {
  switch (kind & 3) {
  case TIDE_TOKEN_DIGITS:
    return value == 0 ? 1 : decimal_size(value);
  case TIDE_TOKEN_HEX:
    return (tide_bitpack_width(value | 1) + 3) / 4;
  default:
    return TIDE_TOKEN_UUID_SIZE;
  }
}

static void print_digits(uint64_t value, unsigned size, unsigned char *out) {
  static const char pairs[] = "00010203040506070809101112131415161718192021222324252627282930313233343536373839"
                              "40414243444546474849505152535455565758596061626364656667686970717273747576777879"
                              "8081828384858687888990919293949596979899";
  for (; size >= 2; size -= 2, value /= 100)
    memcpy(out + size - 2, pairs + value % 100 * 2, 2);
  if (size == 1)
    out[0] = (unsigned char)('0' + value % 10);
}

void tide_token_print(unsigned kind, uint64_t value, unsigned size, unsigned char *out) {
  const char *digits = (kind & TIDE_TOKEN_UPPER) != 0 ? "0123456789ABCDEF" : "0123456789abcdef";
  if ((kind & 3) == TIDE_TOKEN_DIGITS) {
    print_digits(value, size, out);
    return;
  }
  const bool head = (kind & 3) == TIDE_TOKEN_UUID_HEAD, tail = (kind & 3) == TIDE_TOKEN_UUID_TAIL;
  for (unsigned i = size; i > 0; i--) {
    if ((head && (i == 9 || i == 14)) || (tail && (i == 1 || i == 6))) {
      out[i - 1] = '-';
      continue;
    }
    out[i - 1] = (unsigned char)digits[value & 15];
    value >>= 4;
  }
}
