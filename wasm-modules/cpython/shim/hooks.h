/* Functions of the prelude that the shim calls. */
#pragma once
#include <Python.h>

extern struct hooks {
    PyObject *natural;  /* (object, root) -> what the JSON writer takes */
    PyObject *failure;  /* (error answer) -> exception */
    PyObject *content;  /* (content items) -> the same with bytes */
    PyObject *prepare;  /* () -> (code, globals), or None where the run is over */
    PyObject *complete; /* (result of the code) -> None; hands over the outcome */
    PyObject *failed;   /* (exception) -> None; hands over the outcome */
    PyObject *given;    /* coroutine function that returns its argument */
    PyObject *flush_name, *args_name;
} hooks;

/* host.c: the input document while the image is made, and the kind of the last
 * outcome. */
extern PyObject *warm_input;
extern int last_outcome;

void run_program(void); /* main.c */
int settle(void);       /* settle.c: -1 where the image cannot be made */
