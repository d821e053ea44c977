/* The two exports of the guest: guest_init, run once by the baker, and
 * guest_run, which runs one program. */
#include "abi.h"
#include "hooks.h"
#include <stdio.h>

#define LIBRARY L"/lib/python313.zip"
#define HASH_SEED 20260101 /* the image holds hashed tables, so the seed is part of it */

static int report_start(PyStatus status)
{
    if (!PyStatus_Exception(status))
        return 0;
    fprintf(stderr, "python does not start: %s: %s\n", status.func ? status.func : "?",
            status.err_msg ? status.err_msg : "?");
    return -1;
}

static int start_interpreter(void)
{
    PyPreConfig before;
    PyPreConfig_InitIsolatedConfig(&before);
    before.utf8_mode = 1;
    if (report_start(Py_PreInitialize(&before)))
        return -1;
    PyConfig config;
    PyConfig_InitIsolatedConfig(&config);
    config.site_import = 0;
    config.write_bytecode = 0;
    config.install_signal_handlers = 0;
    config.use_hash_seed = 1;
    config.hash_seed = HASH_SEED;
    config.pathconfig_warnings = 0;
    config.parse_argv = 0;
    config.module_search_paths_set = 1;
    PyConfig_SetString(&config, &config.program_name, L"python");
    PyConfig_SetString(&config, &config.executable, L"");
    PyConfig_SetString(&config, &config.home, L"/usr/local");
    PyConfig_SetString(&config, &config.prefix, L"/usr/local");
    PyConfig_SetString(&config, &config.exec_prefix, L"/usr/local");
    PyConfig_SetString(&config, &config.base_prefix, L"/usr/local");
    PyConfig_SetString(&config, &config.base_exec_prefix, L"/usr/local");
    PyWideStringList_Append(&config.module_search_paths, LIBRARY);
    PyStatus status = Py_InitializeFromConfig(&config);
    PyConfig_Clear(&config);
    return report_start(status);
}

/* The folder /prelude is a package; its module "bake" prepares everything that
 * the image should hold. The folder above it is not mounted, so the package is
 * made by hand. */
static const char load_prelude[] = "import sys\n"
                                   "prelude = type(sys)('prelude')\n"
                                   "prelude.__path__ = ['/prelude']\n"
                                   "sys.modules['prelude'] = prelude\n"
                                   "import prelude.bake\n"
                                   "del prelude\n";

WEXEC_EXPORT("guest_init") int32_t guest_init(void)
{
    if (PyImport_AppendInittab("_wexec", PyInit__wexec) || start_interpreter())
        return 1;
    if (PyRun_SimpleString(load_prelude))
        return 2;
    int r = !hooks.prepare ? 3 : settle() ? 4 : 0;
    if (PyErr_Occurred())
        PyErr_Print();
    fflush(stdout);
    fflush(stderr);
    return r;
}

/* The outcome if reporting failed, most likely because memory is exhausted. */
static void finish_bare(void)
{
    PyObject *e = PyErr_GetRaisedException();
    char text[256];
    int n = snprintf(text, sizeof text,
                     "{\"code\":\"guest.exception\",\"name\":\"%.80s\",\"message\":\"no more could be said about it\"}",
                     e ? Py_TYPE(e)->tp_name : "Exception");
    wexec_finish(OUTCOME_ERROR, text, n < (int)sizeof text ? (uint32_t)n : (uint32_t)sizeof text - 1);
    Py_XDECREF(e);
}

void run_program(void)
{
    PyObject *prepared = PyObject_CallNoArgs(hooks.prepare), *done = NULL, *result = NULL;
    if (prepared == Py_None)
        return;
    if (prepared && PyTuple_CheckExact(prepared) && PyTuple_GET_SIZE(prepared) == 2) {
        PyObject *globals = PyTuple_GET_ITEM(prepared, 1);
        result = PyEval_EvalCode(PyTuple_GET_ITEM(prepared, 0), globals, globals);
    }
    if (result)
        done = PyObject_CallOneArg(hooks.complete, result);
    if (!done) {
        PyObject *e = PyErr_GetRaisedException();
        if (e)
            done = PyObject_CallOneArg(hooks.failed, e);
        Py_XDECREF(e);
    }
    if (!done)
        finish_bare();
    Py_XDECREF(done);
    Py_XDECREF(result);
    Py_XDECREF(prepared);
}

WEXEC_EXPORT("guest_run") int32_t guest_run(void)
{
    run_program();
    return 0;
}
