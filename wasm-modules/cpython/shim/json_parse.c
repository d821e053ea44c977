/* JSON text into objects. The grammar is that of json.loads with its defaults,
 * but for NaN and the infinities, which are left to it, as every error is. */
#include "abi.h"
#include "json_shape.h"
#include "json_scan.h"
#include "pycore_unicodeobject.h"

#define CACHE_BITS 9    /* short strings remembered per document */
#define CACHED_STRING 24
#define CACHE_FROM 1024 /* documents below this size do without */

struct parser {
    const uint8_t *at, *end, *start;
    const char *error;
    struct shape_tree shapes;
    PyObject **stack; /* finished values of the containers that are open */
    uint32_t top, room;
    uint8_t *scratch; /* a string without its escapes */
    uint32_t scratch_room;
    PyObject **cache;
    int depth, levels;
};

static JSON_SIMD PyObject *parse_value(struct parser *p);

static JSON_COLD int stack_grow(struct parser *p)
{
    uint32_t room = p->room ? p->room * 2 : 256;
    PyObject **stack = PyMem_Realloc(p->stack, room * sizeof *stack);
    if (!stack) {
        PyErr_NoMemory();
        return -1;
    }
    p->stack = stack;
    p->room = room;
    return 0;
}

/* Takes the reference, also on failure. */
JSON_INLINE int push(struct parser *p, PyObject *value)
{
    if (__builtin_expect(p->top == p->room, 0) && stack_grow(p)) {
        Py_DECREF(value);
        return -1;
    }
    p->stack[p->top++] = value;
    return 0;
}

static void drop_to(struct parser *p, uint32_t base)
{
    while (p->top > base)
        Py_DECREF(p->stack[--p->top]);
}

/* ---- strings ---- */

JSON_INLINE PyObject *new_ascii(const uint8_t *s, uint32_t n)
{
    if (n <= 1)
        return PyUnicode_FromKindAndData(PyUnicode_1BYTE_KIND, s, n);
    PyObject *o = PyUnicode_New(n, 127);
    if (o)
        copy_short((uint8_t *)((PyASCIIObject *)o + 1), s, n);
    return o;
}

JSON_INLINE PyObject *ascii_string(struct parser *p, const uint8_t *s, uint32_t n)
{
    if (n <= 1 || n > CACHED_STRING || !p->cache)
        return new_ascii(s, n);
    uint64_t h = n >= 8   ? load8(s) ^ (load8(s + n - 8) * 31)
                 : n >= 4 ? load4(s) | (uint64_t)load4(s + n - 4) << 32
                          : s[0] | s[n >> 1] << 8 | s[n - 1] << 16;
    h = (h ^ n) * 0x9E3779B97F4A7C15ull;
    PyObject **slot = &p->cache[h >> (64 - CACHE_BITS)], *known = *slot;
    if (known && PyUnicode_GET_LENGTH(known) == (Py_ssize_t)n &&
        equal_short(s, (uint8_t *)((PyASCIIObject *)known + 1), n))
        return Py_NewRef(known);
    PyObject *o = new_ascii(s, n);
    if (o)
        Py_XSETREF(*slot, Py_NewRef(o));
    return o;
}

JSON_INLINE PyObject *any_string(struct parser *p, const uint8_t *s, uint32_t n, uint32_t wide)
{
    return wide ? PyUnicode_DecodeUTF8((const char *)s, n, "surrogatepass") : ascii_string(p, s, n);
}

static JSON_COLD int scratch_grow(struct parser *p, uint32_t need)
{
    uint8_t *b = PyMem_Realloc(p->scratch, need * 2);
    if (!b) {
        PyErr_NoMemory();
        return -1;
    }
    p->scratch = b;
    p->scratch_room = need * 2;
    return 0;
}

static uint8_t *put_utf8(uint8_t *to, uint32_t c)
{
    if (c < 0x80) {
        *to++ = c;
        return to;
    }
    if (c < 0x800) {
        *to++ = 0xc0 | c >> 6;
    } else {
        if (c < 0x10000) {
            *to++ = 0xe0 | c >> 12;
        } else {
            *to++ = 0xf0 | c >> 18;
            *to++ = 0x80 | (c >> 12 & 63);
        }
        *to++ = 0x80 | (c >> 6 & 63);
    }
    *to++ = 0x80 | (c & 63);
    return to;
}

/* A string with escapes, from just behind its quote, into the scratch buffer. */
static JSON_COLD JSON_SIMD int unescape(struct parser *p, const uint8_t *at, uint32_t *size, uint32_t *wide)
{
    static const uint8_t plain[128] = {['"'] = '"', ['\\'] = '\\', ['/'] = '/', ['b'] = 8,
                                       ['f'] = 12,  ['n'] = 10,    ['r'] = 13,  ['t'] = 9};
    uint32_t n = 0;
    for (;;) {
        const uint8_t *stop = scan_plain(at, wide);
        uint32_t run = (uint32_t)(stop - at);
        if (n + run + 8 > p->scratch_room && scratch_grow(p, n + run + 8))
            return -1;
        copy_short(p->scratch + n, at, run);
        n += run;
        if (stop >= p->end || (*stop != '"' && *stop != '\\')) {
            p->error = "a string that does not end or has a control character in it";
            return -1;
        }
        if (*stop == '"') {
            p->at = stop + 1;
            *size = n;
            return 0;
        }
        uint8_t c = stop[1];
        if (c != 'u') {
            if (c >= 128 || !plain[c]) {
                p->error = "an unknown escape";
                return -1;
            }
            p->scratch[n++] = plain[c];
            at = stop + 2;
            continue;
        }
        int unit = scan_hex4(stop + 2);
        if (unit < 0) {
            p->error = "a \\u escape without four digits";
            return -1;
        }
        at = stop + 6;
        if (unit >= 0xd800 && unit < 0xdc00 && at[0] == '\\' && at[1] == 'u') {
            int low = scan_hex4(at + 2);
            if (low >= 0xdc00 && low < 0xe000) {
                unit = 0x10000 + ((unit - 0xd800) << 10) + (low - 0xdc00);
                at += 6;
            }
        }
        *wide |= unit >= 0x80;
        n = (uint32_t)(put_utf8(p->scratch + n, unit) - p->scratch);
    }
}

JSON_INLINE JSON_SIMD PyObject *parse_string(struct parser *p, const uint8_t *at)
{
    uint32_t wide = 0, size;
    const uint8_t *stop = scan_plain(at, &wide);
    if (__builtin_expect(stop < p->end && *stop == '"', 1)) {
        p->at = stop + 1;
        return any_string(p, at, (uint32_t)(stop - at), wide);
    }
    if (stop >= p->end) {
        p->error = "a string that does not end";
        return NULL;
    }
    wide = 0;
    if (unescape(p, at, &size, &wide))
        return NULL;
    return any_string(p, p->scratch, size, wide);
}

/* ---- containers ---- */

/* The child of a node that the key at this place follows; it moves to the front. */
JSON_INLINE struct shape_node *known_key(struct parser *p, struct shape_node *node, const uint8_t *key)
{
    struct shape_node *child = node->child, *before = NULL;
    for (; child; before = child, child = child->next)
        if ((uint32_t)(p->end - key) > child->raw_size && key[child->raw_size] == '"' &&
            equal_short(key, child->raw, child->raw_size))
            break;
    if (child && before) {
        before->next = child->next;
        child->next = node->child;
        node->child = child;
    }
    return child;
}

static JSON_SIMD PyObject *parse_object(struct parser *p)
{
    uint32_t base = p->top;
    struct shape_node *node = &p->shapes.nodes[0];
    PyObject *dict = NULL; /* set once the object left the shapes */
    p->at = skip_space(p->at);
    if (*p->at == '}') {
        p->at++;
        return PyDict_New();
    }
    for (;;) {
        PyObject *key = NULL;
        p->at = skip_space(p->at);
        if (*p->at != '"') {
            p->error = "a key must be a string";
            goto fail;
        }
        const uint8_t *raw = p->at + 1;
        struct shape_node *child = dict ? NULL : known_key(p, node, raw);
        if (child) {
            node = child;
            p->at = raw + child->raw_size + 1;
        } else {
            key = parse_string(p, raw);
            if (!key)
                goto fail;
            if (!dict) {
                uint32_t size = (uint32_t)(p->at - 1 - raw);
                int escaped = memchr(raw, '\\', size) != NULL;
                if (!escaped) {
                    PyUnicode_InternInPlace(&key);
                    child = shape_add(&p->shapes, node, raw, size, key);
                }
                if (child) {
                    node = child;
                    key = NULL;
                } else {
                    dict = shape_dict(node, p->stack + base);
                    if (!dict) {
                        Py_DECREF(key);
                        goto fail;
                    }
                    p->top = base;
                }
            }
        }
        p->at = skip_space(p->at);
        if (*p->at != ':') {
            p->error = "a key without a colon";
            Py_XDECREF(key);
            goto fail;
        }
        p->at++;
        PyObject *value = parse_value(p);
        if (!value) {
            Py_XDECREF(key);
            goto fail;
        }
        if (dict) {
            int failed = PyDict_SetItem(dict, key, value);
            Py_DECREF(key);
            Py_DECREF(value);
            if (failed)
                goto fail;
        } else if (push(p, value)) {
            goto fail;
        }
        p->at = skip_space(p->at);
        if (*p->at == ',') {
            p->at++;
        } else if (*p->at == '}') {
            p->at++;
            break;
        } else {
            p->error = "an object needs a comma or its end here";
            goto fail;
        }
    }
    if (dict)
        return dict;
    dict = shape_dict(node, p->stack + base);
    if (!dict)
        goto fail;
    p->top = base;
    return dict;
fail:
    drop_to(p, base);
    Py_XDECREF(dict);
    return NULL;
}

static JSON_SIMD PyObject *parse_array(struct parser *p)
{
    uint32_t base = p->top;
    p->at = skip_space(p->at);
    if (*p->at == ']') {
        p->at++;
        return PyList_New(0);
    }
    for (;;) {
        PyObject *value = parse_value(p);
        if (!value || push(p, value))
            goto fail;
        p->at = skip_space(p->at);
        if (*p->at == ',') {
            p->at++;
        } else if (*p->at == ']') {
            p->at++;
            break;
        } else {
            p->error = "an array needs a comma or its end here";
            goto fail;
        }
    }
    uint32_t count = p->top - base;
    PyObject *list = PyList_New(count);
    if (!list)
        goto fail;
    memcpy(((PyListObject *)list)->ob_item, p->stack + base, count * sizeof *p->stack);
    p->top = base;
    return list;
fail:
    drop_to(p, base);
    return NULL;
}

/* ---- values ---- */

static JSON_COLD PyObject *long_integer(const uint8_t *from, const uint8_t *to)
{
    PyObject *text = PyUnicode_FromKindAndData(PyUnicode_1BYTE_KIND, from, to - from), *v = NULL;
    if (text)
        v = PyLong_FromUnicodeObject(text, 10);
    Py_XDECREF(text);
    return v;
}

static JSON_COLD PyObject *long_float(const uint8_t *from)
{
    char *stop;
    double d = PyOS_string_to_double((const char *)from, &stop, NULL);
    return d == -1.0 && PyErr_Occurred() ? NULL : PyFloat_FromDouble(d);
}

JSON_INLINE PyObject *parse_number(struct parser *p, const uint8_t *at)
{
    Number number = scan_number(at);
    p->at = number.end;
    switch (number.kind) {
    case NUMBER_NEGATIVE_ZERO:
        return PyLong_FromLong(0);
    case NUMBER_INTEGER:
        return number.integer == (int32_t)number.integer ? PyLong_FromLong((long)number.integer)
                                                         : PyLong_FromLongLong(number.integer);
    case NUMBER_DOUBLE:
        return PyFloat_FromDouble(number.real);
    case NUMBER_LONG_INTEGER:
        return long_integer(at, number.end);
    case NUMBER_LONG_DOUBLE:
        return long_float(at);
    default:
        p->error = "an invalid number";
        return NULL;
    }
}

static JSON_SIMD PyObject *parse_value(struct parser *p)
{
    p->at = skip_space(p->at);
    const uint8_t *at = p->at;
    switch (*at) {
    case '"':
        return parse_string(p, at + 1);
    case '{':
    case '[': {
        if (p->depth == p->levels) {
            PyErr_SetString(PyExc_RecursionError, "JSON nested too deep");
            return NULL;
        }
        p->depth++;
        p->at = at + 1;
        PyObject *v = *at == '{' ? parse_object(p) : parse_array(p);
        p->depth--;
        return v;
    }
    case '-': case '0': case '1': case '2': case '3': case '4': case '5': case '6': case '7': case '8': case '9':
        return parse_number(p, at);
    case 't':
        if (memcmp(at, "true", 4) == 0) {
            p->at = at + 4;
            return Py_True;
        }
        break;
    case 'f':
        if (memcmp(at, "false", 5) == 0) {
            p->at = at + 5;
            return Py_False;
        }
        break;
    case 'n':
        if (memcmp(at, "null", 4) == 0) {
            p->at = at + 4;
            return Py_None;
        }
        break;
    }
    p->error = at >= p->end ? "the end where a value should be" : "no value";
    return NULL;
}

PyObject *json_parse(const uint8_t *text, size_t size, int levels, size_t *error_at)
{
    struct parser parser = {.at = text, .start = text, .end = text + size, .levels = levels}, *p = &parser;
    PyObject *cache[1 << CACHE_BITS], *value = NULL;
    int cached = size > CACHE_FROM;
    if (shape_tree_open(&p->shapes, size))
        return NULL;
    if (cached) {
        memset(cache, 0, sizeof cache);
        p->cache = cache;
    }
    value = parse_value(p);
    if (value) {
        p->at = skip_space(p->at);
        if (p->at != p->end) {
            p->error = "text after the value";
            Py_CLEAR(value);
        }
    }
    shape_tree_close(&p->shapes);
    for (int i = 0; cached && i < 1 << CACHE_BITS; i++)
        Py_XDECREF(cache[i]);
    PyMem_Free(p->stack);
    PyMem_Free(p->scratch);
    if (!value) {
        if (error_at)
            *error_at = (size_t)(p->at - p->start);
        if (!PyErr_Occurred())
            PyErr_Format(PyExc_ValueError, "JSON has %s at byte %zd", p->error ? p->error : "a fault",
                         (Py_ssize_t)(p->at - p->start));
    }
    return value;
}
