/* JSON text into JavaScript values. See JSON.md for the layout. */
#pragma once
#include "json_shapes.h"

#define JSON_MAX_DEPTH 4000
#define SHORT_STRING 24       /* strings up to here are looked up before they are made */
#define SHORT_STRING_SLOTS 512 /* a power of two */
#define SHORT_STRINGS_FROM 1024 /* bytes of a document from which the lookup pays */

typedef struct {
    JSContext *ctx;
    const uint8_t *at, *start, *end;
    JSValue *stack; /* values of incomplete containers */
    uint32_t stack_size, stack_capacity;
    uint8_t *scratch; /* strings without their escapes */
    uint32_t scratch_capacity;
    JSString **short_strings; /* NULL: not used */
    Shapes shapes;
    KeyNode *root; /* where the next object begins in the trie of shapes */
    int depth;
    const char *error;
} JSONParser;

static JSON_SIMD JSValue parse_value(JSONParser *p);

/* Errors are worded as V8 words them; these two are told apart by address. */
static const char UNEXPECTED_TOKEN[] = "Unexpected token";
static const char TOO_DEEP[] = "Nested too deeply";

/* why the number at `at` is invalid, and where */
static const char *json_bad_number(const uint8_t *at, const uint8_t **where) {
    const uint8_t *p = at + (*at == '-');
    *where = p;
    if (!is_decimal(*p))
        return "No number after minus sign";
    if (*p == '0' && is_decimal(p[1])) {
        *where = p + 1;
        return "Unexpected number";
    }
    while (is_decimal(*p))
        p++;
    if (*p == '.') {
        p++;
        *where = p;
        if (!is_decimal(*p))
            return "Unterminated fractional number";
        while (is_decimal(*p))
            p++;
    }
    if ((*p | 0x20) == 'e') {
        p++;
        p += *p == '+' || *p == '-';
    }
    *where = p;
    return "Exponent part is missing a number";
}

/* Throws the SyntaxError for the byte at which the parser stopped. */
static void json_throw(JSONParser *p) {
    size_t size = p->end - p->start, offset = p->at - p->start;
    if (p->error == UNEXPECTED_TOKEN && offset >= size) {
        JS_ThrowSyntaxError(p->ctx, "Unexpected end of JSON input");
        return;
    }
    if (p->error != UNEXPECTED_TOKEN) {
        JS_ThrowSyntaxError(p->ctx, strstr(p->error, "JSON") ? "%s at position %d" : "%s in JSON at position %d",
                            p->error, (int)offset);
        return;
    }
    /* at most ten bytes before and after, and whole characters */
    size_t from = size <= 40 || offset < 10 ? 0 : offset - 10, to = size <= 40 || offset + 10 > size ? size : offset + 10;
    size_t next = offset + 1;
    while (from > 0 && (p->start[from] & 0xc0) == 0x80)
        from--;
    while (to < size && (p->start[to] & 0xc0) == 0x80)
        to++;
    while (next < size && (p->start[next] & 0xc0) == 0x80)
        next++;
    JS_ThrowSyntaxError(p->ctx, "Unexpected token '%.*s', %s\"%.*s\"%s is not valid JSON", (int)(next - offset),
                        p->start + offset, from > 0 ? "..." : "", (int)(to - from), p->start + from,
                        to < size ? "..." : "");
}

JSON_INLINE int parse_push(JSONParser *p, JSValue value) {
    if (__builtin_expect(p->stack_size == p->stack_capacity, 0)) {
        uint32_t capacity = p->stack_capacity ? p->stack_capacity * 2 : 256;
        JSValue *stack = js_realloc(p->ctx, p->stack, capacity * sizeof(JSValue));
        if (!stack) {
            JS_FreeValue(p->ctx, value);
            return -1;
        }
        p->stack = stack;
        p->stack_capacity = capacity;
    }
    p->stack[p->stack_size++] = value;
    return 0;
}

static void parse_drop_to(JSONParser *p, uint32_t size) {
    while (p->stack_size > size)
        JS_FreeValue(p->ctx, p->stack[--p->stack_size]);
}

JSON_INLINE uint32_t short_string_slot(const uint8_t *text, uint32_t size) {
    uint64_t h;
    if (size >= 8)
        h = load8(text) ^ (load8(text + size - 8) * 31);
    else if (size >= 4)
        h = load4(text) | (uint64_t)load4(text + size - 4) << 32;
    else
        h = text[0] | text[size >> 1] << 8 | text[size - 1] << 16;
    h = (h ^ size) * 0x9E3779B97F4A7C15ull;
    return h >> 32 & (SHORT_STRING_SLOTS - 1);
}

JSON_INLINE JSValue parse_ascii(JSONParser *p, const uint8_t *text, uint32_t size) {
    JSString **slot = NULL;
    if (size == 0)
        return JS_AtomToString(p->ctx, JS_ATOM_empty_string);
    if (size <= SHORT_STRING && p->short_strings) {
        slot = &p->short_strings[short_string_slot(text, size)];
        JSString *known = *slot;
        if (known && known->len == size && equal_short(text, known->u.str8, size)) {
            known->header.ref_count++;
            return JS_MKPTR(JS_TAG_STRING, known);
        }
    }
    JSString *string = js_alloc_string(p->ctx, size, 0);
    if (!string)
        return JS_EXCEPTION;
    copy_short(string->u.str8, text, size);
    string->u.str8[size] = 0;
    if (slot) {
        if (*slot)
            JS_FreeValue(p->ctx, JS_MKPTR(JS_TAG_STRING, *slot));
        string->header.ref_count++;
        *slot = string;
    }
    return JS_MKPTR(JS_TAG_STRING, string);
}

static int put_utf8(uint8_t *to, int unit) {
    if (unit < 0x80) {
        to[0] = unit;
        return 1;
    }
    if (unit < 0x800) {
        to[0] = 0xc0 | unit >> 6;
        to[1] = 0x80 | (unit & 63);
        return 2;
    }
    to[0] = 0xe0 | unit >> 12;
    to[1] = 0x80 | (unit >> 6 & 63);
    to[2] = 0x80 | (unit & 63);
    return 3;
}

/* The string that begins at text, past its quote, into p->scratch without its
   escapes. Surrogates become three bytes each, which QuickJS's decoder puts
   together again. */
static __attribute__((noinline)) JSON_SIMD int parse_escaped(JSONParser *p, const uint8_t *text,
                                                             uint32_t *size, uint32_t *wide) {
    uint32_t n = 0;
    *wide = 0;
    for (;;) {
        const uint8_t *stop = scan_plain(text, wide);
        uint32_t run = stop - text;
        if (stop > p->end) {
            p->error = "Unterminated string";
            p->at = p->end;
            return -1;
        }
        if (n + run + 8 > p->scratch_capacity) {
            uint32_t capacity = (n + run + 8) * 2;
            uint8_t *scratch = js_realloc(p->ctx, p->scratch, capacity);
            if (!scratch)
                return -1;
            p->scratch = scratch;
            p->scratch_capacity = capacity;
        }
        copy_short(p->scratch + n, text, run);
        n += run;
        if (*stop == '"' && stop < p->end) {
            p->at = stop + 1;
            *size = n;
            return 0;
        }
        if (*stop != '\\' || stop >= p->end) {
            p->error = stop >= p->end ? "Unterminated string" : "Bad control character in string literal";
            p->at = stop;
            return -1;
        }
        text = stop + 2;
        switch (stop[1]) {
        case '"': case '\\': case '/': p->scratch[n++] = stop[1]; break;
        case 'b': p->scratch[n++] = '\b'; break;
        case 'f': p->scratch[n++] = '\f'; break;
        case 'n': p->scratch[n++] = '\n'; break;
        case 'r': p->scratch[n++] = '\r'; break;
        case 't': p->scratch[n++] = '\t'; break;
        case 'u': {
            int unit = scan_hex4(stop + 2);
            if (unit < 0) {
                p->error = "Bad Unicode escape";
                p->at = stop + 2;
                return -1;
            }
            *wide |= unit >= 0x80;
            n += put_utf8(p->scratch + n, unit);
            text = stop + 6;
            break;
        }
        default:
            p->error = "Bad escaped character";
            p->at = stop + 1;
            return -1;
        }
    }
}

JSON_INLINE JSON_SIMD JSValue parse_string(JSONParser *p, const uint8_t *text) {
    uint32_t wide = 0, size;
    const uint8_t *stop = scan_plain(text, &wide);
    if (__builtin_expect(*stop == '"' && stop < p->end, 1)) {
        p->at = stop + 1;
        return wide ? JS_NewStringLen(p->ctx, (const char *)text, stop - text)
                    : parse_ascii(p, text, stop - text);
    }
    if (parse_escaped(p, text, &size, &wide))
        return JS_EXCEPTION;
    return wide ? JS_NewStringLen(p->ctx, (const char *)p->scratch, size)
                : parse_ascii(p, p->scratch, size);
}

/* The atom of the key at text. *plain is TRUE if the document spells the key
   without escapes, so that its bytes can stand for it. */
static JSON_SIMD JSAtom parse_key(JSONParser *p, const uint8_t *text, uint32_t *size, BOOL *plain) {
    uint32_t wide = 0;
    const uint8_t *stop = scan_plain(text, &wide);
    *plain = *stop == '"' && stop < p->end;
    if (*plain) {
        *size = stop - text;
        p->at = stop + 1;
        return JS_NewAtomLen(p->ctx, (const char *)text, *size);
    }
    if (parse_escaped(p, text, size, &wide))
        return JS_ATOM_NULL;
    return JS_NewAtomLen(p->ctx, (const char *)p->scratch, *size);
}

static JSON_SIMD JSValue parse_object(JSONParser *p) {
    JSContext *ctx = p->ctx;
    uint32_t base = p->stack_size;
    KeyNode *node = p->root;       /* NULL: the object left the trie */
    JSValue object = JS_UNDEFINED; /* then the object is here */

    p->root = p->shapes.nodes;

    p->at = skip_space(p->at);
    if (*p->at == '}') {
        p->at++;
        return shapes_object(ctx, node, NULL);
    }
    for (;;) {
        JSAtom key = JS_ATOM_NULL; /* used if node is NULL */

        p->at = skip_space(p->at);
        if (*p->at != '"') {
            p->error = p->stack_size > base || !node || node->parent ? "Expected double-quoted property name"
                                                                   : "Expected property name or '}'";
            goto fail;
        }
        const uint8_t *text = p->at + 1;
        KeyNode *next = node ? shapes_step(node, text, p->end) : NULL;
        if (next) {
            p->at = text + next->text_size + 1;
            node = next;
        } else {
            uint32_t size;
            BOOL plain;
            key = parse_key(p, text, &size, &plain);
            if (key == JS_ATOM_NULL)
                goto fail;
            if (node && plain && !__JS_AtomIsTaggedInt(key) &&
                (next = shapes_add(&p->shapes, node, key, text, size))) {
                node = next;
                key = JS_ATOM_NULL;
            } else if (node) {
                object = shapes_object(ctx, node, p->stack + base);
                if (JS_IsException(object)) {
                    JS_FreeAtom(ctx, key);
                    goto fail;
                }
                p->stack_size = base;
                node = NULL;
            }
        }

        p->at = skip_space(p->at);
        if (*p->at != ':') {
            p->error = "Expected ':' after property name";
            JS_FreeAtom(ctx, key);
            goto fail;
        }
        p->at++;
        JSValue value = parse_value(p);
        if (JS_IsException(value)) {
            JS_FreeAtom(ctx, key);
            goto fail;
        }
        if (node) {
            if (parse_push(p, value))
                goto fail;
        } else {
            int r = JS_DefinePropertyValue(ctx, object, key, value, JS_PROP_C_W_E);
            JS_FreeAtom(ctx, key);
            if (r < 0)
                goto fail;
        }

        p->at = skip_space(p->at);
        if (*p->at == ',') {
            p->at++;
            continue;
        }
        if (*p->at == '}') {
            p->at++;
            break;
        }
        p->error = "Expected ',' or '}' after property value";
        goto fail;
    }
    if (!node)
        return object;
    object = shapes_object(ctx, node, p->stack + base);
    if (JS_IsException(object))
        goto fail;
    p->stack_size = base;
    return object;
fail:
    parse_drop_to(p, base);
    JS_FreeValue(ctx, object);
    return JS_EXCEPTION;
}

/* An array of the n values; it takes them over, except on failure. */
static JSValue new_array_of(JSContext *ctx, JSValue *values, uint32_t n) {
    JSValue array = JS_NewArray(ctx);
    if (JS_IsException(array) || n == 0)
        return array;
    JSValue *items = js_malloc(ctx, n * sizeof(JSValue));
    if (!items) {
        JS_FreeValue(ctx, array);
        return JS_EXCEPTION;
    }
    memcpy(items, values, n * sizeof(JSValue));
    JSObject *o = JS_VALUE_GET_OBJ(array);
    o->u.array.u.values = items;
    o->u.array.u1.size = n;
    o->u.array.count = n;
    o->prop[0].u.value = JS_NewInt32(ctx, n); /* length */
    return array;
}

static JSON_SIMD JSValue parse_array(JSONParser *p) {
    uint32_t base = p->stack_size;

    p->at = skip_space(p->at);
    if (*p->at == ']') {
        p->at++;
        return JS_NewArray(p->ctx);
    }
    for (;;) {
        JSValue value = parse_value(p);
        if (JS_IsException(value) || parse_push(p, value))
            goto fail;
        p->at = skip_space(p->at);
        if (*p->at == ',') {
            p->at++;
            continue;
        }
        if (*p->at == ']') {
            p->at++;
            break;
        }
        p->error = "Expected ',' or ']' after array element";
        goto fail;
    }
    JSValue array = new_array_of(p->ctx, p->stack + base, p->stack_size - base);
    if (JS_IsException(array))
        goto fail;
    p->stack_size = base;
    return array;
fail:
    parse_drop_to(p, base);
    return JS_EXCEPTION;
}

static JSON_SIMD JSValue parse_value(JSONParser *p) {
    const uint8_t *at = p->at = skip_space(p->at);
    switch (*at) {
    case '"':
        return parse_string(p, at + 1);
    case '{': case '[': {
        if (p->depth >= JSON_MAX_DEPTH || js_check_stack_overflow(p->ctx->rt, 0)) {
            p->error = TOO_DEEP;
            return JS_EXCEPTION;
        }
        p->depth++;
        p->at = at + 1;
        JSValue value = *at == '{' ? parse_object(p) : parse_array(p);
        p->depth--;
        return value;
    }
    case '-': case '0': case '1': case '2': case '3': case '4':
    case '5': case '6': case '7': case '8': case '9': {
        Number n = scan_number(at);
        switch (n.kind) {
        case NUMBER_BAD:
            p->error = json_bad_number(at, &p->at);
            return JS_EXCEPTION;
        case NUMBER_INTEGER:
            p->at = n.end;
            return n.integer == (int32_t)n.integer ? JS_NewInt32(p->ctx, n.integer)
                                                   : __JS_NewFloat64(p->ctx, (double)n.integer);
        case NUMBER_NEGATIVE_ZERO:
            p->at = n.end;
            return __JS_NewFloat64(p->ctx, -0.0);
        case NUMBER_DOUBLE:
            p->at = n.end;
            return JS_NewFloat64(p->ctx, n.real);
        case NUMBER_LONG_INTEGER: case NUMBER_LONG_DOUBLE:
            p->at = n.end;
            return js_atof(p->ctx, (const char *)at, NULL, 10, 0);
        }
        break;
    }
    case 't':
        if (!memcmp(at, "true", 4)) {
            p->at = at + 4;
            return JS_TRUE;
        }
        break;
    case 'f':
        if (!memcmp(at, "false", 5)) {
            p->at = at + 5;
            return JS_FALSE;
        }
        break;
    case 'n':
        if (!memcmp(at, "null", 4)) {
            p->at = at + 4;
            return JS_NULL;
        }
        break;
    }
    p->error = UNEXPECTED_TOKEN;
    return JS_EXCEPTION;
}

/* The value of size bytes of JSON with JSON_SLACK readable bytes behind them,
   the first of them zero. A SyntaxError, or whatever the interpreter throws
   where memory ends. *too_deep, where given, tells valid text that is nested
   deeper than `levels`, at most JSON_MAX_DEPTH. known, where given, are the shapes
   of the outermost object. */
static JSValue json_parse_deep(JSContext *ctx, const uint8_t *text, size_t size, int levels, BOOL *too_deep,
                               const Shapes *known) {
    JSONParser parser, *p = &parser;
    JSString *short_strings[SHORT_STRING_SLOTS];
    JSRuntime *rt = ctx->rt;

    memset(p, 0, sizeof(*p));
    p->ctx = ctx;
    p->at = p->start = text;
    p->end = text + size;
    p->depth = JSON_MAX_DEPTH - levels;
    if (size >= SHORT_STRINGS_FROM) {
        memset(short_strings, 0, sizeof(short_strings));
        p->short_strings = short_strings;
    }
    if (shapes_init(ctx, &p->shapes, size))
        return JS_EXCEPTION;
    p->root = known ? known->nodes : p->shapes.nodes;

    /* nothing of what is made here is garbage: let the collector wait, and
       judge by what comes later */
    size_t threshold = rt->malloc_gc_threshold, before = rt->malloc_state.malloc_size;
    rt->malloc_gc_threshold = -1;
    JSValue value = parse_value(p);
    if (!JS_IsException(value)) {
        p->at = skip_space(p->at);
        if (p->at != p->end) {
            JS_FreeValue(ctx, value);
            value = JS_EXCEPTION;
            p->error = "Unexpected non-whitespace character after JSON";
        }
    }
    shapes_free(ctx, &p->shapes);
    if (p->short_strings)
        for (int i = 0; i < SHORT_STRING_SLOTS; i++)
            if (short_strings[i])
                JS_FreeValue(ctx, JS_MKPTR(JS_TAG_STRING, short_strings[i]));
    js_free(ctx, p->stack);
    js_free(ctx, p->scratch);
    size_t after = rt->malloc_state.malloc_size;
    rt->malloc_gc_threshold = threshold + (after > before ? (after - before) * 3 / 2 : 0);
    if (too_deep)
        *too_deep = p->error == TOO_DEEP;
    if (JS_IsException(value) && p->error)
        json_throw(p);
    return value;
}
