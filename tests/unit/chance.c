#include "chance.h"

#include "random.h"

void chance_seed(uint64_t seed) {
  random_seed = seed * 1000003; /* neighbours are far from each other */
}

size_t pick(size_t n) {
  return (size_t)(next_random() % n);
}
