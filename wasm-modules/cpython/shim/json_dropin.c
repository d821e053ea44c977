/* json.loads and json.dumps of the program. The fast result is used only
 * where it succeeded and the call used the defaults; everything else, and every
 * error, is the original function's. */
#include "abi.h"
#include "pycore_gc.h"
#include "pycore_pystate.h"
#include "pycore_unicodeobject.h"

#define OLD_FROM 65536 /* a document this big makes objects that stay */

static PyObject *original_loads, *original_dumps;

/* Objects of a big document are alive: hand them to the oldest generation
 * instead of scanning each of them again. */
static void age_young_objects(void)
{
    struct _gc_runtime_state *gc = &_PyInterpreterState_GET()->gc;
    PyGC_Head *to = &gc->generations[2].head;
    for (int i = 0; i < 2; i++) {
        PyGC_Head *from = &gc->generations[i].head;
        PyGC_Head *first = (PyGC_Head *)from->_gc_next;
        if (first != from) {
            PyGC_Head *last = (PyGC_Head *)from->_gc_prev, *tail = (PyGC_Head *)to->_gc_prev;
            _PyGCHead_SET_NEXT(tail, first);
            _PyGCHead_SET_PREV(first, tail);
            _PyGCHead_SET_NEXT(last, to);
            to->_gc_prev = (uintptr_t)last;
            from->_gc_next = (uintptr_t)from;
            from->_gc_prev = (uintptr_t)from;
        }
        gc->generations[i].count = 0;
    }
}

/* json_parse with garbage collection disabled. */
PyObject *json_parse_held(const uint8_t *text, size_t size, int levels)
{
    int on = PyGC_Disable();
    PyObject *v = json_parse(text, size, levels, NULL);
    if (v && size >= OLD_FROM)
        age_young_objects();
    if (on)
        PyGC_Enable();
    return v;
}

static int within_memory(const void *at, size_t size)
{
    size_t end = (size_t)__builtin_wasm_memory_size(0) << 16;
    return (uintptr_t)at + size + JSON_SLACK <= end || end == 0;
}

/* Whether every keyword has its default, None. */
static int only_defaults(PyObject *const *args, Py_ssize_t count, PyObject *names)
{
    Py_ssize_t n = names ? PyTuple_GET_SIZE(names) : 0;
    for (Py_ssize_t i = 0; i < n; i++)
        if (args[count + i] != Py_None)
            return 0;
    return 1;
}

static PyObject *fast_loads(PyObject *source)
{
    const char *text = NULL;
    Py_ssize_t size = 0;
    if (PyUnicode_CheckExact(source)) {
        if (PyUnicode_IS_COMPACT_ASCII(source)) {
            text = (const char *)((PyASCIIObject *)source + 1);
            size = PyUnicode_GET_LENGTH(source);
        } else {
            text = PyUnicode_AsUTF8AndSize(source, &size);
        }
    } else if (PyBytes_CheckExact(source)) {
        text = PyBytes_AS_STRING(source);
        size = PyBytes_GET_SIZE(source);
        if (size < 4 || memchr(text, 0, 4))
            return NULL; /* may be UTF-16 or UTF-32 */
    }
    return text && within_memory(text, size) ? json_parse_held((const uint8_t *)text, size, JSON_DEPTH) : NULL;
}

static PyObject *dropin_loads(PyObject *self, PyObject *const *args, Py_ssize_t count, PyObject *names)
{
    if (count == 1 && only_defaults(args, count, names)) {
        PyObject *v = fast_loads(args[0]);
        if (v)
            return v;
        PyErr_Clear();
    }
    /* An answer that a program takes for text is its value. */
    if (count == 1 && !names && (PyDict_CheckExact(args[0]) || PyList_CheckExact(args[0])) && in_program())
        return Py_NewRef(args[0]);
    return PyObject_Vectorcall(original_loads, args, count, names);
}

/* Reads the keywords that the writer knows; 0 if there is any other. */
static int read_style(struct json_style *style, PyObject *const *values, PyObject *names)
{
    Py_ssize_t n = names ? PyTuple_GET_SIZE(names) : 0;
    for (Py_ssize_t i = 0; i < n; i++) {
        PyObject *name = PyTuple_GET_ITEM(names, i), *v = values[i];
        if (PyUnicode_EqualToUTF8(name, "indent")) {
            if (v == Py_None)
                continue;
            int overflow;
            long indent = PyLong_CheckExact(v) ? PyLong_AsLongAndOverflow(v, &overflow) : -1;
            if (indent < 0 || indent > 64)
                return 0;
            style->indent = (int)indent;
            style->comma = ",";
        } else if (PyUnicode_EqualToUTF8(name, "ensure_ascii")) {
            if (v != Py_True && v != Py_False)
                return 0;
            style->utf8 = v == Py_False;
        } else if (PyUnicode_EqualToUTF8(name, "default") || PyUnicode_EqualToUTF8(name, "cls")) {
            if (v != Py_None && !PyUnicode_EqualToUTF8(name, "default"))
                return 0; /* default is called only for what the writer rejects */
        } else {
            return 0;
        }
    }
    return 1;
}

static PyObject *dropin_dumps(PyObject *self, PyObject *const *args, Py_ssize_t count, PyObject *names)
{
    struct json_style style = {.indent = -1, .comma = ", ", .colon = ": "};
    if (count == 1 && read_style(&style, args + count, names)) {
        struct json_text text = {0};
        PyObject *v = NULL;
        if (!json_write(&text, args[0], &style)) {
            if (style.utf8) {
                v = PyUnicode_DecodeUTF8((char *)text.bytes, text.size, NULL);
            } else if ((v = PyUnicode_New(text.size, 127)) && text.size) {
                memcpy(PyUnicode_1BYTE_DATA(v), text.bytes, text.size);
            }
        }
        PyMem_Free(text.bytes);
        if (v)
            return v;
        PyErr_Clear();
    }
    return PyObject_Vectorcall(original_dumps, args, count, names);
}

static PyObject *keep_originals(PyObject *self, PyObject *args)
{
    PyObject *loads, *dumps;
    if (!PyArg_ParseTuple(args, "OO", &loads, &dumps))
        return NULL;
    Py_XSETREF(original_loads, Py_NewRef(loads));
    Py_XSETREF(original_dumps, Py_NewRef(dumps));
    Py_RETURN_NONE;
}

PyMethodDef json_methods[] = {
    {"loads", (PyCFunction)(void (*)(void))dropin_loads, METH_FASTCALL | METH_KEYWORDS, "json.loads"},
    {"dumps", (PyCFunction)(void (*)(void))dropin_dumps, METH_FASTCALL | METH_KEYWORDS, "json.dumps"},
    {"json_originals", keep_originals, METH_VARARGS, "the functions that decide where the fast ones do not"},
    {0},
};
