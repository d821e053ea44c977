/* Prepares the image: what every run does first is done once, and
   what a run writes to lies together.

   A page of the image that is written to has to be copied first, which takes
   about a microsecond, and `1+1` would write to more than sixty if what it
   allocates filled the holes that the prelude left behind. */
#pragma once
#include "run.h"
#include "slab.h"

/* The document of a program that uses what most programs use. */
static const char warm_up_document[] =
    "{\"code\":\"const one = async (x) => x; const list = [1, 2]; let n = 0;\\n"
    "for (const x of list) n += await one(x);\\n"
    "const {a, b} = {a: n, b: `${n}`};\\n"
    "return {a, b, list: list.map((x) => x + 1), keys: Object.keys({n})}\",\"file\":\"main.js\",\"args\":null,"
    "\"argv\":[],\"env\":{},\"servers\":[],\"session\":false,\"deterministic\":false,\"root\":\"\","
    "\"packages\":\"\",\"recursion\":0,\"fetch\":false,\"pii\":false}\n";

#define HEAP_END (64 << 10) /* what malloc has left at its end */

/* Takes every hole of malloc's that a run could get, so that it gets what lies
   at the end. The holes stay empty. */
static int fill_holes(void) {
    uint8_t *end = malloc(HEAP_END);
    if (!end)
        return -1;
    free(end);
    for (size_t size = HEAP_END / 2; size > SLAB_MAX; size -= SLAB_STEP) {
        for (;;) {
            uint8_t *p = malloc(size);
            if (!p)
                return -1;
            if (p >= end) {
                free(p);
                break;
            }
            memset(p, 0, size);
        }
    }
    return 0;
}

static void keep(JSRefCountHeader *header) {
    header->ref_count = JS_REF_COUNT_KEPT * 2; /* far from the limit: a collection counts down and up again */
}

static void keep_text(JSValueConst value) {
    if (JS_VALUE_GET_TAG(value) == JS_TAG_STRING)
        keep(JS_VALUE_GET_PTR(value));
}

static void keep_object(JSObject *o) {
    JSShapeProperty *shape = get_shape_prop(o->shape);
    for (int i = 0; i < o->shape->prop_count; i++)
        if (shape[i].atom != JS_ATOM_NULL && (shape[i].flags & JS_PROP_TMASK) == JS_PROP_NORMAL)
            keep_text(o->prop[i].u.value);
    if (o->class_id == JS_CLASS_ARRAY && o->fast_array)
        for (uint32_t i = 0; i < o->u.array.count; i++)
            keep_text(o->u.array.u.values[i]);
}

/* Stops counting references to what is in the image, which is never freed. */
static void keep_image(JSRuntime *rt) {
    struct list_head *el;
    list_for_each(el, &rt->gc_obj_list) {
        JSGCObjectHeader *header = list_entry(el, JSGCObjectHeader, link);
        switch (header->gc_obj_type) {
        case JS_GC_OBJ_TYPE_SHAPE:
            if (header->ref_count == 1 && (JSShape *)header != input_nodes[INPUT_COUNT].shape)
                continue; /* its only object may change it in place */
            break;
        case JS_GC_OBJ_TYPE_JS_OBJECT:
            keep_object((JSObject *)header);
            break;
        case JS_GC_OBJ_TYPE_FUNCTION_BYTECODE:
            for (int i = 0; i < ((JSFunctionBytecode *)header)->cpool_count; i++)
                keep_text(((JSFunctionBytecode *)header)->cpool[i]);
            break;
        case JS_GC_OBJ_TYPE_VAR_REF:
            keep_text(*((JSVarRef *)header)->pvalue);
            break;
        default:
            break;
        }
        keep((JSRefCountHeader *)header);
    }
    for (int i = 0; i < rt->atom_size; i++)
        if (!atom_is_free(rt->atom_array[i]))
            keep((JSRefCountHeader *)rt->atom_array[i]);
}

/* Makes what is in memory an image: who starts from it does not write to what it
   only reads, and what it writes lies together. */
static int make_image(void) {
    keep_image(guest.rt);
    if (slab_settle())
        return -1;
    /* a collection marks the whole prelude: not before a program has made some
       garbage */
    guest.rt->malloc_gc_threshold = guest.rt->malloc_state.malloc_size + (4 << 20);
    return 0;
}

static int settle(JSContext *ctx) {
    JSValue input = parse_input(ctx, (const uint8_t *)warm_up_document, sizeof(warm_up_document) - 1);
    if (JS_IsException(input))
        return -1;
    run_document(ctx, input);
    JS_RunGC(guest.rt);
    return fill_holes() ? -1 : make_image();
}
