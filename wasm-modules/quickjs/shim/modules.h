/* Imports. The prelude decides what a name means and where its text comes
   from; here its answers become modules. */
#pragma once
#include "guest.h"

/* The prelude's name for what `name` means in the module `base`. */
static char *module_normalise(JSContext *ctx, const char *base, const char *name, void *opaque) {
    JSValue arguments[2] = {JS_NewString(ctx, name), JS_NewString(ctx, base)};
    JSValue full = call_hook(HOOK_RESOLVE, 2, (JSValueConst *)arguments);
    JS_FreeValue(ctx, arguments[0]);
    JS_FreeValue(ctx, arguments[1]);
    if (JS_IsException(full))
        return NULL;
    const char *text = JS_ToCString(ctx, full);
    JS_FreeValue(ctx, full);
    char *copy = text ? js_strdup(ctx, text) : NULL;
    JS_FreeCString(ctx, text);
    return copy;
}

/* Fills in import.meta: with values for a module of the prelude's making, and
   otherwise by the prelude. */
static int module_set_meta(JSContext *ctx, JSModuleDef *module, const char *name, JSValueConst values) {
    JSValue meta = JS_GetImportMeta(ctx, module), done = JS_UNDEFINED;
    if (JS_IsException(meta))
        return -1;
    if (JS_IsUndefined(values)) {
        JSValue arguments[2] = {meta, JS_NewString(ctx, name)};
        done = call_hook(HOOK_META, 2, (JSValueConst *)arguments);
        JS_FreeValue(ctx, arguments[1]);
    } else {
        JS_DefinePropertyValueStr(ctx, meta, "values", JS_DupValue(ctx, values), JS_PROP_C_W_E);
    }
    JS_FreeValue(ctx, meta);
    JS_FreeValue(ctx, done);
    return JS_IsException(done) ? -1 : 0;
}

/* The prelude answers [text, values]: the text of a module, and what it finds
   as import.meta.values where it is of the prelude's making. */
static JSModuleDef *module_load(JSContext *ctx, const char *name, void *opaque) {
    JSValue argument = JS_NewString(ctx, name);
    JSValue answer = call_hook(HOOK_LOAD, 1, (JSValueConst *)&argument);
    JS_FreeValue(ctx, argument);
    if (JS_IsException(answer))
        return NULL;
    JSModuleDef *module = NULL;
    JSValue source = JS_GetPropertyUint32(ctx, answer, 0), values = JS_GetPropertyUint32(ctx, answer, 1);
    size_t size;
    const char *text = JS_ToCStringLen(ctx, &size, source);
    JSValue compiled = text ? JS_Eval(ctx, text, size, name, JS_EVAL_TYPE_MODULE | JS_EVAL_FLAG_COMPILE_ONLY)
                            : JS_EXCEPTION;
    JS_FreeCString(ctx, text);
    if (!JS_IsException(compiled)) {
        module = JS_VALUE_GET_PTR(compiled);
        JS_FreeValue(ctx, compiled); /* the context holds the module */
        if (module_set_meta(ctx, module, name, values))
            module = NULL;
    }
    JS_FreeValue(ctx, source);
    JS_FreeValue(ctx, values);
    JS_FreeValue(ctx, answer);
    return module;
}

/* $.evaluate(text, file): a script's value, for CommonJS */
static JSValue native_evaluate(JSContext *ctx, JSValueConst this_val, int argc, JSValueConst *argv) {
    size_t size;
    const char *text = JS_ToCStringLen(ctx, &size, argv[0]);
    const char *file = text ? JS_ToCString(ctx, argv[1]) : NULL;
    JSValue value = file ? JS_Eval(ctx, text, size, file, JS_EVAL_TYPE_GLOBAL) : JS_EXCEPTION;
    JS_FreeCString(ctx, text);
    JS_FreeCString(ctx, file);
    return value;
}

static const JSCFunctionListEntry module_functions[] = {
    JS_CFUNC_DEF("evaluate", 2, native_evaluate),
};
