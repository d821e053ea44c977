/* A size-class allocator in front of malloc.

   Objects up to SLAB_MAX bytes come from 64 KiB chunks that hold objects of
   one size and no headers. The chunk's class follows from the address,
   freed objects form one list per class. Interpreters allocate and free small
   objects all the time, and this is three loads and a store where malloc takes
   a search.

   Every page of the image that a run writes to has to be copied first, and
   what it reads has to be mapped. So while the image is made, and for the first
   objects of a run, chunks are mixed: they consist of parts with a class each.
   What was freed before the run stays empty, so that its objects lie together.

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
#define SLAB_PART 512 /* of a mixed chunk; at least SLAB_MAX */
#define SLAB_PARTS (SLAB_CHUNK / SLAB_PART)
#define SLAB_MIXED 128 /* instead of a class: this and the number of the mixed chunk */
#define SLAB_MIXED_MAX 64

/* class of every chunk of the address space; 0: the chunk is malloc's */
static uint8_t slab_chunk_class[65536];
static uint8_t slab_part_class[SLAB_MIXED_MAX * SLAB_PARTS];
static void *slab_free_list[SLAB_CLASSES];
static uint8_t *slab_next[SLAB_CLASSES], *slab_end[SLAB_CLASSES];
static uint8_t *slab_mixed;                          /* the last mixed chunk */
static uint32_t slab_parts;                          /* in use, of all mixed chunks */
static uint32_t slab_most_parts = (SLAB_MIXED_MAX - 1) * SLAB_PARTS; /* one chunk is for a run */
static uint32_t slab_fresh, slab_fresh_count;        /* pages grown and not in use */
static uint32_t slab_grow_by = 1;

/* the class of the object at p, 0 if it came from malloc */
static inline uint32_t slab_class_of(const void *p) {
    uint32_t class = slab_chunk_class[(uintptr_t)p / SLAB_CHUNK];
    if (class >= SLAB_MIXED)
        class = slab_part_class[(class - SLAB_MIXED) * SLAB_PARTS + (uintptr_t)p % SLAB_CHUNK / SLAB_PART];
    return class;
}

/* A new chunk of the class, NULL where memory ends. */
static uint8_t *slab_new_chunk(uint32_t class) {
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
    slab_chunk_class[slab_fresh] = class;
    slab_fresh_count--;
    return (uint8_t *)((uintptr_t)slab_fresh++ * SLAB_CHUNK);
}

static __attribute__((noinline)) void *slab_refill(uint32_t class) {
    uint8_t *from;
    size_t size = SLAB_CHUNK;
    if (slab_parts < slab_most_parts) {
        size = SLAB_PART;
        if (slab_parts % SLAB_PARTS == 0)
            slab_mixed = slab_new_chunk(SLAB_MIXED + slab_parts / SLAB_PARTS);
        if (!slab_mixed)
            return NULL;
        from = slab_mixed + slab_parts % SLAB_PARTS * SLAB_PART;
        slab_part_class[slab_parts++] = class;
    } else if (!(from = slab_new_chunk(class))) {
        return NULL;
    }
    slab_next[class] = from + class * SLAB_STEP;
    slab_end[class] = from + size;
    return from;
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

/* The image is made: what comes from now on is of a run. -1 where memory ends. */
static int slab_settle(void) {
    memset(slab_free_list, 0, sizeof(slab_free_list));
    memset(slab_next, 0, sizeof(slab_next));
    memset(slab_end, 0, sizeof(slab_end));
    slab_parts = (slab_parts + SLAB_PARTS - 1) / SLAB_PARTS * SLAB_PARTS;
    slab_most_parts = slab_parts;
    if (slab_parts == SLAB_MIXED_MAX * SLAB_PARTS)
        return 0;
    slab_most_parts += SLAB_PARTS;
    return slab_refill(1) ? 0 : -1; /* the chunk is there, and not yet touched */
}
