/* A text or blob that lies somewhere. */
#ifndef TIDE_CODEC_SLICE_H
#define TIDE_CODEC_SLICE_H

#include <stdint.h>

struct tide_slice {
  const unsigned char *bytes; /* not NULL, also when size is 0 */
  uint32_t size;
};

#endif
