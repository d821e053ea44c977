/* The module _wexec: the host as the prelude sees it. */
#include "abi.h"
#include "hooks.h"

struct hooks hooks;
PyObject *warm_input;
int last_outcome;

int _PyRandom_Unseed(PyObject *random); /* patches/random.patch */

static const struct json_style value_style = {.utf8 = 1, .values = 1, .indent = -1, .comma = ",", .colon = ":"};

/* Output is flushed before the host makes the program wait. */
static int flush_output(void)
{
    PyObject *out = PySys_GetObject("stdout");
    if (!out || out == Py_None)
        return 0;
    PyObject *r = PyObject_CallMethodNoArgs(out, hooks.flush_name);
    Py_XDECREF(r);
    return r ? 0 : -1;
}

static PyObject *host_input(PyObject *self, PyObject *none)
{
    uint32_t size = warm_input ? (uint32_t)PyBytes_Size(warm_input) : wexec_input_size();
    uint8_t *b = PyMem_Malloc((size_t)size + JSON_SLACK);
    if (!b)
        return PyErr_NoMemory();
    uint32_t got = size;
    if (warm_input)
        memcpy(b, PyBytes_AsString(warm_input), size);
    else if ((got = wexec_input_read(b, size)) > size)
        got = size;
    memset(b + got, 0, JSON_SLACK);
    PyObject *v = json_parse_held(b, got, JSON_DEPTH);
    PyMem_Free(b);
    return v;
}

/* The arguments of a call as JSON: the fast writer where it can, else what
 * the prelude makes of them. */
static int write_arguments(struct json_text *text, PyObject *args)
{
    if (!json_write(text, args, &value_style))
        return 0;
    text->size = 0;
    PyObject *plain = PyObject_CallFunctionObjArgs(hooks.natural, args, hooks.args_name, NULL);
    if (!plain)
        return -1;
    int failed = json_write(text, plain, &value_style);
    Py_DECREF(plain);
    if (failed)
        PyErr_NoMemory();
    return failed;
}

static int64_t start_call(PyObject *name, PyObject *args)
{
    Py_ssize_t name_size;
    const char *name_text = PyUnicode_AsUTF8AndSize(name, &name_size);
    struct json_text text = {0};
    int64_t id = -1;
    if (name_text && !write_arguments(&text, args)) {
        id = wexec_call_start(name_text, (uint32_t)name_size, text.bytes, text.size);
        if (id <= 0) {
            PyErr_SetString(PyExc_RuntimeError, "the host started no call");
            id = -1;
        }
    }
    PyMem_Free(text.bytes);
    return id;
}

/* An arrived answer as an object, or as an exception. */
static PyObject *take_answer(int64_t id)
{
    int64_t packed = wexec_answer_size(id);
    if (packed < 0) {
        PyErr_SetString(PyExc_RuntimeError, "the host has no answer to this call");
        return NULL;
    }
    uint32_t size = (uint32_t)packed;
    int kind = (int)(packed >> 32);
    if (kind == ANSWER_BYTES) {
        PyObject *v = PyBytes_FromStringAndSize(NULL, size);
        if (v)
            wexec_answer_read(id, PyBytes_AS_STRING(v), size);
        return v;
    }
    if (size > UINT32_MAX - JSON_SLACK)
        return PyErr_NoMemory();
    uint8_t *b = PyMem_Malloc((size_t)size + JSON_SLACK);
    if (!b)
        return PyErr_NoMemory();
    uint32_t got = wexec_answer_read(id, b, size);
    if (got > size)
        got = size;
    memset(b + got, 0, JSON_SLACK);
    PyObject *v = kind == ANSWER_TEXT ? PyUnicode_DecodeUTF8((char *)b, got, "replace")
                                      : json_parse_held(b, got, JSON_VALUE_DEPTH);
    PyMem_Free(b);
    if (!v && PyErr_ExceptionMatches(PyExc_RecursionError)) {
        PyErr_Clear();
        v = Py_BuildValue("{ssss}", "code", "tool.failed", "message", "the answer is nested more than 900 levels deep");
        kind = ANSWER_ERROR;
    }
    if (v && (kind == ANSWER_ERROR || kind == ANSWER_CONTENT)) {
        PyObject *made = PyObject_CallOneArg(kind == ANSWER_ERROR ? hooks.failure : hooks.content, v);
        Py_SETREF(v, made);
        if (v && kind == ANSWER_ERROR) {
            PyErr_SetObject((PyObject *)Py_TYPE(v), v);
            Py_CLEAR(v);
        }
    }
    return v;
}

static PyObject *host_call(PyObject *self, PyObject *const *args, Py_ssize_t count)
{
    if (count != 2) {
        PyErr_SetString(PyExc_TypeError, "call(name, arguments)");
        return NULL;
    }
    if (flush_output())
        return NULL;
    int64_t id = start_call(args[0], args[1]);
    if (id < 0)
        return NULL;
    if (wexec_call_wait(id, -1) != id) {
        PyErr_SetString(PyExc_RuntimeError, "the host returned no answer");
        return NULL;
    }
    return take_answer(id);
}

static PyObject *host_start(PyObject *self, PyObject *const *args, Py_ssize_t count)
{
    if (count != 2) {
        PyErr_SetString(PyExc_TypeError, "start(name, arguments)");
        return NULL;
    }
    int64_t id = start_call(args[0], args[1]);
    return id < 0 ? NULL : PyLong_FromLongLong(id);
}

static PyObject *host_wait(PyObject *self, PyObject *const *args, Py_ssize_t count)
{
    if (count != 2) {
        PyErr_SetString(PyExc_TypeError, "wait(id, timeout_ns)");
        return NULL;
    }
    long long id = PyLong_AsLongLong(args[0]), timeout = PyLong_AsLongLong(args[1]);
    if (PyErr_Occurred() || (timeout && flush_output()))
        return NULL;
    return PyLong_FromLongLong(wexec_call_wait(id, timeout));
}

static PyObject *host_take(PyObject *self, PyObject *arg)
{
    long long id = PyLong_AsLongLong(arg);
    return PyErr_Occurred() ? NULL : take_answer(id);
}

static PyObject *host_cancel(PyObject *self, PyObject *arg)
{
    long long id = PyLong_AsLongLong(arg);
    if (PyErr_Occurred())
        return NULL;
    wexec_call_cancel(id);
    Py_RETURN_NONE;
}

/* finish(kind, value): False where the value is not plain JSON yet. */
static PyObject *host_finish(PyObject *self, PyObject *const *args, Py_ssize_t count)
{
    if (count != 2) {
        PyErr_SetString(PyExc_TypeError, "finish(kind, value)");
        return NULL;
    }
    long kind = PyLong_AsLong(args[0]);
    if (PyErr_Occurred())
        return NULL;
    last_outcome = (int)kind;
    if (kind == OUTCOME_NONE) {
        wexec_finish(OUTCOME_NONE, NULL, 0);
        Py_RETURN_TRUE;
    }
    struct json_text text = {0};
    int failed = json_write(&text, args[1], &value_style);
    if (!failed)
        wexec_finish((uint32_t)kind, text.bytes, text.size);
    PyMem_Free(text.bytes);
    return PyBool_FromLong(!failed);
}

/* unseed(generator): a random.Random that draws its seed when it is first used. */
static PyObject *host_unseed(PyObject *self, PyObject *generator)
{
    if (_PyRandom_Unseed(generator))
        return NULL;
    Py_RETURN_NONE;
}

/* In the program, an await of data gives the data: answers of blocking calls are
 * values already. What was most likely meant to be called stays an error. */
static PyObject *await_data(PyObject *value)
{
    if (PyCallable_Check(value) || PyIter_Check(value) || !in_program())
        return NULL;
    return PyObject_CallOneArg(hooks.given, value);
}

static PyObject *host_hooks(PyObject *self, PyObject *args)
{
    PyObject *natural, *failure, *content, *prepare, *complete, *failed, *stalled, *given;
    if (!PyArg_ParseTuple(args, "OOOOOOOO", &natural, &failure, &content, &prepare, &complete, &failed, &stalled, &given))
        return NULL;
    extern PyObject *(*_PyCoro_AwaitValue)(PyObject *);
    extern PyObject *_PyThread_StalledError;
    hooks.natural = Py_NewRef(natural);
    hooks.failure = Py_NewRef(failure);
    hooks.content = Py_NewRef(content);
    hooks.prepare = Py_NewRef(prepare);
    hooks.complete = Py_NewRef(complete);
    hooks.failed = Py_NewRef(failed);
    hooks.given = Py_NewRef(given);
    _PyCoro_AwaitValue = await_data;
    hooks.flush_name = PyUnicode_InternFromString("flush");
    hooks.args_name = PyUnicode_InternFromString("args");
    _PyThread_StalledError = Py_NewRef(stalled);
    Py_RETURN_NONE;
}

/* type_attribute(type, name, value), also for builtin types. */
static PyObject *host_type_attribute(PyObject *self, PyObject *args)
{
    PyTypeObject *type;
    PyObject *name, *value;
    if (!PyArg_ParseTuple(args, "O!UO", &PyType_Type, &type, &name, &value))
        return NULL;
    if (PyDict_SetItem(PyType_GetDict(type), name, value))
        return NULL;
    PyType_Modified(type);
    Py_RETURN_NONE;
}

static PyObject *original_open, *explain_missing;

/* open() as a builtin function, which is what io.open has to be: where a file is
 * missing, the prelude may have a better error than that. */
static PyObject *host_open(PyObject *self, PyObject *const *args, Py_ssize_t count, PyObject *names)
{
    PyObject *file = PyObject_Vectorcall(original_open, args, count, names);
    if (file || count < 1 || !PyErr_ExceptionMatches(PyExc_OSError))
        return file;
    PyObject *error = PyErr_GetRaisedException();
    PyObject *better = PyObject_CallFunctionObjArgs(explain_missing, args[0], error, NULL);
    if (!better) {
        PyErr_Clear();
        better = Py_NewRef(error);
    }
    PyErr_SetRaisedException(better);
    Py_DECREF(error);
    return NULL;
}

static PyMethodDef open_method = {"open", (PyCFunction)(void (*)(void))host_open, METH_FASTCALL | METH_KEYWORDS, NULL};

/* wrap_open(open, explain): the builtin around open; explain(file, error) gives the error to raise. */
static PyObject *host_wrap_open(PyObject *self, PyObject *args)
{
    PyObject *open, *explain;
    if (!PyArg_ParseTuple(args, "OO", &open, &explain))
        return NULL;
    Py_XSETREF(original_open, Py_NewRef(open));
    Py_XSETREF(explain_missing, Py_NewRef(explain));
    PyObject *module = PyUnicode_FromString("_io"), *doc = PyObject_GetAttrString(open, "__doc__");
    open_method.ml_doc = doc ? PyUnicode_AsUTF8(doc) : NULL; /* lives as long as open */
    PyObject *made = module ? PyCFunction_NewEx(&open_method, NULL, module) : NULL;
    Py_XDECREF(doc);
    Py_XDECREF(module);
    return made;
}

#define FAST(f) ((PyCFunction)(void (*)(void))(f))
static PyMethodDef host_methods[] = {
    {"input", host_input, METH_NOARGS, "the run's input document"},
    {"call", FAST(host_call), METH_FASTCALL, "a host call and its answer"},
    {"start", FAST(host_start), METH_FASTCALL, "starts a host call"},
    {"wait", FAST(host_wait), METH_FASTCALL, "waits for an answer"},
    {"take", host_take, METH_O, "an answer that has arrived"},
    {"cancel", host_cancel, METH_O, "gives up a call"},
    {"finish", FAST(host_finish), METH_FASTCALL, "hands over the outcome"},
    {"compile", program_compile, METH_VARARGS, "a program's code"},
    {"unseed", host_unseed, METH_O, "forgets the state of a generator of random numbers"},
    {"wrap_open", host_wrap_open, METH_VARARGS, "open() with better errors"},
    {"type_attribute", host_type_attribute, METH_VARARGS, "sets an attribute of any type"},
    {"hooks", host_hooks, METH_VARARGS, "what the prelude does for the shim"},
    {0},
};

static struct PyModuleDef host_module = {PyModuleDef_HEAD_INIT, "_wexec", NULL, -1, host_methods};

PyMODINIT_FUNC PyInit__wexec(void)
{
    PyObject *m = PyModule_Create(&host_module);
    if (m && PyModule_AddFunctions(m, json_methods))
        Py_CLEAR(m);
    return m;
}
