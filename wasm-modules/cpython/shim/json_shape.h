/* Shapes: the key sequences that objects of one document share.
 *
 * A tool's answer is mostly records with the same keys in the same order. The
 * shapes of a document form a tree, one node per key; the path from the root is
 * a key sequence. An object that follows a known path costs one comparison per
 * key, and becomes a dict by copying the node's template of a keys table. */
#pragma once
#include "abi.h"
#include "pycore_dict.h"

#define SHAPE_NODES 4096 /* nodes of one document */
#define SHAPE_CHILDREN 8 /* continuations of one path */
#define SHAPE_KEYS 64    /* keys of one shape */

struct shape_node {
    PyObject *key;      /* interned */
    const uint8_t *raw; /* the key's bytes in the document */
    uint32_t raw_size;
    struct shape_node *child, *next, *parent;
    PyObject *template; /* a dict with these keys, made when first needed */
    uint32_t table_size;
    uint16_t depth, children;
};

struct shape_tree {
    struct shape_node *nodes; /* nodes[0] is the root */
    uint32_t used, room;
};

int shape_tree_open(struct shape_tree *tree, size_t document_size);
void shape_tree_close(struct shape_tree *tree);

/* Adds a key behind a node. NULL where the tree is full or the key is already
 * on the path; takes the reference to key only on success. */
struct shape_node *shape_add(struct shape_tree *tree, struct shape_node *parent, const uint8_t *raw,
                             uint32_t raw_size, PyObject *key);

/* The dict of a node's keys and these values; takes the values on success. */
PyObject *shape_dict(struct shape_node *node, PyObject **values);
