/* A size-class allocator in front of malloc.

   Objects up to SLAB_MAX bytes come from 64 KiB chunks that hold objects of
   one size and no headers. The chunk's class is found from the address alone,
   freed objects form one list per class. Interpreters allocate and free small
   objects all the time, and this is three loads and a store where malloc takes
   a search.

   A chunk is one wasm page. It is never given back: an instance is thrown away
   as a whole. */
#pragma once
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define SLAB_STEP 16
#define SLAB_MAX 512
#define SLAB_CLASSES (SLAB_MAX / SLAB_STEP + 1)
#define SLAB_CHUNK 65536

/* class of every chunk of the address space; 0: the chunk is malloc's */
static uint8_t slab_chunk_class[65536];
static void *slab_free_list[SLAB_CLASSES];
static uint8_t *slab_next[SLAB_CLASSES], *slab_end[SLAB_CLASSES];
static uint32_t slab_fresh, slab_fresh_count; /* pages grown and not in use */
static uint32_t slab_grow_by = 1;

/* the class of the object at p, 0 if it came from malloc */
static inline uint32_t slab_class_of(const void *p) {
    return slab_chunk_class[(uintptr_t)p / SLAB_CHUNK];
}

static __attribute__((noinline)) void *slab_refill(uint32_t class) {
    if (slab_fresh_count == 0) {
        size_t page = __builtin_wasm_memory_grow(0, slab_grow_by);
        if (page == (size_t)-1) {
            slab_grow_by = 1;
            page = __builtin_wasm_memory_grow(0, 1);
            if (page == (size_t)-1)
                return NULL;
        }
        slab_fresh = page;
        slab_fresh_count = slab_grow_by;
        if (slab_grow_by < 16)
            slab_grow_by *= 2;
    }
    uint8_t *chunk = (uint8_t *)((uintptr_t)slab_fresh * SLAB_CHUNK);
    slab_chunk_class[slab_fresh] = class;
    slab_fresh++;
    slab_fresh_count--;
    slab_next[class] = chunk + class * SLAB_STEP;
    slab_end[class] = chunk + SLAB_CHUNK;
    return chunk;
}

/* 0 < size <= SLAB_MAX */
static inline __attribute__((always_inline)) void *slab_alloc(size_t size) {
    uint32_t class = (size + SLAB_STEP - 1) / SLAB_STEP;
    void *p = slab_free_list[class];
    if (p) {
        slab_free_list[class] = *(void **)p;
        return p;
    }
    uint8_t *next = slab_next[class];
    if (__builtin_expect(next && next + class * SLAB_STEP <= slab_end[class], 1)) {
        slab_next[class] = next + class * SLAB_STEP;
        return next;
    }
    return slab_refill(class);
}

static inline void slab_release(void *p, uint32_t class) {
    *(void **)p = slab_free_list[class];
    slab_free_list[class] = p;
}
