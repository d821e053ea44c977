/* JavaScript values into JSON text. See JSON.md for the layout.

   One walk, two manners. PLAIN serves JSON.stringify: it writes plain data and
   gives up on anything else, and the original function then does the whole
   work. TABLE serves the results of programs and the arguments of tools: it
   follows guests/values.md and names the place of a value that has no form. */
#pragma once
#include "json_scan.h"

#define WRITE_MAX_DEPTH 900

typedef enum { WRITE_PLAIN, WRITE_TABLE } WriteManner;

typedef struct {
    JSAtom key; /* JS_ATOM_NULL: an index */
    uint32_t index;
    JSObject *object; /* the container at this level, against cycles */
} WriteStep;

typedef struct {
    JSContext *ctx;
    WriteManner manner;
    uint8_t *out;
    size_t size, capacity;
    int depth;
    WriteStep steps[WRITE_MAX_DEPTH + 1];
    const char *root;           /* what the steps start from: "value", "args" */
    const char *problem, *hint; /* why a value has no form; NULL: it has */
    JSValue place;              /* of that value */
} JSONWriter;

static JSON_SIMD int write_value(JSONWriter *w, JSValueConst value);

static __attribute__((noinline)) int write_grow(JSONWriter *w, size_t more) {
    size_t capacity = w->capacity + w->capacity / 2;
    if (capacity < w->size + more)
        capacity = w->size + more + 1024;
    uint8_t *out = capacity > INT32_MAX ? NULL : js_realloc(w->ctx, w->out, capacity);
    if (!out)
        return -1;
    w->out = out;
    w->capacity = capacity;
    return 0;
}

/* room for `more` bytes and a vector store past them */
JSON_INLINE int write_room(JSONWriter *w, size_t more) {
    return __builtin_expect(w->size + more + 16 > w->capacity, 0) ? write_grow(w, more + 16) : 0;
}

static int write_text(JSONWriter *w, const char *text, size_t size) {
    if (write_room(w, size))
        return -1;
    memcpy(w->out + w->size, text, size);
    w->size += size;
    return 0;
}

JSON_INLINE int write_byte(JSONWriter *w, uint8_t c) {
    if (write_room(w, 1))
        return -1;
    w->out[w->size++] = c;
    return 0;
}

/* "value.items[3].owner": the position of the writer. */
static JSValue write_place(JSONWriter *w) {
    JSContext *ctx = w->ctx;
    DynBuf path;
    js_dbuf_init(ctx, &path);
    dbuf_putstr(&path, w->root);
    for (int i = 0; i < w->depth && path.size < 400; i++) {
        WriteStep *step = &w->steps[i];
        if (step->key == JS_ATOM_NULL) {
            dbuf_printf(&path, "[%u]", step->index);
            continue;
        }
        const char *key = JS_AtomToCString(ctx, step->key);
        if (!key)
            break;
        int plain = key[0] && !is_decimal(key[0]) && strlen(key) < 100;
        for (const char *c = key; *c && plain; c++)
            plain = (*c & 0x80) || is_decimal(*c) || *c == '_' || *c == '$' ||
                    ((*c | 0x20) >= 'a' && (*c | 0x20) <= 'z');
        dbuf_printf(&path, plain ? ".%s" : "[\"%.100s\"]", key);
        JS_FreeCString(ctx, key);
    }
    JSValue text = dbuf_error(&path) ? JS_ThrowOutOfMemory(ctx)
                                     : JS_NewStringLen(ctx, (char *)path.buf, path.size);
    dbuf_free(&path);
    return text;
}

/* The place is noted at once: the keys on the way may be gone afterwards. */
static __attribute__((noinline)) int write_problem(JSONWriter *w, const char *problem, const char *hint) {
    if (w->manner == WRITE_TABLE && !w->problem) {
        w->place = write_place(w);
        w->problem = problem;
        w->hint = hint;
    }
    return -1;
}

static const char hex_digits[] = "0123456789abcdef";

static uint8_t *put_unit_escape(uint8_t *to, uint32_t unit) {
    *to++ = '\\';
    *to++ = 'u';
    for (int shift = 12; shift >= 0; shift -= 4)
        *to++ = hex_digits[unit >> shift & 15];
    return to;
}

/* a character below 0x80 */
JSON_INLINE uint8_t *put_ascii(uint8_t *to, uint32_t c) {
    if (c >= 0x20 && c != '"' && c != '\\') {
        *to++ = c;
        return to;
    }
    switch (c) {
    case '"': case '\\': break;
    case '\b': c = 'b'; break;
    case '\t': c = 't'; break;
    case '\n': c = 'n'; break;
    case '\f': c = 'f'; break;
    case '\r': c = 'r'; break;
    default: return put_unit_escape(to, c);
    }
    *to++ = '\\';
    *to++ = c;
    return to;
}

static JSON_SIMD uint8_t *put_latin1(uint8_t *to, const uint8_t *from, const uint8_t *end) {
    const v128_t quote = wasm_i8x16_const_splat('"'), slash = wasm_i8x16_const_splat('\\'),
                 space = wasm_i8x16_const_splat(0x20);
    while (from < end) {
        if (end - from >= 16) {
            v128_t bytes = wasm_v128_load(from);
            /* signed: bytes from 0x80 on are below the space too */
            v128_t special = wasm_v128_or(
                wasm_v128_or(wasm_i8x16_eq(bytes, quote), wasm_i8x16_eq(bytes, slash)),
                wasm_i8x16_lt(bytes, space));
            if (!wasm_v128_any_true(special)) {
                wasm_v128_store(to, bytes);
                to += 16;
                from += 16;
                continue;
            }
        }
        uint8_t c = *from++;
        if (c < 0x80) {
            to = put_ascii(to, c);
        } else {
            *to++ = 0xc0 | c >> 6;
            *to++ = 0x80 | (c & 63);
        }
    }
    return to;
}

static uint8_t *put_utf16(uint8_t *to, const uint16_t *from, const uint16_t *end) {
    while (from < end) {
        uint32_t c = *from++;
        if (c < 0x80) {
            to = put_ascii(to, c);
        } else if (c < 0x800) {
            *to++ = 0xc0 | c >> 6;
            *to++ = 0x80 | (c & 63);
        } else if (c < 0xd800 || c >= 0xe000) {
            *to++ = 0xe0 | c >> 12;
            *to++ = 0x80 | (c >> 6 & 63);
            *to++ = 0x80 | (c & 63);
        } else if (c < 0xdc00 && from < end && *from >= 0xdc00 && *from < 0xe000) {
            c = 0x10000 + ((c - 0xd800) << 10) + (*from++ - 0xdc00);
            *to++ = 0xf0 | c >> 18;
            *to++ = 0x80 | (c >> 12 & 63);
            *to++ = 0x80 | (c >> 6 & 63);
            *to++ = 0x80 | (c & 63);
        } else {
            to = put_unit_escape(to, c); /* a lone surrogate */
        }
    }
    return to;
}

JSON_INLINE JSON_SIMD int write_string(JSONWriter *w, const JSString *s) {
    if (write_room(w, (size_t)s->len * 6 + 2))
        return -1;
    uint8_t *to = w->out + w->size;
    *to++ = '"';
    to = s->is_wide_char ? put_utf16(to, s->u.str16, s->u.str16 + s->len)
                         : put_latin1(to, s->u.str8, s->u.str8 + s->len);
    *to++ = '"';
    w->size = to - w->out;
    return 0;
}

static JSON_SIMD int write_string_value(JSONWriter *w, JSValueConst value) {
    if (JS_VALUE_GET_TAG(value) == JS_TAG_STRING)
        return write_string(w, JS_VALUE_GET_STRING(value));
    JSValue flat = JS_ToString(w->ctx, value); /* a rope */
    if (JS_IsException(flat))
        return -1;
    int r = write_string(w, JS_VALUE_GET_STRING(flat));
    JS_FreeValue(w->ctx, flat);
    return r;
}

static int write_int(JSONWriter *w, int32_t value) {
    char digits[12];
    int i = sizeof(digits);
    uint32_t rest = value < 0 ? -(uint32_t)value : (uint32_t)value;
    do {
        digits[--i] = '0' + rest % 10;
        rest /= 10;
    } while (rest);
    if (value < 0)
        digits[--i] = '-';
    return write_text(w, digits + i, sizeof(digits) - i);
}

static int write_double(JSONWriter *w, double value) {
    if (!isfinite(value)) {
        if (w->manner == WRITE_PLAIN)
            return write_text(w, "null", 4);
        return write_problem(w, isnan(value) ? "is NaN" : "is Infinity",
                             "JSON has no such number: use null or a string");
    }
    JSDTOATempMem temporary;
    if (write_room(w, 40))
        return -1;
    w->size += js_dtoa((char *)w->out + w->size, value, 10, 0,
                       w->manner == WRITE_PLAIN ? JS_DTOA_FORMAT_FREE : JS_DTOA_FORMAT_FREE | JS_DTOA_MINUS_ZERO, &temporary);
    return 0;
}

/* Goes one level down into object. The caller fills in the steps. */
JSON_INLINE int write_enter(JSONWriter *w, JSObject *object) {
    if (w->depth >= WRITE_MAX_DEPTH)
        return write_problem(w, "is nested deeper than 900 levels", "return something flatter");
    for (int i = w->depth - 1; i >= 0; i--)
        if (w->steps[i].object == object)
            return write_problem(w, "closes a cycle", "return the data without the reference back");
    w->steps[w->depth].object = object;
    w->depth++;
    return 0;
}

static int write_special(JSONWriter *w, JSValueConst value);

/* values JSON.stringify leaves out of an object */
JSON_INLINE int is_left_out(JSValueConst value) {
    return JS_IsUndefined(value);
}

static JSON_SIMD int write_fast_array(JSONWriter *w, JSObject *array) {
    if (write_enter(w, array) || write_byte(w, '['))
        return -1;
    WriteStep *step = &w->steps[w->depth - 1];
    step->key = JS_ATOM_NULL;
    /* toJSON and getters may shrink the array while it is written */
    for (uint32_t i = 0; i < array->u.array.count; i++) {
        JSValue item = array->u.array.u.values[i];
        step->index = i;
        if (i && write_byte(w, ','))
            return -1;
        if (is_left_out(item)) {
            if (write_text(w, "null", 4))
                return -1;
            continue;
        }
        JS_DupValue(w->ctx, item);
        int r = write_value(w, item);
        JS_FreeValue(w->ctx, item);
        if (r)
            return -1;
    }
    w->depth--;
    return write_byte(w, ']');
}

/* An object whose properties can be read from its shape in order. -2: it has a
   property that cannot; nothing was written then. */
static JSON_SIMD int write_fast_object(JSONWriter *w, JSObject *object) {
    JSRuntime *rt = w->ctx->rt;
    JSShape *shape = js_dup_shape(object->shape);
    JSShapeProperty *properties = get_shape_prop(shape);
    int first = 1, result = -1;

    for (uint32_t i = 0; i < shape->prop_count; i++) {
        JSAtom key = properties[i].atom;
        if (key == JS_ATOM_NULL || !(properties[i].flags & JS_PROP_ENUMERABLE))
            continue;
        if ((properties[i].flags & JS_PROP_TMASK) || __JS_AtomIsTaggedInt(key)) {
            js_free_shape(rt, shape);
            return -2;
        }
    }
    if (write_enter(w, object) || write_byte(w, '{'))
        goto done;
    for (uint32_t i = 0; i < shape->prop_count; i++) {
        JSAtom key = properties[i].atom;
        if (key == JS_ATOM_NULL || !(properties[i].flags & JS_PROP_ENUMERABLE))
            continue;
        JSAtomStruct *name = rt->atom_array[key];
        if (name->atom_type != JS_ATOM_TYPE_STRING)
            continue;
        if (object->shape != shape) {
            /* code that ran for an earlier property changed the object */
            write_problem(w, "changed while it was written", NULL);
            goto done;
        }
        JSValue value = object->prop[i].u.value;
        if (is_left_out(value))
            continue;
        if (!first && write_byte(w, ','))
            goto done;
        first = 0;
        w->steps[w->depth - 1].key = key;
        if (write_string(w, name) || write_byte(w, ':'))
            goto done;
        JS_DupValue(w->ctx, value);
        int r = write_value(w, value);
        JS_FreeValue(w->ctx, value);
        if (r)
            goto done;
    }
    w->depth--;
    result = write_byte(w, '}');
done:
    js_free_shape(rt, shape);
    return result;
}

static JSON_SIMD int write_object(JSONWriter *w, JSValueConst value) {
    JSContext *ctx = w->ctx;
    JSObject *o = JS_VALUE_GET_OBJ(value);

    if (js_check_stack_overflow(ctx->rt, 0))
        return write_problem(w, "is nested too deeply", NULL);
    if (o->class_id == JS_CLASS_ARRAY && o->fast_array && o->shape == ctx->array_shape &&
        JS_VALUE_GET_TAG(o->prop[0].u.value) == JS_TAG_INT &&
        (uint32_t)JS_VALUE_GET_INT(o->prop[0].u.value) == o->u.array.count)
        return write_fast_array(w, o);
    if (o->class_id == JS_CLASS_OBJECT && !o->is_exotic &&
        o->shape->proto == JS_VALUE_GET_OBJ(ctx->class_proto[JS_CLASS_OBJECT]) &&
        !o->shape->has_small_array_index &&
        (w->manner == WRITE_PLAIN || !find_own_property1(o, JS_ATOM_toJSON))) {
        int r = write_fast_object(w, o);
        if (r != -2)
            return r;
    }
    return w->manner == WRITE_PLAIN ? -1 : write_special(w, value);
}

static JSON_SIMD int write_value(JSONWriter *w, JSValueConst value) {
    switch (JS_VALUE_GET_NORM_TAG(value)) {
    case JS_TAG_INT:
        return write_int(w, JS_VALUE_GET_INT(value));
    case JS_TAG_BOOL:
        return JS_VALUE_GET_BOOL(value) ? write_text(w, "true", 4) : write_text(w, "false", 5);
    case JS_TAG_NULL:
        return write_text(w, "null", 4);
    case JS_TAG_FLOAT64:
        return write_double(w, JS_VALUE_GET_FLOAT64(value));
    case JS_TAG_STRING:
        return write_string(w, JS_VALUE_GET_STRING(value));
    case JS_TAG_OBJECT:
        return write_object(w, value);
    }
    return w->manner == WRITE_PLAIN ? -1 : write_special(w, value);
}

/* TRUE if the prototypes of objects and arrays have no toJSON */
static BOOL has_plain_prototypes(JSContext *ctx) {
    return !find_own_property1(JS_VALUE_GET_OBJ(ctx->class_proto[JS_CLASS_OBJECT]), JS_ATOM_toJSON) &&
           !find_own_property1(JS_VALUE_GET_OBJ(ctx->class_proto[JS_CLASS_ARRAY]), JS_ATOM_toJSON);
}

static JSONWriter *new_json_writer(JSContext *ctx, WriteManner manner, const char *root) {
    JSONWriter *w = js_malloc(ctx, sizeof(*w));
    if (!w)
        return NULL;
    memset(w, 0, offsetof(JSONWriter, steps));
    w->ctx = ctx;
    w->manner = manner;
    w->root = root;
    w->problem = w->hint = NULL;
    w->place = JS_UNDEFINED;
    return w;
}

static void free_json_writer(JSONWriter *w) {
    if (w) {
        JS_FreeValue(w->ctx, w->place);
        js_free(w->ctx, w->out);
        js_free(w->ctx, w);
    }
}
