/* Whole databases that somebody changed: damaged.h says what holds.
 *
 *   u8   the base
 *   u8   which of the writing operations begins
 *   then damages, DAMAGES_MAX at the most, each
 *     u8   kind; the high bit: checksums are made right
 *     u8   table     u8  column     u8  with
 *     u16  row       u16 at */
#include <stdlib.h>

#include "database/damaged.h"
#include "fuzz.h"

enum { DAMAGES_MAX = 6, MENDED = 0x80 };

/* Most runs are of the bases that are small. */
static const uint8_t order[] = {0, 1, 0, 1, 0, 2, 0, 1, 0, 1, 0, 3};

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  struct fuzz_input input = {data, size};
  struct damage damages[DAMAGES_MAX];
  size_t count = 0;
  const struct base *base = bases_get(order[fuzz_u8(&input) % sizeof order]);
  const unsigned first = fuzz_u8(&input);
  while (count < DAMAGES_MAX && input.left > 0) {
    struct damage *damage = &damages[count++];
    const uint8_t kind = fuzz_u8(&input);
    *damage = (struct damage){.kind = (kind & ~MENDED) % DAMAGE_KINDS, .mended = kind & MENDED};
    damage->table = fuzz_u8(&input);
    damage->column = fuzz_u8(&input);
    damage->with = fuzz_u8(&input);
    damage->row = (uint16_t)fuzz_number(&input, UINT16_MAX);
    damage->at = (uint16_t)fuzz_number(&input, UINT16_MAX);
  }
  if (damaged_run(base, damages, count, first) > 0)
    abort();
  return 0;
}
