/* Random numbers that are the same on every run: splitmix64. */
#ifndef TIDE_TESTS_RANDOM_H
#define TIDE_TESTS_RANDOM_H

#include <stdint.h>

static uint64_t random_seed = 42;

static inline uint64_t next_random(void) {
  uint64_t z = random_seed += UINT64_C(0x9e3779b97f4a7c15);
  z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
  z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
  return z ^ z >> 31;
}

#endif
