#include "sink/parquet_schema.h"

#include <assert.h>
#include <string.h>

enum { PATH_MAX_NODES = 16 };

/* ---- the tree ---- */

/* The nodes from the root's child down to one that is being visited. */
struct path {
  size_t depth;
  size_t node[PATH_MAX_NODES];
  size_t left[PATH_MAX_NODES]; /* children still to come, of the node above */
};

static void path_init(struct path *path, const struct tide_parquet_node *nodes) {
  *path = (struct path){0};
  path->left[0] = nodes[0].children;
}

/* Takes `node`, the next one in depth-first order, as the path's last. */
static void path_enter(struct path *path, const struct tide_parquet_node *nodes, size_t node) {
  while (path->left[path->depth] == 0) {
    assert(path->depth > 0);
    path->depth--;
  }
  path->left[path->depth]--;
  path->node[path->depth] = node;
  if (nodes[node].children > 0) {
    assert(path->depth + 1 < PATH_MAX_NODES);
    path->left[++path->depth] = nodes[node].children;
  }
}

/* How many nodes lead to the one entered last, itself included. */
static size_t path_length(const struct path *path, const struct tide_parquet_node *nodes, size_t node) {
  return nodes[node].children > 0 ? path->depth : path->depth + 1;
}

size_t tide_parquet_leaves(const struct tide_parquet_node *nodes, size_t nnodes,
                           struct tide_parquet_place *ret_places) {
  struct path path;
  size_t leaves = 0;
  path_init(&path, nodes);
  for (size_t node = 1; node < nnodes; node++) {
    path_enter(&path, nodes, node);
    if (nodes[node].children > 0)
      continue;
    struct tide_parquet_place place = {.node = node};
    for (size_t i = 0; i < path_length(&path, nodes, node); i++) {
      enum tide_parquet_repetition repetition = nodes[path.node[i]].repetition;
      place.max_def += repetition != TIDE_PARQUET_REQUIRED;
      place.max_rep += repetition == TIDE_PARQUET_REPEATED;
    }
    if (ret_places != NULL)
      ret_places[leaves] = place;
    leaves++;
  }
  return leaves;
}

void tide_parquet_put_path(struct tide_thrift *thrift, int id, const struct tide_parquet_node *nodes, size_t node) {
  struct path path;
  path_init(&path, nodes);
  for (size_t i = 1; i <= node; i++)
    path_enter(&path, nodes, i);
  size_t length = path_length(&path, nodes, node);
  tide_thrift_list(thrift, id, TIDE_THRIFT_BINARY, length);
  for (size_t i = 0; i < length; i++) {
    const char *name = nodes[path.node[i]].name;
    tide_thrift_element_binary(thrift, name, strlen(name));
  }
}

/* ---- SchemaElement ---- */

/* Field numbers of parquet.thrift. */
enum {
  ELEMENT_TYPE = 1,
  ELEMENT_REPETITION = 3,
  ELEMENT_NAME = 4,
  ELEMENT_CHILDREN = 5,
  ELEMENT_CONVERTED = 6,
  ELEMENT_LOGICAL = 10,
  TIMESTAMP_UTC = 1,
  TIMESTAMP_UNIT = 2
};

/* The number in the union LogicalType, the deprecated ConvertedType (-1: none) for older readers, and the number in
 * the union TimeUnit (0: no timestamp). */
static const struct {
  int logical;
  int converted;
  int unit;
} logicals[] = {[TIDE_PARQUET_STRING] = {1, 0, 0},
                [TIDE_PARQUET_JSON] = {12, 19, 0},
                [TIDE_PARQUET_TIMESTAMP_MS] = {8, 9, 1},
                [TIDE_PARQUET_TIMESTAMP_US] = {8, 10, 2},
                [TIDE_PARQUET_TIMESTAMP_NS] = {8, -1, 3},
                [TIDE_PARQUET_LIST] = {3, 3, 0},
                [TIDE_PARQUET_MAP] = {2, 1, 0}};

static void put_logical(struct tide_thrift *thrift, enum tide_parquet_logical logical) {
  int unit = logicals[logical].unit;
  tide_thrift_begin_field(thrift, ELEMENT_LOGICAL);
  tide_thrift_begin_field(thrift, logicals[logical].logical);
  if (unit > 0) {
    tide_thrift_bool(thrift, TIMESTAMP_UTC, true);
    tide_thrift_begin_field(thrift, TIMESTAMP_UNIT);
    tide_thrift_begin_field(thrift, unit);
    tide_thrift_end(thrift);
    tide_thrift_end(thrift);
  }
  tide_thrift_end(thrift);
  tide_thrift_end(thrift);
}

static void put_element(struct tide_thrift *thrift, const struct tide_parquet_node *node, bool root) {
  tide_thrift_begin(thrift);
  if (node->children == 0 && !root)
    tide_thrift_i32(thrift, ELEMENT_TYPE, (int32_t)node->type);
  if (!root)
    tide_thrift_i32(thrift, ELEMENT_REPETITION, (int32_t)node->repetition);
  tide_thrift_string(thrift, ELEMENT_NAME, node->name);
  if (node->children > 0 || root)
    tide_thrift_i32(thrift, ELEMENT_CHILDREN, (int32_t)node->children);
  if (node->logical != TIDE_PARQUET_NO_LOGICAL) {
    if (logicals[node->logical].converted >= 0)
      tide_thrift_i32(thrift, ELEMENT_CONVERTED, logicals[node->logical].converted);
    put_logical(thrift, node->logical);
  }
  tide_thrift_end(thrift);
}

void tide_parquet_put_schema(struct tide_thrift *thrift, int id, const struct tide_parquet_node *nodes, size_t nnodes) {
  tide_thrift_list(thrift, id, TIDE_THRIFT_STRUCT, nnodes);
  for (size_t i = 0; i < nnodes; i++)
    put_element(thrift, &nodes[i], i == 0);
}
