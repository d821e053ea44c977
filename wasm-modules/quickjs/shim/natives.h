/* The functions of the prelude's `$`, which cannot be written in JavaScript. */
#pragma once
#include "calls.h"
#include "timers.h"

#include <wasi/api.h>

static void random_bytes(void *to, size_t size) {
    if (__wasi_random_get(to, size) != 0)
        abort(); /* a guest must not run without entropy */
}

/* $.write(1 or 2, text) */
static JSValue native_write(JSContext *ctx, JSValueConst this_val, int argc, JSValueConst *argv) {
    int32_t fd;
    size_t size;
    if (JS_ToInt32(ctx, &fd, argv[0]))
        return JS_EXCEPTION;
    const char *text = JS_ToCStringLen(ctx, &size, argv[1]);
    if (!text)
        return JS_EXCEPTION;
    output_put(fd == 2 ? &standard_error : &standard_output, text, size);
    JS_FreeCString(ctx, text);
    return JS_UNDEFINED;
}

/* Interrupts every call and every turn of a loop once the program has exited. An
   async function turns the exception of exit into a rejected promise, and its
   caller must not go on. */
static int stop_after_exit(JSRuntime *rt, void *opaque) {
    if (guest.exited)
        guest.ctx->interrupt_counter = 0;
    return guest.exited;
}

/* $.exit(outcome): ends the program. No outcome is success without a value. */
static JSValue native_exit(JSContext *ctx, JSValueConst this_val, int argc, JSValueConst *argv) {
    output_flush_all();
    if (!guest.exited) {
        JSONWriter *w = JS_IsUndefined(argv[0]) ? NULL : new_json_writer(ctx, WRITE_PLAIN, "");
        if (w && write_value(w, argv[0]))
            w->size = 0;
        host_finish(w ? OUTCOME_ERROR : OUTCOME_NOTHING, w ? w->out : NULL, w ? w->size : 0);
        free_json_writer(w);
        guest.exited = TRUE;
        ctx->interrupt_counter = 0; /* see stop_after_exit */
    }
    JS_ThrowInternalError(ctx, "the program has ended");
    JS_SetUncatchableError(ctx, ctx->rt->current_exception, TRUE);
    return JS_EXCEPTION;
}

static JSValue call_job(JSContext *ctx, int argc, JSValueConst *argv) {
    return JS_Call(ctx, argv[0], JS_UNDEFINED, 0, NULL);
}

/* $.ahead(function): runs the function before the jobs that wait */
static JSValue native_ahead(JSContext *ctx, JSValueConst this_val, int argc, JSValueConst *argv) {
    if (JS_EnqueueJob(ctx, call_job, 1, argv) < 0)
        return JS_EXCEPTION;
    struct list_head *job = ctx->rt->job_list.prev;
    list_del(job);
    list_add(job, &ctx->rt->job_list);
    return JS_UNDEFINED;
}

/* $.memory(): bytes that the program's values take */
static JSValue native_memory(JSContext *ctx, JSValueConst this_val, int argc, JSValueConst *argv) {
    return JS_NewInt64(ctx, ctx->rt->malloc_state.malloc_size);
}

/* $.now(): milliseconds of the monotonic clock */
static JSValue native_now(JSContext *ctx, JSValueConst this_val, int argc, JSValueConst *argv) {
    return JS_NewFloat64(ctx, monotonic_ns() / 1e6);
}

/* $.random(n): an ArrayBuffer of n random bytes */
static JSValue native_random(JSContext *ctx, JSValueConst this_val, int argc, JSValueConst *argv) {
    int32_t size;
    if (JS_ToInt32(ctx, &size, argv[0]))
        return JS_EXCEPTION;
    if (size < 0 || size > 1 << 20)
        return JS_ThrowRangeError(ctx, "too many random bytes");
    uint8_t *bytes = js_malloc(ctx, size + 1);
    if (!bytes)
        return JS_EXCEPTION;
    random_bytes(bytes, size);
    JSValue buffer = JS_NewArrayBufferCopy(ctx, bytes, size);
    js_free(ctx, bytes);
    return buffer;
}

/* $.encode(text): its UTF-8 in an ArrayBuffer; the caller made it well formed */
static JSValue native_encode(JSContext *ctx, JSValueConst this_val, int argc, JSValueConst *argv) {
    size_t size;
    const char *text = JS_ToCStringLen(ctx, &size, argv[0]);
    if (!text)
        return JS_EXCEPTION;
    JSValue buffer = JS_NewArrayBufferCopy(ctx, (const uint8_t *)text, size);
    JS_FreeCString(ctx, text);
    return buffer;
}

/* The bytes of an ArrayBuffer or of a view of one; NULL with an exception. */
static const uint8_t *bytes_of(JSContext *ctx, JSValueConst value, size_t *size) {
    static const uint8_t nothing[1];
    if (JS_VALUE_GET_TAG(value) == JS_TAG_OBJECT) {
        JSObject *o = JS_VALUE_GET_OBJ(value);
        if (o->class_id == JS_CLASS_ARRAY_BUFFER) {
            uint8_t *data = JS_GetArrayBuffer(ctx, size, value);
            return data ? data : *size == 0 ? nothing : NULL;
        }
        if (o->class_id >= JS_CLASS_UINT8C_ARRAY && o->class_id <= JS_CLASS_DATAVIEW) {
            JSTypedArray *view = o->u.typed_array;
            if (o->class_id != JS_CLASS_DATAVIEW)
                view = o->u.array.u1.typed_array;
            JSArrayBuffer *buffer = view->buffer->u.array_buffer;
            if (buffer->detached || view->offset > (uint32_t)buffer->byte_length ||
                view->length > (uint32_t)buffer->byte_length - view->offset) {
                JS_ThrowTypeError(ctx, "the buffer is detached");
                return NULL;
            }
            *size = view->length;
            return buffer->data ? buffer->data + view->offset : nothing;
        }
    }
    JS_ThrowTypeError(ctx, "expected an ArrayBuffer or a view of one");
    return NULL;
}

/* How many bytes of a character start at p, and whether they are valid, as the
   WHATWG decoder sees them: a wrong sequence ends before the byte that broke it. */
static int utf8_step(const uint8_t *p, const uint8_t *end, uint32_t *character) {
    static const struct { uint8_t low, high; } second[5] = {
        {0x80, 0xbf}, {0xa0, 0xbf}, {0x80, 0x9f}, {0x90, 0xbf}, {0x80, 0x8f}};
    uint32_t c = *p;
    int need, range = 0;
    *character = 0xfffd;
    if (c < 0x80) {
        *character = c;
        return 1;
    }
    if (c >= 0xc2 && c <= 0xdf) {
        need = 1;
        c &= 0x1f;
    } else if (c >= 0xe0 && c <= 0xef) {
        need = 2;
        range = c == 0xe0 ? 1 : c == 0xed ? 2 : 0;
        c &= 0x0f;
    } else if (c >= 0xf0 && c <= 0xf4) {
        need = 3;
        range = c == 0xf0 ? 3 : c == 0xf4 ? 4 : 0;
        c &= 0x07;
    } else {
        return -1;
    }
    for (int i = 1; i <= need; i++) {
        uint8_t low = i == 1 ? second[range].low : 0x80, high = i == 1 ? second[range].high : 0xbf;
        if (p + i >= end || p[i] < low || p[i] > high)
            return -i;
        c = c << 6 | (p[i] & 0x3f);
    }
    *character = c;
    return need + 1;
}

/* $.decode(bytes, fatal): text; -1 where fatal and the bytes are not UTF-8 */
static JSValue native_decode(JSContext *ctx, JSValueConst this_val, int argc, JSValueConst *argv) {
    size_t size;
    const uint8_t *p = bytes_of(ctx, argv[0], &size);
    if (!p)
        return JS_EXCEPTION;
    BOOL fatal = JS_ToBool(ctx, argv[1]);
    const uint8_t *end = p + size;
    size_t ascii = count_ascii(p, size);
    if (ascii == size)
        return JS_NewStringLen(ctx, (const char *)p, size);
    StringBuffer buffer, *b = &buffer;
    if (string_buffer_init(ctx, b, size))
        return JS_EXCEPTION;
    while (p < end) {
        uint32_t c;
        int n = utf8_step(p, end, &c);
        if (n < 0 && fatal) {
            string_buffer_free(b);
            return JS_NewInt32(ctx, -1);
        }
        if (string_buffer_putc(b, c)) {
            string_buffer_free(b);
            return JS_EXCEPTION;
        }
        p += n < 0 ? -n : n;
    }
    return string_buffer_end(b);
}

/* $.define(object, name, value): a property that is not enumerable */
static JSValue native_define(JSContext *ctx, JSValueConst this_val, int argc, JSValueConst *argv) {
    JSAtom name = JS_ValueToAtom(ctx, argv[1]);
    if (name == JS_ATOM_NULL)
        return JS_EXCEPTION;
    int r = JS_DefinePropertyValue(ctx, argv[0], name, JS_DupValue(ctx, argv[2]),
                                   JS_PROP_WRITABLE | JS_PROP_CONFIGURABLE | JS_PROP_THROW);
    JS_FreeAtom(ctx, name);
    return r < 0 ? JS_EXCEPTION : JS_DupValue(ctx, argv[0]);
}

/* The value of a global that native_expose_servers made, at its first use. */
static JSValue guest_autoinit(JSContext *ctx, JSObject *p, JSAtom atom, void *opaque) {
    JSValue name = JS_AtomToString(ctx, atom);
    JSValue server = call_hook(HOOK_SERVER, 1, (JSValueConst *)&name);
    JS_FreeValue(ctx, name);
    return server;
}

/* $.exposeServers(names): a global for each name that is free */
static JSValue native_expose_servers(JSContext *ctx, JSValueConst this_val, int argc, JSValueConst *argv) {
    uint32_t count;
    JSValue *names;
    if (!js_get_fast_array(ctx, argv[0], &names, &count))
        return JS_ThrowTypeError(ctx, "expected an array");
    for (uint32_t i = 0; i < count; i++) {
        JSAtom name = JS_ValueToAtom(ctx, names[i]);
        if (name == JS_ATOM_NULL)
            return JS_EXCEPTION;
        int r = JS_HasProperty(ctx, ctx->global_obj, name);
        if (r == 0)
            r = JS_DefineAutoInitProperty(ctx, ctx->global_obj, name, JS_AUTOINIT_ID_GUEST, NULL,
                                          JS_PROP_WRITABLE | JS_PROP_CONFIGURABLE);
        JS_FreeAtom(ctx, name);
        if (r < 0)
            return JS_EXCEPTION;
    }
    return JS_UNDEFINED;
}

/* $.promise(value): [state, result] of a promise, null for any other value */
static JSValue native_promise(JSContext *ctx, JSValueConst this_val, int argc, JSValueConst *argv) {
    int state = JS_PromiseState(ctx, argv[0]);
    if (state < 0)
        return JS_NULL;
    JSValue pair = JS_NewArray(ctx);
    JS_SetPropertyUint32(ctx, pair, 0, JS_NewInt32(ctx, state));
    JS_SetPropertyUint32(ctx, pair, 1, JS_PromiseResult(ctx, argv[0]));
    return pair;
}

/* $.kind(value): the name of the built-in class of an object, whatever its
   prototype says */
static JSValue native_kind(JSContext *ctx, JSValueConst this_val, int argc, JSValueConst *argv) {
    if (JS_VALUE_GET_TAG(argv[0]) != JS_TAG_OBJECT)
        return JS_NewString(ctx, "");
    JSClassID id = JS_VALUE_GET_OBJ(argv[0])->class_id;
    return JS_AtomToString(ctx, ctx->rt->class_array[id].class_name);
}

/* $.proxy(value): [target, handler] of a Proxy, null for any other value */
static JSValue native_proxy(JSContext *ctx, JSValueConst this_val, int argc, JSValueConst *argv) {
    JSProxyData *data = JS_GetOpaque(argv[0], JS_CLASS_PROXY);
    if (!data)
        return JS_NULL;
    JSValue pair = JS_NewArray(ctx);
    JS_SetPropertyUint32(ctx, pair, 0, JS_DupValue(ctx, data->target));
    JS_SetPropertyUint32(ctx, pair, 1, JS_DupValue(ctx, data->handler));
    return pair;
}

/* $.know(proxy, table): the proxy has the table's own properties, and
   its handler is asked for others alone */
static JSValue native_know(JSContext *ctx, JSValueConst this_val, int argc, JSValueConst *argv) {
    JSProxyData *data = JS_GetOpaque(argv[0], JS_CLASS_PROXY);
    if (!data)
        return JS_ThrowTypeError(ctx, "expected a proxy");
    set_value(ctx, &data->known, JS_DupValue(ctx, argv[1]));
    return JS_DupValue(ctx, argv[1]);
}

static JSArrayBuffer *array_buffer_of(JSContext *ctx, JSValueConst value) {
    return JS_GetOpaque2(ctx, value, JS_CLASS_ARRAY_BUFFER);
}

/* $.detach(buffer) */
static JSValue native_detach(JSContext *ctx, JSValueConst this_val, int argc, JSValueConst *argv) {
    if (!array_buffer_of(ctx, argv[0]))
        return JS_EXCEPTION;
    JS_DetachArrayBuffer(ctx, argv[0]);
    return JS_UNDEFINED;
}

/* $.detached(buffer) */
static JSValue native_detached(JSContext *ctx, JSValueConst this_val, int argc, JSValueConst *argv) {
    JSArrayBuffer *buffer = array_buffer_of(ctx, argv[0]);
    return buffer ? JS_NewBool(ctx, buffer->detached) : JS_EXCEPTION;
}

/* $.stack(error): sets its stack to the current one, for Error.captureStackTrace */
static JSValue native_stack(JSContext *ctx, JSValueConst this_val, int argc, JSValueConst *argv) {
    if (JS_VALUE_GET_TAG(argv[0]) != JS_TAG_OBJECT)
        return JS_ThrowTypeError(ctx, "expected an object");
    build_backtrace(ctx, argv[0], NULL, 0, 0, JS_BACKTRACE_FLAG_SKIP_FIRST_LEVEL);
    return JS_UNDEFINED;
}

/* $.hook(name, function): registers a function that C calls */
static JSValue native_hook(JSContext *ctx, JSValueConst this_val, int argc, JSValueConst *argv) {
    const char *name = JS_ToCString(ctx, argv[0]);
    if (!name)
        return JS_EXCEPTION;
    for (int i = 0; i < HOOK_COUNT; i++)
        if (!strcmp(name, hook_names[i]))
            set_value(ctx, &guest.hooks[i], JS_DupValue(ctx, argv[1]));
    JS_FreeCString(ctx, name);
    return JS_UNDEFINED;
}

static const JSCFunctionListEntry native_functions[] = {
    JS_PROP_STRING_DEF("version", QUICKJS_VERSION, JS_PROP_CONFIGURABLE),
    JS_CFUNC_DEF("write", 2, native_write),
    JS_CFUNC_DEF("call", 2, native_call),
    JS_CFUNC_DEF("tool", 1, native_tool),
    JS_CFUNC_DEF("know", 2, native_know),
    JS_CFUNC_DEF("callNow", 2, native_call_now),
    JS_CFUNC_DEF("startTimer", 5, native_start_timer),
    JS_CFUNC_DEF("stopTimer", 1, native_stop_timer),
    JS_CFUNC_DEF("holdTimer", 2, native_hold_timer),
    JS_CFUNC_DEF("markTimers", 1, native_mark_timers),
    JS_CFUNC_DEF("exit", 1, native_exit),
    JS_CFUNC_DEF("ahead", 1, native_ahead),
    JS_CFUNC_DEF("memory", 0, native_memory),
    JS_CFUNC_DEF("now", 0, native_now),
    JS_CFUNC_DEF("random", 1, native_random),
    JS_CFUNC_DEF("encode", 1, native_encode),
    JS_CFUNC_DEF("decode", 2, native_decode),
    JS_CFUNC_DEF("define", 3, native_define),
    JS_CFUNC_DEF("exposeServers", 1, native_expose_servers),
    JS_CFUNC_DEF("promise", 1, native_promise),
    JS_CFUNC_DEF("kind", 1, native_kind),
    JS_CFUNC_DEF("proxy", 1, native_proxy),
    JS_CFUNC_DEF("detach", 1, native_detach),
    JS_CFUNC_DEF("detached", 1, native_detached),
    JS_CFUNC_DEF("stack", 1, native_stack),
    JS_CFUNC_DEF("hook", 2, native_hook),
};
