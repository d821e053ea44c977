/* Host calls: a call starts at once and settles a promise. */
#pragma once
#include "guest.h"

static JSValue call_hook(Hook hook, int argc, JSValueConst *argv) {
    return JS_Call(guest.ctx, guest.hooks[hook], JS_UNDEFINED, argc, argv);
}

/* {code, message, hint, tool} for the prelude's error hook; the texts may be
   NULL. Throws the exception it makes. */
static void throw_fault(JSContext *ctx, const char *code, JSValue message, const char *hint,
                        JSValueConst tool) {
    JSValue answer = JS_NewObject(ctx);
    JS_SetPropertyStr(ctx, answer, "code", JS_NewString(ctx, code));
    JS_SetPropertyStr(ctx, answer, "message", message);
    if (hint)
        JS_SetPropertyStr(ctx, answer, "hint", JS_NewString(ctx, hint));
    if (!JS_IsUndefined(tool))
        JS_SetPropertyStr(ctx, answer, "tool", JS_DupValue(ctx, tool));
    JSValue error = call_hook(HOOK_ERROR, 1, (JSValueConst *)&answer);
    JS_FreeValue(ctx, answer);
    if (!JS_IsException(error))
        JS_Throw(ctx, error);
}

/* "value.items[3] is a function" */
static JSValue problem_message(JSONWriter *w) {
    const char *place = JS_ToCString(w->ctx, w->place);
    char text[600];
    snprintf(text, sizeof(text), "%s %s", place ? place : w->root, w->problem);
    JS_FreeCString(w->ctx, place);
    return JS_NewString(w->ctx, text);
}

/* Writes the arguments and starts the call; 0 with an exception on failure. */
static int64_t start_call(JSContext *ctx, JSValueConst name, JSValueConst args) {
    JSONWriter *w = new_json_writer(ctx, WRITE_TABLE, "args");
    if (!w)
        return 0;
    int64_t id = 0;
    if (write_value(w, args)) {
        if (w->problem)
            throw_fault(ctx, "tool.invalid_args", problem_message(w), w->hint, name);
    } else {
        size_t size;
        const char *text = JS_ToCStringLen(ctx, &size, name);
        if (text) {
            id = host_call_start(text, size, w->out, w->size);
            JS_FreeCString(ctx, text);
            if (id <= 0) {
                id = 0;
                JS_ThrowInternalError(ctx, "the host refused the call");
            }
        }
    }
    free_json_writer(w);
    return id;
}

/* The innermost function of the program that is running. */
static CallSite call_site(JSContext *ctx) {
    for (JSStackFrame *frame = ctx->rt->current_stack_frame; frame; frame = frame->prev_frame) {
        if (JS_VALUE_GET_TAG(frame->cur_func) != JS_TAG_OBJECT)
            continue;
        JSObject *f = JS_VALUE_GET_OBJ(frame->cur_func);
        if (js_class_has_bytecode(f->class_id) && !is_prelude_function(ctx, f))
            return (CallSite){JS_DupValue(ctx, frame->cur_func),
                              frame->cur_pc - f->u.func.function_bytecode->byte_code_buf - 1};
    }
    return (CallSite){JS_UNDEFINED, 0};
}

/* Sets the stack of an error without one to the place of the failed call. */
static void put_site(JSContext *ctx, JSValueConst error, CallSite site) {
    if (JS_VALUE_GET_TAG(error) != JS_TAG_OBJECT || JS_IsUndefined(site.function) ||
        find_own_property1(JS_VALUE_GET_OBJ(error), JS_ATOM_stack))
        return;
    JSFunctionBytecode *b = JS_VALUE_GET_OBJ(site.function)->u.func.function_bytecode;
    if (!b->has_debug)
        return;
    int column, line = find_line_num(ctx, b, site.offset, &column);
    const char *file = JS_AtomToCString(ctx, b->debug.filename);
    const char *name = get_func_name(ctx, site.function);
    DynBuf text;
    js_dbuf_init(ctx, &text);
    put_error_title(ctx, &text, error);
    dbuf_printf(&text, "    at %s (%s:%d:%d)", name && name[0] ? name : "<anonymous>",
                file ? file : "?", line, column);
    if (!dbuf_error(&text))
        JS_DefinePropertyValue(ctx, error, JS_ATOM_stack,
                               JS_NewStringLen(ctx, (char *)text.buf, text.size),
                               JS_PROP_WRITABLE | JS_PROP_CONFIGURABLE);
    dbuf_free(&text);
    JS_FreeCString(ctx, file);
    JS_FreeCString(ctx, name);
}

/* A rejected promise with the pending exception. */
static JSValue rejected_promise(JSContext *ctx) {
    JSValue reason = JS_GetException(ctx);
    CallSite site = call_site(ctx);
    put_site(ctx, reason, site);
    JS_FreeValue(ctx, site.function);
    JSValue promise = js_promise_new(ctx, JS_UNDEFINED);
    if (!JS_IsException(promise))
        js_promise_settle(ctx, promise, reason, TRUE);
    JS_FreeValue(ctx, reason);
    return promise;
}

/* A promise of the answer. */
static JSValue make_call(JSContext *ctx, JSValueConst name, JSValueConst args) {
    int64_t id = start_call(ctx, name, args);
    if (!id)
        return rejected_promise(ctx);
    if (grow_array(ctx, (void **)&guest.calls, &guest.call_capacity, guest.call_count, sizeof(PendingCall)))
        return JS_EXCEPTION;
    JSValue promise = js_promise_new(ctx, JS_UNDEFINED);
    if (JS_IsException(promise))
        return promise;
    guest.calls[guest.call_count++] = (PendingCall){id, JS_DupValue(ctx, promise), call_site(ctx)};
    return promise;
}

/* $.call(name, arguments): a promise of the answer */
static JSValue native_call(JSContext *ctx, JSValueConst this_val, int argc, JSValueConst *argv) {
    return make_call(ctx, argv[0], argv[1]);
}

/* Whether an object is a set of named arguments rather than a single value. */
static BOOL has_named_arguments(JSContext *ctx, JSValueConst value) {
    if (JS_VALUE_GET_TAG(value) != JS_TAG_OBJECT || JS_IsFunction(ctx, value))
        return FALSE;
    JSObject *o = JS_VALUE_GET_OBJ(value);
    if (o->shape->proto == JS_VALUE_GET_OBJ(ctx->class_proto[JS_CLASS_OBJECT]))
        return TRUE;
    switch (o->class_id) {
    case JS_CLASS_ARRAY: case JS_CLASS_DATE: case JS_CLASS_SET: case JS_CLASS_REGEXP: case JS_CLASS_ERROR:
    case JS_CLASS_ARRAY_BUFFER: case JS_CLASS_DATAVIEW: case JS_CLASS_PROMISE:
    case JS_CLASS_NUMBER: case JS_CLASS_STRING: case JS_CLASS_BOOLEAN:
        return FALSE;
    }
    return o->class_id < JS_CLASS_UINT8C_ARRAY || o->class_id > JS_CLASS_FLOAT64_ARRAY;
}

/* A tool as a function: an object sends arguments by keyword, whatever else is
   given sends them by position. */
static JSValue native_tool_call(JSContext *ctx, JSValueConst this_val, int argc, JSValueConst *argv,
                                int magic, JSValue *name) {
    while (argc > 0 && JS_IsUndefined(argv[argc - 1]))
        argc--;
    if (argc == 1 && has_named_arguments(ctx, argv[0]))
        return make_call(ctx, name[0], argv[0]);
    JSValue args = argc > 0 ? js_create_array(ctx, argc, argv) : JS_NewObject(ctx);
    if (JS_IsException(args))
        return args;
    JSValue promise = make_call(ctx, name[0], args);
    JS_FreeValue(ctx, args);
    return promise;
}

/* $.tool(name): the function that calls the tool of that name */
static JSValue native_tool(JSContext *ctx, JSValueConst this_val, int argc, JSValueConst *argv) {
    return JS_NewCFunctionData(ctx, native_tool_call, 0, 0, 1, argv);
}

/* An answer in JSON as a value. It may be as deep as a result of a program. */
static JSValue parse_answer(JSContext *ctx, const uint8_t *text, size_t size) {
    BOOL too_deep;
    JSValue value = json_parse_deep(ctx, text, size, WRITE_MAX_DEPTH, &too_deep, NULL);
    if (too_deep) {
        JS_FreeValue(ctx, JS_GetException(ctx));
        throw_fault(ctx, "tool.failed", JS_NewString(ctx, "the answer is nested more than 900 levels deep"), NULL, JS_UNDEFINED);
    }
    return value;
}

/* The answer of a call as a value; an error answer is thrown. */
static JSValue take_answer(JSContext *ctx, int64_t id) {
    int64_t described = host_answer_size(id);
    uint32_t kind = described >> 32, size = described;
    if (described < 0 || size > INT32_MAX - JSON_SLACK)
        return JS_ThrowInternalError(ctx, "the host returned no answer");
    uint8_t *data = js_malloc(ctx, (size_t)size + JSON_SLACK);
    if (!data)
        return JS_EXCEPTION;
    if ((uint32_t)host_answer_read(id, data, size) != size) {
        js_free(ctx, data);
        return JS_ThrowInternalError(ctx, "the host returned part of an answer");
    }
    memset(data + size, 0, JSON_SLACK);

    JSValue value;
    switch (kind) {
    case ANSWER_TEXT:
        value = JS_NewStringLen(ctx, (char *)data, size);
        break;
    case ANSWER_BYTES: {
        JSValue buffer = JS_NewArrayBufferCopy(ctx, data, size);
        JSValueConst whole[3] = {buffer, JS_UNDEFINED, JS_UNDEFINED};
        value = JS_IsException(buffer) ? buffer : JS_NewTypedArray(ctx, 3, whole, JS_TYPED_ARRAY_UINT8);
        JS_FreeValue(ctx, buffer);
        break;
    }
    case ANSWER_JSON: case ANSWER_ERROR: case ANSWER_CONTENT:
        value = parse_answer(ctx, data, size);
        if (JS_IsException(value) || kind == ANSWER_JSON)
            break;
        JSValue made = call_hook(kind == ANSWER_ERROR ? HOOK_ERROR : HOOK_CONTENT, 1,
                                 (JSValueConst *)&value);
        JS_FreeValue(ctx, value);
        value = kind == ANSWER_ERROR && !JS_IsException(made) ? JS_Throw(ctx, made) : made;
        break;
    default:
        value = JS_ThrowInternalError(ctx, "the host returned an answer of unknown kind %u", kind);
    }
    js_free(ctx, data);
    return value;
}

/* Settles the promise of a call whose answer is there. */
static void settle_call(JSContext *ctx, int64_t id) {
    for (uint32_t i = 0; i < guest.call_count; i++) {
        if (guest.calls[i].id != id)
            continue;
        PendingCall call = guest.calls[i];
        memmove(&guest.calls[i], &guest.calls[i + 1], (--guest.call_count - i) * sizeof(PendingCall));
        JSValue value = take_answer(ctx, id);
        BOOL failed = JS_IsException(value);
        if (failed) {
            value = JS_GetException(ctx);
            put_site(ctx, value, call.site);
        }
        js_promise_settle(ctx, call.promise, value, failed);
        JS_FreeValue(ctx, value);
        JS_FreeValue(ctx, call.promise);
        JS_FreeValue(ctx, call.site.function);
        return;
    }
}

/* $.callNow(name, arguments): waits for this answer only */
static JSValue native_call_now(JSContext *ctx, JSValueConst this_val, int argc, JSValueConst *argv) {
    int64_t id = start_call(ctx, argv[0], argv[1]);
    if (!id)
        return JS_EXCEPTION;
    output_flush_all();
    if (host_call_wait(id, -1) != id)
        return JS_ThrowInternalError(ctx, "the host returned no answer");
    return take_answer(ctx, id);
}

static void cancel_calls(JSContext *ctx) {
    for (uint32_t i = 0; i < guest.call_count; i++) {
        host_call_cancel(guest.calls[i].id);
        JS_FreeValue(ctx, guest.calls[i].promise);
        JS_FreeValue(ctx, guest.calls[i].site.function);
    }
    guest.call_count = 0;
}
