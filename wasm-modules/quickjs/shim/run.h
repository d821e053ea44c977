/* One run: compile, start, turn the event loop, hand over the outcome. */
#pragma once
#include "input.h"
#include "natives.h"
#include "program.h"
#include "references.h"

/* ---- rejected promises without a handler ---- */

static void track_rejection(JSContext *ctx, JSValueConst promise, JSValueConst reason,
                            JS_BOOL is_handled, void *opaque) {
    if (!is_handled) {
        if (!grow_array(ctx, (void **)&guest.unhandled, &guest.unhandled_capacity,
                        guest.unhandled_count, sizeof(JSValue)))
            guest.unhandled[guest.unhandled_count++] = JS_DupValue(ctx, promise);
        return;
    }
    for (uint32_t i = 0; i < guest.unhandled_count; i++) {
        if (JS_VALUE_GET_PTR(guest.unhandled[i]) != JS_VALUE_GET_PTR(promise))
            continue;
        JS_FreeValue(ctx, guest.unhandled[i]);
        memmove(&guest.unhandled[i], &guest.unhandled[i + 1],
                (--guest.unhandled_count - i) * sizeof(JSValue));
        return;
    }
}

/* the reason of the first rejection nobody handled, JS_UNINITIALIZED if none */
static JSValue first_unhandled(JSContext *ctx) {
    for (uint32_t i = 0; i < guest.unhandled_count; i++)
        if (JS_VALUE_GET_PTR(guest.unhandled[i]) != JS_VALUE_GET_PTR(guest.main_promise))
            return JS_PromiseResult(ctx, guest.unhandled[i]);
    return JS_UNINITIALIZED;
}

/* ---- outcomes ---- */

static void finish_text(int kind, const char *text) {
    host_finish(kind, text, strlen(text));
}

static void finish_out_of_memory(void) {
    finish_text(OUTCOME_ERROR, "{\"code\":\"limit.memory\",\"message\":\"out of memory\"}");
}

/* The outcome for an exception, which is taken over. */
static void finish_exception(JSContext *ctx, JSValue exception, JSValueConst input) {
    if (guest.exited) {
        JS_FreeValue(ctx, exception);
        return;
    }
    if (guest.recursion_ended) {
        finish_text(OUTCOME_ERROR, "{\"code\":\"limit.recursion\",\"name\":\"RangeError\","
                                   "\"message\":\"the program exceeded its recursion limit\"}");
        return;
    }
    if (JS_IsNull(exception) && ctx->rt->malloc_state.malloc_size > ctx->rt->malloc_state.malloc_limit / 2) {
        finish_out_of_memory();
        return;
    }
    JSValueConst arguments[2] = {exception, input};
    JSValue outcome = call_hook(HOOK_DESCRIBE, 2, arguments);
    JS_FreeValue(ctx, exception);
    JSONWriter *w = JS_IsException(outcome) ? NULL : new_json_writer(ctx, WRITE_PLAIN, "");
    if (w && write_value(w, outcome) == 0)
        host_finish(OUTCOME_ERROR, w->out, w->size);
    else
        finish_text(OUTCOME_ERROR, "{\"code\":\"guest.exception\",\"name\":\"Error\","
                                   "\"message\":\"the program failed with an error that cannot be reported\"}");
    free_json_writer(w);
    if (JS_IsException(outcome))
        JS_FreeValue(ctx, JS_GetException(ctx));
    JS_FreeValue(ctx, outcome);
}

/* guest.stalled or guest.result: an exception that the prelude makes */
static void finish_fault(JSContext *ctx, const char *code, JSValue message, const char *hint,
                         JSValueConst input) {
    throw_fault(ctx, code, message, hint, JS_UNDEFINED);
    finish_exception(ctx, JS_GetException(ctx), input);
}

/* The last statement has a value without a JSON form: the program has none. A
   part without a form is named on standard error, since the rest is data. */
static void finish_without_form(JSContext *ctx, JSONWriter *w) {
    const char *place = JS_ToCString(ctx, w->place);
    if (place && strcmp(place, w->root)) {
        char text[600];
        int size = snprintf(text, sizeof(text), "the program has no value: %s %s\n", place, w->problem);
        output_put(&standard_error, text, size < sizeof(text) ? size : sizeof(text) - 1);
    }
    JS_FreeCString(ctx, place);
    host_finish(OUTCOME_NOTHING, NULL, 0);
}

/* Whether the pending exception is one of the program, such as of its toJSON,
   and not of the interpreter where memory ends. */
static BOOL is_programs_exception(JSContext *ctx) {
    JSValueConst e = ctx->rt->current_exception;
    return !JS_IsNull(e) && !JS_IsUncatchableError(ctx, e) &&
           (JS_VALUE_GET_TAG(e) != JS_TAG_OBJECT ||
            JS_VALUE_GET_OBJ(e)->shape->proto != JS_VALUE_GET_OBJ(ctx->native_error_proto[JS_INTERNAL_ERROR]));
}

/* Whether a program that ends in the value has named one. The value itself is
   judged, and not its parts. */
static BOOL is_value(JSContext *ctx, JSValueConst value) {
    if (JS_IsUndefined(value) || is_timer(value))
        return FALSE;
    if (!guest.is_last)
        return TRUE;
    double number = 0;
    if (JS_VALUE_GET_NORM_TAG(value) == JS_TAG_FLOAT64)
        number = JS_VALUE_GET_FLOAT64(value);
    return isfinite(number) && !JS_IsSymbol(value) && !JS_IsFunction(ctx, value);
}

/* Reports the program's value as the outcome. */
static void finish_value(JSContext *ctx, JSValueConst value, JSValueConst input) {
    if (!is_value(ctx, value)) {
        host_finish(OUTCOME_NOTHING, NULL, 0);
        return;
    }
    JSONWriter *w = new_json_writer(ctx, WRITE_TABLE, "value");
    if (!w) {
        finish_out_of_memory();
        return;
    }
    if (write_value(w, value) == 0)
        host_finish(OUTCOME_VALUE, w->out, w->size);
    else if (guest.is_last && w->problem)
        finish_without_form(ctx, w);
    else if (guest.is_last && is_programs_exception(ctx))
        host_finish(OUTCOME_NOTHING, NULL, 0);
    else if (w->problem)
        finish_fault(ctx, "guest.result", problem_message(w), w->hint, input);
    else
        finish_exception(ctx, JS_GetException(ctx), input);
    free_json_writer(w);
}

/* ---- the event loop ---- */

static void guest_wait_dropped(JSAsyncFunctionState *state) {
    if (JS_VALUE_GET_TAG(guest.program) != JS_TAG_OBJECT ||
        JS_VALUE_GET_TAG(state->frame.cur_func) != JS_TAG_OBJECT ||
        JS_VALUE_GET_PTR(state->frame.cur_func) != JS_VALUE_GET_PTR(guest.program))
        return;
    guest.waited_at = state->frame.cur_pc -
        JS_VALUE_GET_OBJ(guest.program)->u.func.function_bytecode->byte_code_buf - 1;
}

/* The line where the program waits for what cannot come; 0: unknown. */
static int waiting_place(JSContext *ctx, JSValueConst function, int *column) {
    JSFunctionBytecode *b = JS_VALUE_GET_OBJ(function)->u.func.function_bytecode;
    struct list_head *el;
    int64_t offset = guest.waited_at;
    list_for_each(el, &ctx->rt->gc_obj_list) {
        JSGCObjectHeader *header = list_entry(el, JSGCObjectHeader, link);
        JSAsyncFunctionState *state = (JSAsyncFunctionState *)header;
        if (header->gc_obj_type == JS_GC_OBJ_TYPE_ASYNC_FUNCTION && !state->is_completed &&
            JS_VALUE_GET_TAG(state->frame.cur_func) == JS_TAG_OBJECT &&
            JS_VALUE_GET_PTR(state->frame.cur_func) == JS_VALUE_GET_PTR(function))
            offset = state->frame.cur_pc - b->byte_code_buf - 1;
    }
    return offset < 0 ? 0 : find_line_num(ctx, b, offset, column);
}

static void finish_stalled(JSContext *ctx, JSValueConst function, JSValueConst input) {
    int column = 0, line = waiting_place(ctx, function, &column);
    throw_fault(ctx, "guest.stalled", JS_NewString(ctx, "the program waits for a promise that nothing can settle"),
                "no call and no timer is pending: check that every promise is resolved",
                JS_UNDEFINED);
    JSValue error = JS_GetException(ctx);
    if (line && JS_IsObject(error)) {
        JS_SetPropertyStr(ctx, error, "lineNumber", JS_NewInt32(ctx, line));
        JS_SetPropertyStr(ctx, error, "columnNumber", JS_NewInt32(ctx, column));
    }
    finish_exception(ctx, error, input);
}

/* Runs every pending job; -1: one threw. */
static int run_jobs(JSContext *ctx) {
    JSContext *job_context;
    int r = 1;
    while (!guest.exited && r > 0)
        r = JS_ExecutePendingJob(ctx->rt, &job_context);
    return guest.exited ? -1 : r;
}

/* Waits until the promise is settled and nothing is left that keeps the program
   for. 1: settled, 0: nothing can settle it any more, -1: a callback threw, or the
   program exited.
   Timers alone hold a program only while it has not named its value. */
static int turn_event_loop(JSContext *ctx, JSValueConst promise) {
    for (;;) {
        if (run_jobs(ctx) < 0)
            return -1;
        int state = JS_PromiseState(ctx, promise);
        if (state == JS_PROMISE_REJECTED)
            return 1;
        int ran = run_due_timer(ctx);
        if (ran < 0)
            return -1;
        if (ran)
            continue;
        BOOL settled = state == JS_PROMISE_FULFILLED, has_value = FALSE;
        if (settled) {
            JSValue value = JS_PromiseResult(ctx, promise);
            has_value = is_value(ctx, value);
            JS_FreeValue(ctx, value);
        }
        BOOL timers = guest.timer_count > 0 && (settled ? !has_value && timers_keep_alive() : TRUE);
        if (guest.call_count == 0 && !timers)
            return settled;
        int64_t timeout = -1;
        if (guest.timer_count > 0 && (timers || !settled)) {
            timeout = guest.timers[0].due - monotonic_ns();
            if (timeout < 0)
                timeout = 0;
        }
        output_flush_all();
        int64_t id = host_call_wait(0, timeout);
        if (id > 0)
            settle_call(ctx, id);
        else if (id < 0 && timeout < 0)
            return settled;
    }
}

/* ---- a run ---- */

/* The seed of Math.random, drawn at its first use, see patches/12-random.patch. */
static uint64_t guest_random_seed(void) {
    uint64_t seed = 0;
    random_bytes(&seed, sizeof(seed));
    return seed ? seed : 1;
}

static void forget_seed(JSContext *ctx) { ctx->random_state = 0; }

#define STACK_SIZE (3 << 19)   /* of the wasm stack, what programs may use */
#define STACK_PER_CALL 296     /* of a plain call in JavaScript, measured */

/* A limit of recursion is a limit of stack: it is approximate. */
static void set_recursion(JSContext *ctx, JSValueConst input) {
    int32_t depth = 0;
    JSValue value = input_get(ctx, input, INPUT_RECURSION);
    if (JS_ToInt32(ctx, &depth, value))
        JS_FreeValue(ctx, JS_GetException(ctx));
    JS_FreeValue(ctx, value);
    guest.limits_recursion = depth > 0;
    guest.recursion_ended = FALSE;
    uint32_t size = STACK_SIZE;
    if (depth > 0 && depth < STACK_SIZE / STACK_PER_CALL)
        size = depth * STACK_PER_CALL + 4096;
    JS_SetMaxStackSize(ctx->rt, size);
}

static void guest_stack_overflowed(JSContext *ctx) {
    if (!guest.limits_recursion)
        return;
    guest.recursion_ended = TRUE;
    JS_SetUncatchableError(ctx, ctx->rt->current_exception, TRUE);
}

/* The modules a program module imports, evaluated one after the other. */
static int evaluate_imports(JSContext *ctx, JSModuleDef *module) {
    for (int i = 0; i < module->req_module_entries_count; i++) {
        JSValue promise = js_evaluate_module(ctx, module->req_module_entries[i].module);
        if (JS_IsException(promise))
            return -1;
        int r = turn_event_loop(ctx, promise);
        if (r == 1 && JS_PromiseState(ctx, promise) == JS_PROMISE_REJECTED) {
            JS_Throw(ctx, JS_PromiseResult(ctx, promise));
            r = -1;
        } else if (r == 0) {
            throw_fault(ctx, "guest.stalled", JS_NewString(ctx, "an imported module waits for a promise that nothing can settle"),
                        NULL, JS_UNDEFINED);
            r = -1;
        }
        JS_FreeValue(ctx, promise);
        if (r < 0)
            return -1;
    }
    return 0;
}

/* A class cannot be called: its prototype cannot be replaced. */
static BOOL is_class(JSValueConst function) {
    JSProperty *p;
    JSShapeProperty *property = find_own_property(&p, JS_VALUE_GET_OBJ(function), JS_ATOM_prototype);
    return property && !(property->flags & JS_PROP_WRITABLE);
}

/* Settles guest.main_promise, and the function after it where the program's
   default export is one. Returns as turn_event_loop does. */
static int await_program(JSContext *ctx, Program *program, JSValueConst input) {
    for (int calls = 0;; calls++) {
        int r = turn_event_loop(ctx, guest.main_promise);
        if (r != 1 || JS_PromiseState(ctx, guest.main_promise) != JS_PROMISE_FULFILLED ||
            !program->has_default || calls)
            return r;
        JSValue value = JS_PromiseResult(ctx, guest.main_promise);
        if (!JS_IsFunction(ctx, value) || is_class(value)) {
            JS_FreeValue(ctx, value);
            return r;
        }
        guest.is_last = FALSE;
        JSValue args = input_get(ctx, input, INPUT_ARGS);
        JSValue result = JS_Call(ctx, value, JS_UNDEFINED, 1, (JSValueConst *)&args);
        JS_FreeValue(ctx, args);
        JS_FreeValue(ctx, value);
        if (JS_IsException(result))
            return -1;
        JSValue promise = js_promise_resolve(ctx, ctx->promise_ctor, 1, (JSValueConst *)&result, 0);
        JS_FreeValue(ctx, result);
        if (JS_IsException(promise))
            return -1;
        set_value(ctx, &guest.main_promise, promise);
    }
}

static void run_program(JSContext *ctx, JSValueConst input) {
    Program program = {.function = JS_UNDEFINED};
    JSValue code = input_get(ctx, input, INPUT_CODE), file = input_get(ctx, input, INPUT_FILE);
    JSValue session = input_get(ctx, input, INPUT_SESSION);
    size_t size = 0;
    const char *text = JS_ToCStringLen(ctx, &size, code), *name = JS_ToCString(ctx, file);
    BOOL check = JS_ToBool(ctx, JS_GetPropertyStr(ctx, input, "check"));
    int r = -1;

    BOOL compiled = text && name && !program_compile(ctx, &program, JS_ToBool(ctx, session), check, text, size, name);
    if (compiled && check) {
        JSValue references = program_references(ctx, program.function);
        if (JS_IsException(references))
            finish_exception(ctx, JS_GetException(ctx), input);
        else
            finish_value(ctx, references, input);
        JS_FreeValue(ctx, references);
        goto done;
    }
    if (compiled && (!program.module || !evaluate_imports(ctx, program.module))) {
        guest.program = program.function;
        guest.waited_at = -1;
        guest.is_last = FALSE;
        /* a module's function is not of the async class: call it as one */
        guest.main_promise = program.module
            ? js_async_function_call(ctx, program.function, JS_UNDEFINED, 0, NULL, 0)
            : JS_Call(ctx, program.function, JS_UNDEFINED, 0, NULL);
        if (!JS_IsException(guest.main_promise))
            r = await_program(ctx, &program, input);
    }
    if (r < 0 || guest.exited) {
        finish_exception(ctx, JS_GetException(ctx), input);
    } else {
        int state = JS_PromiseState(ctx, guest.main_promise);
        JSValue unhandled = first_unhandled(ctx);
        JSValue result = JS_PromiseResult(ctx, guest.main_promise);
        if (state == JS_PROMISE_REJECTED)
            finish_exception(ctx, JS_DupValue(ctx, result), input);
        else if (!JS_IsUninitialized(unhandled))
            finish_exception(ctx, JS_DupValue(ctx, unhandled), input);
        else if (r == 0)
            finish_stalled(ctx, program.function, input);
        else
            finish_value(ctx, result, input);
        JS_FreeValue(ctx, unhandled);
        JS_FreeValue(ctx, result);
    }
done:
    JS_FreeCString(ctx, text);
    JS_FreeCString(ctx, name);
    JS_FreeValue(ctx, code);
    JS_FreeValue(ctx, file);
    JS_FreeValue(ctx, session);
    guest.program = JS_UNDEFINED;
    JS_FreeValue(ctx, program.function);
}

static void drop_jobs(JSRuntime *rt) {
    struct list_head *el, *next;
    list_for_each_safe(el, next, &rt->job_list) {
        JSJobEntry *job = list_entry(el, JSJobEntry, link);
        list_del(el);
        for (int i = 0; i < job->argc; i++)
            JS_FreeValue(job->ctx, job->argv[i]);
        js_free_rt(rt, job);
    }
}

/* What a run leaves behind that the next one of a session must not see. */
static void clear_run(JSContext *ctx) {
    cancel_calls(ctx);
    free_timers(ctx);
    if (guest.exited)
        drop_jobs(ctx->rt);
    guest.exited = FALSE;
    while (guest.unhandled_count > 0)
        JS_FreeValue(ctx, guest.unhandled[--guest.unhandled_count]);
    set_value(ctx, &guest.main_promise, JS_UNDEFINED);
}

/* A whole run with this input document, which may be an exception. */
static void run_document(JSContext *ctx, JSValue input) {
    JSValue begun = JS_IsException(input) ? JS_EXCEPTION
                                          : call_hook(HOOK_BEGIN, 1, (JSValueConst *)&input);
    if (JS_IsException(begun)) {
        finish_exception(ctx, JS_GetException(ctx), JS_UNDEFINED);
    } else {
        set_recursion(ctx, input);
        run_program(ctx, input);
    }
    clear_run(ctx);
    JS_FreeValue(ctx, begun);
    JS_FreeValue(ctx, input);
    output_flush_all();
}
