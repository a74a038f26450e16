/* The module `tidemark`: a dataset as a virtual table. Each method casts, makes one engine call and maps the error. */
#ifndef TIDE_EXT_VTAB_DATASET_H
#define TIDE_EXT_VTAB_DATASET_H

#include "engine/dataset.h"

/* Registers the module; it keeps a reference to the connection. */
int tide_vtab_dataset_register(struct tide_conn *conn);

#endif
