/* QuickJS's allocation functions on top of the size-class allocator, with the
   same accounting as its own. Included by quickjs.c (patches/02-slab.patch). */
#pragma once
#include "slab.h"

#define SLAB_MALLOC_OVERHEAD 8

static inline size_t slab_js_usable_size(const void *p) {
    uint32_t class = slab_class_of(p);
    return class ? class * SLAB_STEP : malloc_usable_size((void *)p);
}

static inline void *slab_js_malloc(JSMallocState *s, size_t size) {
    void *p;

    if (size - 1 < SLAB_MAX) {
        size_t rounded = (size + SLAB_STEP - 1) & ~(size_t)(SLAB_STEP - 1);
        if (s->malloc_size + rounded > s->malloc_limit)
            return NULL;
        p = slab_alloc(size);
        if (!p)
            return NULL;
        s->malloc_count++;
        s->malloc_size += rounded;
        return p;
    }
    if (size == 0 || s->malloc_size + size > s->malloc_limit)
        return NULL;
    p = malloc(size);
    if (!p)
        return NULL;
    s->malloc_count++;
    s->malloc_size += malloc_usable_size(p) + SLAB_MALLOC_OVERHEAD;
    return p;
}

static inline void slab_js_free(JSMallocState *s, void *p) {
    if (!p)
        return;
    s->malloc_count--;
    uint32_t class = slab_class_of(p);
    if (class) {
        s->malloc_size -= class * SLAB_STEP;
        slab_release(p, class);
        return;
    }
    s->malloc_size -= malloc_usable_size(p) + SLAB_MALLOC_OVERHEAD;
    free(p);
}

static void *slab_js_realloc(JSMallocState *s, void *p, size_t size) {
    if (!p)
        return size ? slab_js_malloc(s, size) : NULL;
    if (size == 0) {
        slab_js_free(s, p);
        return NULL;
    }
    uint32_t class = slab_class_of(p);
    if (class) {
        size_t old = class * SLAB_STEP;
        if (size <= old && size > old / 2)
            return p;
        void *q = slab_js_malloc(s, size);
        if (!q)
            return NULL;
        memcpy(q, p, size < old ? size : old);
        slab_js_free(s, p);
        return q;
    }
    size_t old = malloc_usable_size(p);
    if (size > old && s->malloc_size + size - old > s->malloc_limit)
        return NULL;
    p = realloc(p, size);
    if (!p)
        return NULL;
    s->malloc_size += malloc_usable_size(p) - old;
    return p;
}
