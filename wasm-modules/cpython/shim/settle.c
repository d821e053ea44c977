/* Prepares the image: what every run does first is done once, and
 * what a run writes to lies together.
 *
 * A page of the image that is written to has to be copied first, which takes a
 * microsecond or two, and a run of `1+1` used to write to 250 pages: counts of
 * references, code that adapts itself, and objects in holes all over the heap. */
#include "abi.h"
#include "hooks.h"
#include "pycore_dict.h"
#include "pycore_gc.h"
#include "pycore_global_objects.h"
#include "pycore_interp.h"
#include "pycore_object.h"
#include "pycore_pystate.h"

int _PyObject_BeginArena(void); /* patches/arena.patch */

/* Runs the programs of prelude.warm. */
static int warm_up(void)
{
    PyObject *module = PyImport_ImportModule("prelude.warm");
    PyObject *documents = module ? PyObject_CallMethod(module, "documents", NULL) : NULL, *one;
    int failed = !documents;
    while (!failed && (one = PyIter_Next(documents))) {
        warm_input = one;
        run_program();
        failed = last_outcome == OUTCOME_ERROR;
        Py_DECREF(one);
    }
    warm_input = NULL;
    Py_XDECREF(documents);
    PyObject *done = failed || PyErr_Occurred() ? NULL : PyObject_CallMethod(module, "forget", NULL);
    Py_XDECREF(done);
    Py_XDECREF(module);
    return done ? 0 : -1;
}

static int keep(PyObject *o, void *unused);

static void keep_code(PyCodeObject *code)
{
    PyObject *parts[] = {code->co_consts, code->co_names, code->co_exceptiontable, code->co_localsplusnames,
                         code->co_localspluskinds, code->co_filename, code->co_name, code->co_qualname,
                         code->co_linetable};
    for (size_t i = 0; i < Py_ARRAY_LENGTH(parts); i++)
        if (parts[i])
            keep(parts[i], NULL);
}

/* Makes an object immortal, which is what the interpreter calls an object whose
 * references are not counted, and objects in it that the collector does not
 * know. */
static int keep(PyObject *o, void *unused)
{
    if (_Py_IsImmortal(o))
        return 0;
    Py_SET_REFCNT(o, _Py_IMMORTAL_REFCNT);
    if (PyUnicode_CheckExact(o)) {
        if (PyUnicode_CHECK_INTERNED(o))
            ((PyASCIIObject *)o)->state.interned = SSTATE_INTERNED_IMMORTAL;
    } else if (PyCode_Check(o)) {
        keep_code((PyCodeObject *)o);
    } else if (Py_TYPE(o)->tp_traverse && !(PyObject_IS_GC(o) && _PyObject_GC_IS_TRACKED(o))) {
        Py_TYPE(o)->tp_traverse(o, keep, NULL);
    }
    return 0;
}

static void keep_all(PyInterpreterState *interp)
{
    PyGC_Head *head = &interp->gc.permanent_generation.head;
    for (PyGC_Head *at = _PyGCHead_NEXT(head); at != head; at = _PyGCHead_NEXT(at)) {
        PyObject *o = _Py_FROM_GC(at);
        keep(o, NULL);
        Py_TYPE(o)->tp_traverse(o, keep, NULL);
        if (PyType_Check(o) && PyType_HasFeature((PyTypeObject *)o, Py_TPFLAGS_HEAPTYPE)) {
            PyDictKeysObject *keys = ((PyHeapTypeObject *)o)->ht_cached_keys;
            if (keys)
                keys->dk_refcnt = _Py_IMMORTAL_REFCNT;
        }
    }
    PyObject *interned = _Py_INTERP_CACHED_OBJECT(interp, interned_strings), *text, *same;
    Py_ssize_t at = 0;
    while (PyDict_Next(interned, &at, &text, &same))
        keep(text, NULL);
}

#define HEAP_END (256 << 10) /* what malloc has left at its end */
#define HOLE 512             /* what is not larger comes from pools */

/* Takes every hole of malloc's that a run could get, so that it gets what lies
 * at the end. The holes stay empty. */
static int fill_holes(void)
{
    uint8_t *end = malloc(HEAP_END), *p;
    if (!end)
        return -1;
    free(end);
    for (size_t size = HEAP_END / 2; size > HOLE; size -= 16) {
        while ((p = malloc(size)) && p < end)
            memset(p, 0, size);
        if (!p)
            return -1;
        free(p);
    }
    return 0;
}

/* A new arena with a pool for every size, each with an object that stays: a pool
 * whose only object comes and goes would be set up and given back each time. */
static int begin_arena(void)
{
    if (_PyObject_BeginArena())
        return -1;
    for (size_t size = 16; size <= HOLE; size += 16)
        if (!PyObject_Malloc(size))
            return -1;
    return 0;
}

/* Ends the counting of references to what there is. */
static void keep_objects(void)
{
    PyGC_Collect();
    PyGC_Collect(); /* also empties the lists of free objects */
    PyInterpreterState *interp = _PyInterpreterState_GET();
    _PyGC_Freeze(interp);
    keep_all(interp);
}

int settle(void)
{
    if (warm_up())
        return -1;
    keep_objects();
    return fill_holes() || begin_arena() ? -1 : 0;
}

/* Makes what is in memory an image: who starts from it does not write to what it
 * only reads, and what it writes lies together. */
WEXEC_EXPORT("guest_keep") int32_t guest_keep(void)
{
    keep_objects();
    return begin_arena() ? 1 : 0;
}
