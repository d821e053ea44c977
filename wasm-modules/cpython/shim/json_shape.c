#include "json_shape.h"
#include "pycore_gc.h"
#include "pycore_object.h"
#include "json_scan.h"

int shape_tree_open(struct shape_tree *tree, size_t document_size)
{
    size_t room = document_size / 5 + 2;
    tree->room = room < SHAPE_NODES ? (uint32_t)room : SHAPE_NODES;
    tree->nodes = PyMem_Malloc(tree->room * sizeof *tree->nodes);
    if (!tree->nodes) {
        PyErr_NoMemory();
        return -1;
    }
    memset(&tree->nodes[0], 0, sizeof tree->nodes[0]);
    tree->used = 1;
    return 0;
}

void shape_tree_close(struct shape_tree *tree)
{
    for (uint32_t i = 0; i < tree->used; i++) {
        Py_XDECREF(tree->nodes[i].key);
        Py_XDECREF(tree->nodes[i].template);
    }
    PyMem_Free(tree->nodes);
}

struct shape_node *shape_add(struct shape_tree *tree, struct shape_node *parent, const uint8_t *raw,
                             uint32_t raw_size, PyObject *key)
{
    if (tree->used == tree->room || parent->children == SHAPE_CHILDREN || parent->depth == SHAPE_KEYS)
        return NULL;
    for (struct shape_node *n = parent; n->parent; n = n->parent)
        if (n->key == key)
            return NULL;
    struct shape_node *node = &tree->nodes[tree->used++];
    *node = (struct shape_node){
        .key = key, .raw = raw, .raw_size = raw_size, .parent = parent, .next = parent->child, .depth = parent->depth + 1};
    parent->child = node;
    parent->children++;
    return node;
}

static JSON_COLD int make_template(struct shape_node *node)
{
    PyObject *keys[SHAPE_KEYS], *none = Py_None;
    uint32_t count = node->depth;
    for (struct shape_node *n = node; n->parent; n = n->parent)
        keys[n->depth - 1] = n->key;
    PyObject *dict = _PyDict_FromItems(keys, 1, &none, 0, count);
    if (!dict)
        return -1;
    PyDictKeysObject *table = ((PyDictObject *)dict)->ma_keys;
    if (!DK_IS_UNICODE(table) || table->dk_nentries != (Py_ssize_t)count) {
        Py_DECREF(dict);
        PyErr_SetString(PyExc_SystemError, "a template of keys is not what it was made of");
        return -1;
    }
    node->template = dict;
    node->table_size = (uint32_t)_PyDict_KeysSize(table);
    return 0;
}

PyObject *shape_dict(struct shape_node *node, PyObject **values)
{
    if (!node->depth)
        return PyDict_New();
    if (__builtin_expect(!node->template, 0) && make_template(node))
        return NULL;
    PyObject *dict = PyDict_New();
    if (!dict)
        return NULL;
    PyDictKeysObject *table = PyMem_Malloc(node->table_size);
    if (!table) {
        Py_DECREF(dict);
        return PyErr_NoMemory();
    }
    copy_short((uint8_t *)table, (uint8_t *)((PyDictObject *)node->template)->ma_keys, node->table_size);
    table->dk_refcnt = 1;
    table->dk_version = 0;
    PyDictUnicodeEntry *entries = DK_UNICODE_ENTRIES(table);
    int tracked = 0;
    for (uint32_t i = 0; i < node->depth; i++) {
        PyTypeObject *type = Py_TYPE(values[i]);
        Py_INCREF(entries[i].me_key);
        entries[i].me_value = values[i];
        tracked |= type == &PyList_Type || (type == &PyDict_Type && _PyObject_GC_IS_TRACKED(values[i]));
    }
    ((PyDictObject *)dict)->ma_keys = table;
    ((PyDictObject *)dict)->ma_used = node->depth;
    if (tracked)
        _PyObject_GC_TRACK(dict);
    return dict;
}
