/* Objects into JSON text. Only exact builtin types are written here; any other
 * type makes the attempt fail, and the slow path runs. No Python code
 * runs meanwhile, so nothing can change under the writer. */
#include "abi.h"
#include "json_scan.h"
#include <math.h>
#include "pycore_dtoa.h"
#include "pycore_unicodeobject.h"

#define EXACT_INT 9007199254740991ll /* 2^53 - 1 */

struct writer {
    struct json_text *out;
    const struct json_style *style;
    uint32_t comma_size, colon_size;
    int depth, depth_limit;
    PyObject **open; /* the containers around the current one */
    int open_room;
};

static JSON_COLD int grow(struct json_text *t, uint32_t more)
{
    if (more > (1u << 30) || t->size > (1u << 30))
        return -1;
    uint32_t room = (t->size + more) * 2;
    uint8_t *b = PyMem_Realloc(t->bytes, room);
    if (!b)
        return -1;
    t->bytes = b;
    t->room = room;
    return 0;
}

JSON_INLINE int need(struct json_text *t, uint32_t more)
{
    return __builtin_expect(t->size + more > t->room, 0) ? grow(t, more) : 0;
}

JSON_INLINE int put(struct json_text *t, const char *s, uint32_t n)
{
    if (need(t, n))
        return -1;
    memcpy(t->bytes + t->size, s, n);
    t->size += n;
    return 0;
}

static const char hex[] = "0123456789abcdef";

JSON_INLINE uint8_t *put_unit(uint8_t *o, uint32_t unit)
{
    *o++ = '\\';
    *o++ = 'u';
    *o++ = hex[unit >> 12 & 15];
    *o++ = hex[unit >> 8 & 15];
    *o++ = hex[unit >> 4 & 15];
    *o++ = hex[unit & 15];
    return o;
}

/* One character of a string; at most twelve bytes. Like json.dumps, ASCII text
 * has DEL escaped and UTF-8 text has it as it is. */
static uint8_t *put_character(uint8_t *o, uint32_t c, int utf8)
{
    static const char letter[32] = {[8] = 'b', [9] = 't', [10] = 'n', [12] = 'f', [13] = 'r'};
    if (c < 0x80) {
        if (c == '"' || c == '\\') {
            *o++ = '\\';
            *o++ = c;
        } else if (c >= 0x20 && (c != 0x7f || utf8)) {
            *o++ = c;
        } else if (c < 0x20 && letter[c]) {
            *o++ = '\\';
            *o++ = letter[c];
        } else {
            o = put_unit(o, c);
        }
        return o;
    }
    if (!utf8 || (c >= 0xd800 && c < 0xe000)) {
        if (c < 0x10000)
            return put_unit(o, c);
        o = put_unit(o, 0xd800 | (c - 0x10000) >> 10);
        return put_unit(o, 0xdc00 | ((c - 0x10000) & 0x3ff));
    }
    if (c < 0x800) {
        *o++ = 0xc0 | c >> 6;
    } else {
        if (c < 0x10000) {
            *o++ = 0xe0 | c >> 12;
        } else {
            *o++ = 0xf0 | c >> 18;
            *o++ = 0x80 | (c >> 12 & 63);
        }
        *o++ = 0x80 | (c >> 6 & 63);
    }
    *o++ = 0x80 | (c & 63);
    return o;
}

JSON_INLINE JSON_SIMD int write_string(struct writer *w, PyObject *s)
{
    struct json_text *t = w->out;
    uint32_t n = (uint32_t)PyUnicode_GET_LENGTH(s), i = 0;
    int kind = PyUnicode_KIND(s), ascii = PyUnicode_IS_ASCII(s);
    const uint8_t *data = PyUnicode_DATA(s);
    if (need(t, n + 16))
        return -1;
    t->bytes[t->size++] = '"';
    while (i < n) {
        if (need(t, ascii ? n - i + 32 : 32))
            return -1;
        if (ascii && n - i >= 16) {
            v128_t v = wasm_v128_load(data + i);
            v128_t stops = wasm_v128_or(plain_ends(v), wasm_i8x16_eq(v, wasm_i8x16_const_splat(0x7f)));
            if (!wasm_v128_any_true(stops)) {
                wasm_v128_store(t->bytes + t->size, v);
                t->size += 16;
                i += 16;
                continue;
            }
        }
        uint32_t c = PyUnicode_READ(kind, data, i);
        if (c >= 0xd800 && c < 0xe000 && w->style->utf8 && !w->style->values)
            return -1; /* json.dumps keeps a lone surrogate */
        uint8_t *o = put_character(t->bytes + t->size, c, w->style->utf8);
        t->size = (uint32_t)(o - t->bytes);
        i++;
    }
    return put(t, "\"", 1);
}

static int write_integer(struct writer *w, PyObject *v)
{
    int overflow;
    long long x = PyLong_AsLongLongAndOverflow(v, &overflow);
    if (overflow)
        return -1;
    int quoted = w->style->values && (x > EXACT_INT || x < -EXACT_INT);
    char text[24];
    int i = sizeof text;
    unsigned long long u = x < 0 ? -(unsigned long long)x : (unsigned long long)x;
    for (; u >> 32; u /= 10)
        text[--i] = '0' + u % 10;
    uint32_t q = (uint32_t)u;
    do
        text[--i] = '0' + q % 10;
    while (q /= 10);
    if (x < 0)
        text[--i] = '-';
    if (quoted && put(w->out, "\"", 1))
        return -1;
    if (put(w->out, text + i, sizeof text - i))
        return -1;
    return quoted ? put(w->out, "\"", 1) : 0;
}

static int write_float(struct writer *w, PyObject *v)
{
    double d = PyFloat_AS_DOUBLE(v);
    if (!isfinite(d))
        return -1;
    char *text = PyOS_double_to_string(d, 'r', 0, Py_DTSF_ADD_DOT_0, NULL);
    if (!text) {
        PyErr_Clear();
        return -1;
    }
    int failed = put(w->out, text, (uint32_t)strlen(text));
    PyMem_Free(text);
    return failed;
}

/* A number as JavaScript writes it, so that both languages give the same text. */
static int write_value_float(struct writer *w, PyObject *v)
{
    double d = PyFloat_AS_DOUBLE(v);
    if (!isfinite(d))
        return -1;
    char text[32];
    int point, negative, size = 0;
    char *end, *digits = _Py_dg_dtoa(d, 0, 0, &point, &negative, &end);
    if (!digits)
        return -1;
    int count = (int)(end - digits);
    if (negative)
        text[size++] = '-';
    if (point > 21 || point < -5) { /* 1.5e+21 */
        size += snprintf(text + size, sizeof text - size, "%c%s%se%+d", digits[0], count > 1 ? "." : "", digits + 1, point - 1);
    } else {
        if (point <= 0)
            size += snprintf(text + size, sizeof text - size, "0.%.*s", -point, "00000");
        for (int i = 0; i < count || i < point; i++) {
            if (i == point && point > 0)
                text[size++] = '.';
            text[size++] = i < count ? digits[i] : '0';
        }
    }
    _Py_dg_freedtoa(digits);
    return put(w->out, text, (uint32_t)size);
}

static int write_break(struct writer *w)
{
    if (w->style->indent < 0)
        return 0;
    uint32_t n = 1 + (uint32_t)w->depth * w->style->indent;
    if (need(w->out, n))
        return -1;
    uint8_t *o = w->out->bytes + w->out->size;
    memset(o, ' ', n);
    o[0] = '\n';
    w->out->size += n;
    return 0;
}

/* Opens a container unless it is too deep or already open around this place. */
static int enter(struct writer *w, PyObject *v)
{
    for (int i = 0; i < w->depth; i++)
        if (w->open[i] == v)
            return -1;
    if (w->depth == w->depth_limit)
        return -1;
    if (w->depth == w->open_room) {
        int room = w->open_room ? w->open_room * 2 : 64;
        PyObject **open = PyMem_Realloc(w->open, room * sizeof *open);
        if (!open)
            return -1;
        w->open = open;
        w->open_room = room;
    }
    w->open[w->depth++] = v;
    return 0;
}

static int put_empty(struct writer *w, const char *brackets)
{
    return w->depth == w->depth_limit ? -1 : put(w->out, brackets, 2);
}

static JSON_SIMD int write_value(struct writer *w, PyObject *v);

static JSON_SIMD int write_items(struct writer *w, PyObject *v)
{
    Py_ssize_t n = PySequence_Fast_GET_SIZE(v);
    PyObject **items = PySequence_Fast_ITEMS(v);
    if (!n)
        return put_empty(w, "[]");
    if (enter(w, v) || put(w->out, "[", 1))
        return -1;
    for (Py_ssize_t i = 0; i < n; i++) {
        if (i && put(w->out, w->style->comma, w->comma_size))
            return -1;
        if (write_break(w) || write_value(w, items[i]))
            return -1;
    }
    w->depth--;
    return write_break(w) || put(w->out, "]", 1) ? -1 : 0;
}

static JSON_SIMD int write_dict(struct writer *w, PyObject *v)
{
    Py_ssize_t at = 0;
    PyObject *key, *value;
    int first = 1;
    if (!PyDict_GET_SIZE(v))
        return put_empty(w, "{}");
    if (enter(w, v) || put(w->out, "{", 1))
        return -1;
    while (PyDict_Next(v, &at, &key, &value)) {
        if (!PyUnicode_CheckExact(key))
            return -1;
        if (!first && put(w->out, w->style->comma, w->comma_size))
            return -1;
        first = 0;
        if (write_break(w) || write_string(w, key) || put(w->out, w->style->colon, w->colon_size) || write_value(w, value))
            return -1;
    }
    w->depth--;
    return write_break(w) || put(w->out, "}", 1) ? -1 : 0;
}

static JSON_SIMD int write_value(struct writer *w, PyObject *v)
{
    PyTypeObject *type = Py_TYPE(v);
    if (type == &PyUnicode_Type)
        return write_string(w, v);
    if (v == Py_None)
        return put(w->out, "null", 4);
    if (v == Py_True)
        return put(w->out, "true", 4);
    if (v == Py_False)
        return put(w->out, "false", 5);
    if (type == &PyLong_Type)
        return write_integer(w, v);
    if (type == &PyFloat_Type)
        return w->style->values ? write_value_float(w, v) : write_float(w, v);
    if (type == &PyDict_Type)
        return write_dict(w, v);
    if (type == &PyList_Type || type == &PyTuple_Type)
        return write_items(w, v);
    return -1;
}

int json_write(struct json_text *out, PyObject *value, const struct json_style *style)
{
    struct writer w = {.out = out,
                       .style = style,
                       .comma_size = (uint32_t)strlen(style->comma),
                       .colon_size = (uint32_t)strlen(style->colon),
                       .depth_limit = style->values ? JSON_VALUE_DEPTH : JSON_DEPTH};
    int failed = write_value(&w, value);
    PyMem_Free(w.open);
    return failed;
}
