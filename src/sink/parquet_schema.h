/* The schema of a Parquet file: a tree of nodes, laid out as an array in depth-first order, a parent before its
 * children. The first node is the root, a group, whose children are the top-level columns. The nodes that are no groups
 * are leaves; in the same order they are the file's columns.
 *
 *   root, 2 children                                     {.name = "schema", .children = 2}
 *     id       REQUIRED INT64                            {.name = "id", .type = TIDE_PARQUET_INT64}
 *     add      OPTIONAL group, 2 children                {.name = "add", .repetition = TIDE_PARQUET_OPTIONAL, ...
 *       path   OPTIONAL BYTE_ARRAY (String)                 def 2 when there, 1 when add is there, 0 without add
 *       tags   OPTIONAL group (MAP), 1 child
 *         key_value  REPEATED group, 2 children             rep 0: a map's first entry, 1: one more
 *           key      REQUIRED BYTE_ARRAY (String)           def 3 when there, 2: the map is empty, 1: it is NULL ...
 *           value    OPTIONAL BYTE_ARRAY (String)
 *
 * A leaf's highest definition level is the number of OPTIONAL and REPEATED nodes from the root to it, itself included;
 * its highest repetition level that of REPEATED ones (apache/parquet-format, README "Nested Encoding" and
 * LogicalTypes.md for the shapes of lists and maps). */
#ifndef TIDE_SINK_PARQUET_SCHEMA_H
#define TIDE_SINK_PARQUET_SCHEMA_H

#include "sink/parquet_thrift.h"

/* Parquet's numbers. */
enum tide_parquet_type {
  TIDE_PARQUET_BOOLEAN = 0,
  TIDE_PARQUET_INT32 = 1,
  TIDE_PARQUET_INT64 = 2,
  TIDE_PARQUET_DOUBLE = 5,
  TIDE_PARQUET_BYTE_ARRAY = 6
};
enum tide_parquet_repetition { TIDE_PARQUET_REQUIRED = 0, TIDE_PARQUET_OPTIONAL = 1, TIDE_PARQUET_REPEATED = 2 };

enum tide_parquet_logical {
  TIDE_PARQUET_NO_LOGICAL,
  TIDE_PARQUET_STRING, /* of BYTE_ARRAY, as is JSON */
  TIDE_PARQUET_JSON,
  TIDE_PARQUET_TIMESTAMP_MS, /* of INT64, UTC, as are the next two */
  TIDE_PARQUET_TIMESTAMP_US,
  TIDE_PARQUET_TIMESTAMP_NS,
  TIDE_PARQUET_LIST, /* of a group, as is MAP */
  TIDE_PARQUET_MAP
};

struct tide_parquet_node {
  const char *name;
  size_t children;             /* 0: a leaf */
  enum tide_parquet_type type; /* of a leaf */
  enum tide_parquet_repetition repetition;
  enum tide_parquet_logical logical;
};

/* What a leaf of the tree is. */
struct tide_parquet_place {
  size_t node;
  unsigned max_def;
  unsigned max_rep;
};

/* Gives the number of leaves; ret_places, unless it is NULL, has room for as many (never more than nnodes). The array
 * must be one whole tree. */
size_t tide_parquet_leaves(const struct tide_parquet_node *nodes, size_t nnodes, struct tide_parquet_place *ret_places);

/* Field `id` of FileMetaData: the schema as a list of SchemaElement. */
void tide_parquet_put_schema(struct tide_thrift *thrift, int id, const struct tide_parquet_node *nodes, size_t nnodes);

/* The path to a node, root left out, as field `id`: a list of names. */
void tide_parquet_put_path(struct tide_thrift *thrift, int id, const struct tide_parquet_node *nodes, size_t node);

#endif
