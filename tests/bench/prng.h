/* xoshiro256** 1.0 of David Blackman and Sebastiano Vigna (public domain, prng.di.unimi.it), its state filled by
 * splitmix64 as they advise: the same numbers on every machine. */
#ifndef TIDE_BENCH_PRNG_H
#define TIDE_BENCH_PRNG_H

#include <stdint.h>

struct prng {
  uint64_t state[4];
};

static inline uint64_t splitmix64(uint64_t *state) {
  uint64_t z = (*state += 0x9e3779b97f4a7c15u);
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
  return z ^ (z >> 31);
}

static inline void prng_seed(struct prng *prng, uint64_t seed) {
  for (int i = 0; i < 4; i++)
    prng->state[i] = splitmix64(&seed);
}

static inline uint64_t prng_rotate(uint64_t x, int by) {
  return (x << by) | (x >> (64 - by));
}

static inline uint64_t prng_next(struct prng *prng) {
  uint64_t *s = prng->state;
  const uint64_t result = prng_rotate(s[1] * 5, 7) * 9;
  const uint64_t t = s[1] << 17;
  s[2] ^= s[0];
  s[3] ^= s[1];
  s[1] ^= s[2];
  s[0] ^= s[3];
  s[2] ^= t;
  s[3] = prng_rotate(s[3], 45);
  return result;
}

/* 0 to n - 1 (Lemire's multiplication, whose bias of n / 2^32 is nothing here). */
static inline uint32_t prng_below(struct prng *prng, uint32_t n) {
  return (uint32_t)(((prng_next(prng) >> 32) * n) >> 32);
}

#endif
