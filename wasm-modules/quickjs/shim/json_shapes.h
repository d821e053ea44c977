/* The shapes of JSON objects.

   Records of a list have the same keys in the same order. KeyNode is a node of
   a trie over such sequences of keys: an object walks down from the root, one
   step per key, and where it ends the node holds the shape that QuickJS needs
   for the whole object. The child that fitted last time is tried first, so a
   key that was seen before costs one comparison of bytes, no hash and no atom.

   The trie is bounded: an object that does not fit any more is built property
   by property. */
#pragma once
#include "json_scan.h"

#define SHAPES_MAX_NODES 4096
#define SHAPES_MAX_CHILDREN 8
#define SHAPES_MAX_KEYS 64

typedef struct KeyNode {
    JSAtom key;
    const uint8_t *text; /* the key as the document spells it, between quotes */
    uint32_t text_size;
    struct KeyNode *parent, *first_child, *next_sibling;
    JSShape *shape; /* of objects that end here; NULL until one does */
    uint16_t depth, child_count;
} KeyNode;

typedef struct {
    KeyNode *nodes; /* nodes[0] is the root: the empty object */
    uint32_t count, limit;
} Shapes;

/* A document of size bytes cannot have more nodes than keys, five bytes each. */
static int shapes_init(JSContext *ctx, Shapes *s, size_t size) {
    size_t limit = size / 5 + 2;
    s->limit = limit < SHAPES_MAX_NODES ? limit : SHAPES_MAX_NODES;
    s->nodes = js_malloc(ctx, s->limit * sizeof(KeyNode));
    if (!s->nodes)
        return -1;
    memset(&s->nodes[0], 0, sizeof(KeyNode));
    s->count = 1;
    return 0;
}

static void shapes_free(JSContext *ctx, Shapes *s) {
    for (uint32_t i = 0; s->nodes && i < s->count; i++) {
        JS_FreeAtom(ctx, s->nodes[i].key);
        if (s->nodes[i].shape)
            js_free_shape(ctx->rt, s->nodes[i].shape);
    }
    js_free(ctx, s->nodes);
}

/* The child of node for the key that begins at text, NULL if there is none.
   The child moves to the front of its siblings. */
JSON_INLINE KeyNode *shapes_step(KeyNode *node, const uint8_t *text, const uint8_t *end) {
    KeyNode *previous = NULL;
    for (KeyNode *child = node->first_child; child; previous = child, child = child->next_sibling) {
        if ((size_t)(end - text) > child->text_size && text[child->text_size] == '"' &&
            equal_short(text, child->text, child->text_size)) {
            if (previous) {
                previous->next_sibling = child->next_sibling;
                child->next_sibling = node->first_child;
                node->first_child = child;
            }
            return child;
        }
    }
    return NULL;
}

/* A new child; it takes over the atom. NULL, and the atom stays the caller's,
   where the trie is full, is not this one, or the object has the key already. */
static __attribute__((noinline)) KeyNode *shapes_add(Shapes *s, KeyNode *parent, JSAtom key,
                                                     const uint8_t *text, uint32_t size) {
    if ((uintptr_t)parent - (uintptr_t)s->nodes >= s->limit * sizeof(KeyNode))
        return NULL;
    if (s->count >= s->limit || parent->child_count >= SHAPES_MAX_CHILDREN ||
        parent->depth >= SHAPES_MAX_KEYS)
        return NULL;
    for (KeyNode *n = parent; n->parent; n = n->parent)
        if (n->key == key)
            return NULL;
    KeyNode *child = &s->nodes[s->count++];
    memset(child, 0, sizeof(*child));
    child->key = key;
    child->text = text;
    child->text_size = size;
    child->parent = parent;
    child->depth = parent->depth + 1;
    child->next_sibling = parent->first_child;
    parent->first_child = child;
    parent->child_count++;
    return child;
}

/* The shape with the node's keys in order, exactly as large as needed. */
static JSShape *shapes_get(JSContext *ctx, KeyNode *node) {
    if (node->shape)
        return node->shape;
    uint32_t depth = node->depth, hash_size = JS_PROP_INITIAL_HASH_SIZE;
    while (hash_size < depth)
        hash_size *= 2;
    JSShape *shape = js_new_shape2(ctx, JS_VALUE_GET_OBJ(ctx->class_proto[JS_CLASS_OBJECT]),
                                   hash_size, depth ? depth : JS_PROP_INITIAL_SIZE);
    if (!shape)
        return NULL;
    JSAtom keys[SHAPES_MAX_KEYS];
    for (KeyNode *n = node; n->parent; n = n->parent)
        keys[n->depth - 1] = n->key;
    for (uint32_t i = 0; i < depth; i++) {
        if (add_shape_property(ctx, &shape, NULL, keys[i], JS_PROP_C_W_E)) {
            js_free_shape(ctx->rt, shape);
            return NULL;
        }
    }
    node->shape = shape;
    return shape;
}

/* An object that ends at node; it takes over the values, except on failure. */
static JSValue shapes_object(JSContext *ctx, KeyNode *node, JSValue *values) {
    JSShape *shape = shapes_get(ctx, node);
    if (!shape)
        return JS_EXCEPTION;
    JSValue object = JS_NewObjectFromShape(ctx, js_dup_shape(shape), JS_CLASS_OBJECT);
    if (JS_IsException(object))
        return object;
    JSProperty *properties = JS_VALUE_GET_OBJ(object)->prop;
    for (uint32_t i = 0; i < node->depth; i++)
        properties[i].u.value = values[i];
    return object;
}
