/* What the parts of the guest share: the runtime, the context, and the
   prelude's functions that C calls. */
#pragma once

/* functions of the prelude, in the order of hook_names */
typedef enum {
    HOOK_BEGIN,    /* (input): makes args, env, servers … before a program */
    HOOK_ERROR,    /* (answer): the exception for a failed host call */
    HOOK_CONTENT,  /* (list): a content list as the program gets it */
    HOOK_DESCRIBE, /* (exception, code, file, code text): an error outcome */
    HOOK_RESOLVE,  /* (name, base): the full name of an imported module */
    HOOK_LOAD,     /* (full name): [text, values] of a module */
    HOOK_META,     /* (import.meta, full name): fills in the import.meta of a module */
    HOOK_SERVER,   /* (name): the tools of a server */
    HOOK_REFERENCES, /* (rows): the tools that a checked program refers to */
    HOOK_COUNT
} Hook;

/* A place in the program: where a call was made. */
typedef struct {
    JSValue function; /* JS_UNDEFINED: nowhere */
    uint32_t offset;  /* in its bytecode */
} CallSite;

typedef struct {
    int64_t id;
    JSValue promise;
    CallSite site;
} PendingCall;

typedef struct {
    uint32_t id;
    int64_t due, interval; /* nanoseconds; interval < 0: once */
    BOOL keeps_alive;      /* FALSE: it does not keep the program running */
    JSValue function, arguments;
} Timer;

typedef struct {
    JSRuntime *rt;
    JSContext *ctx;
    JSValue hooks[HOOK_COUNT];
    PendingCall *calls;
    uint32_t call_count, call_capacity;
    Timer *timers; /* by due time, then by age */
    uint32_t timer_count, timer_capacity, last_timer;
    JSValue *unhandled; /* rejected promises without a handler */
    uint32_t unhandled_count, unhandled_capacity;
    BOOL limits_recursion, recursion_ended;
    JSValue main_promise;
    JSValueConst program;     /* the function of the program that runs */
    int64_t waited_at;        /* where it waited when the wait was dropped; -1: it was not */
    JSValue timer_prototype;  /* of what setTimeout gives */
    JSValue note_last;        /* native_note_last */
    BOOL exited;              /* process.exit ended the program */
    BOOL is_last;             /* the value is that of the last statement, which no `return` asked for */
} Guest;

static Guest guest;

static const char *const hook_names[HOOK_COUNT] = {"begin", "error", "content", "describe",
                                                   "resolve", "load", "meta", "server", "references"};

/* Grows an array by doubling; -1 and an exception if out of memory. */
static int grow_array(JSContext *ctx, void **array, uint32_t *capacity, uint32_t count, size_t item) {
    if (count < *capacity)
        return 0;
    uint32_t wanted = *capacity ? *capacity * 2 : 16;
    void *grown = js_realloc(ctx, *array, wanted * item);
    if (!grown)
        return -1;
    *array = grown;
    *capacity = wanted;
    return 0;
}
