/* The guest ABI as C sees it; wasm-modules/ABI.md is the contract. */
#pragma once

#define PY_SSIZE_T_CLEAN
#ifndef Py_BUILD_CORE
#define Py_BUILD_CORE 1
#endif
#include <Python.h>
#include <stdint.h>

#define WEXEC_IMPORT(name) __attribute__((import_module("wexec"), import_name(name)))
#define WEXEC_EXPORT(name) __attribute__((export_name(name), visibility("default"), used))

WEXEC_IMPORT("input_size") uint32_t wexec_input_size(void);
WEXEC_IMPORT("input_read") uint32_t wexec_input_read(void *to, uint32_t size);
WEXEC_IMPORT("call_start")
int64_t wexec_call_start(const void *name, uint32_t name_size, const void *args, uint32_t args_size);
WEXEC_IMPORT("call_wait") int64_t wexec_call_wait(int64_t id, int64_t timeout_ns);
WEXEC_IMPORT("answer_size") int64_t wexec_answer_size(int64_t id);
WEXEC_IMPORT("answer_read") uint32_t wexec_answer_read(int64_t id, void *to, uint32_t size);
WEXEC_IMPORT("call_cancel") void wexec_call_cancel(int64_t id);
WEXEC_IMPORT("finish") void wexec_finish(uint32_t kind, const void *at, uint32_t size);

enum answer_kind { ANSWER_JSON, ANSWER_ERROR, ANSWER_TEXT, ANSWER_CONTENT, ANSWER_BYTES };
enum outcome_kind { OUTCOME_VALUE, OUTCOME_ERROR, OUTCOME_NONE };

/* Readable bytes that must follow a buffer handed to the JSON parser. */
#define JSON_SLACK 32

#define JSON_DEPTH 1500      /* levels of nesting, in the input document and for json.loads */
#define JSON_VALUE_DEPTH 900 /* in arguments, answers and results */

/* json_parse.c: text of one document, followed by JSON_SLACK readable bytes of
 * which the first is zero. On failure an exception is set; position in *error_at. */
PyObject *json_parse(const uint8_t *text, size_t size, int levels, size_t *error_at);

/* json_write.c */
struct json_style {
    int utf8;          /* UTF-8 instead of \u escapes */
    int values;        /* guests/values.md: big integers as text, 2.0 as 2, 900 levels */
    int indent;        /* negative: one line */
    const char *comma; /* between items */
    const char *colon; /* between key and value */
};
struct json_text {
    uint8_t *bytes;
    uint32_t size, room;
};
/* Writes values of exact builtin types only. 0 on success, otherwise -1
 * with no exception set: the caller uses the slow path. */
int json_write(struct json_text *out, PyObject *value, const struct json_style *style);

/* json_dropin.c */
extern PyMethodDef json_methods[];
PyObject *json_parse_held(const uint8_t *text, size_t size, int levels);

/* program.c */
PyObject *program_compile(PyObject *module, PyObject *args);
int in_program(void); /* whether the code that runs is the program's own */

/* host.c */
PyMODINIT_FUNC PyInit__wexec(void);
