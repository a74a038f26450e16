/* The objects below a folder of a target that is a folder. */
#ifndef TIDE_SINK_DIR_LIST_H
#define TIDE_SINK_DIR_LIST_H

#include <stdbool.h>
#include <stdint.h>

#include "sink/dir_path.h"

/* As tide_target_methods.list. The names of a folder are read in pages that are sorted, so that memory is bounded
 * however many there are; `hidden` is a folder that is passed over. Only regular files whose names an object may have
 * are objects; no symbolic link is followed. */
void tide_dir_list(const struct tide_dir_root *root, const char *folder, const char *after, const char *hidden,
                   bool (*each)(void *context, const char *name, int64_t size, struct tide_err *err), void *context,
                   struct tide_err *err);

#endif
