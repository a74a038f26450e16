/* Choices of a program that is driven by a seed: the same on every run. One state for all its files (chance.c). */
#ifndef TIDE_TESTS_CHANCE_H
#define TIDE_TESTS_CHANCE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

void chance_seed(uint64_t seed);
size_t pick(size_t n); /* 0 to n - 1 */
static inline bool one_in(size_t n) {
  return pick(n) == 0;
}
#define PICK(list) ((list)[pick(sizeof(list) / sizeof *(list))])

#endif
