/* JSON.parse and JSON.stringify on the fast paths.

   Revivers, replacers, indentation, text nested very deeply and values that are
   not plain go to the original functions. Of errors the parser here is the
   stricter judge: the original takes "1." for a number. */
#pragma once
#include "json_parse.h"
#include "json_write.h"

static JSValue original_parse, original_stringify;

static JSValue fast_parse_string(JSContext *ctx, JSString *s, BOOL *too_deep) {
    size_t memory_size = (size_t)__builtin_wasm_memory_size(0) * 65536;
    if (!s->is_wide_char && count_ascii(s->u.str8, s->len) == s->len &&
        (uintptr_t)s->u.str8 + s->len + JSON_SLACK <= memory_size)
        return json_parse_deep(ctx, s->u.str8, s->len, JSON_MAX_DEPTH, too_deep, NULL);
    size_t size;
    const char *utf8 = JS_ToCStringLen(ctx, &size, JS_MKPTR(JS_TAG_STRING, s));
    if (!utf8)
        return JS_EXCEPTION;
    uint8_t *copy = js_malloc(ctx, size + JSON_SLACK);
    if (copy) {
        memcpy(copy, utf8, size);
        memset(copy + size, 0, JSON_SLACK);
    }
    JS_FreeCString(ctx, utf8);
    if (!copy)
        return JS_EXCEPTION;
    JSValue value = json_parse_deep(ctx, copy, size, JSON_MAX_DEPTH, too_deep, NULL);
    js_free(ctx, copy);
    return value;
}

/* Objects and arrays are no JSON text. A program that parses one, most often the
   answer of a tool, gets it back. */
static BOOL is_plain_data(JSValueConst value) {
    if (JS_VALUE_GET_TAG(value) != JS_TAG_OBJECT)
        return FALSE;
    int class = JS_VALUE_GET_OBJ(value)->class_id;
    return class == JS_CLASS_OBJECT || class == JS_CLASS_ARRAY;
}

static BOOL is_syntax_error(JSContext *ctx, JSValueConst error) {
    return JS_VALUE_GET_TAG(error) == JS_TAG_OBJECT && JS_VALUE_GET_OBJ(error)->shape->proto ==
        JS_VALUE_GET_OBJ(ctx->native_error_proto[JS_SYNTAX_ERROR]);
}

static JSValue dropin_parse(JSContext *ctx, JSValueConst this_val, int argc, JSValueConst *argv) {
    if (argc >= 1 && (argc == 1 || !JS_IsFunction(ctx, argv[1])) && JS_IsString(argv[0])) {
        JSValue text = JS_ToString(ctx, argv[0]); /* flattens a rope */
        if (JS_IsException(text))
            return text;
        BOOL too_deep = FALSE;
        JSValue value = fast_parse_string(ctx, JS_VALUE_GET_STRING(text), &too_deep);
        JS_FreeValue(ctx, text);
        if (!too_deep)
            return value;
        JS_FreeValue(ctx, JS_GetException(ctx));
    }
    JSValue value = JS_Call(ctx, original_parse, this_val, argc, argv);
    if (JS_IsException(value) && argc == 1 && is_plain_data(argv[0]) && is_syntax_error(ctx, ctx->rt->current_exception)) {
        JS_FreeValue(ctx, JS_GetException(ctx));
        return JS_DupValue(ctx, argv[0]);
    }
    return value;
}

static JSValue dropin_stringify(JSContext *ctx, JSValueConst this_val, int argc, JSValueConst *argv) {
    BOOL plain = argc >= 1 && JS_IsObject(argv[0]) &&
                 (argc < 2 || JS_IsUndefined(argv[1]) || JS_IsNull(argv[1])) &&
                 (argc < 3 || JS_IsUndefined(argv[2]));
    if (plain && has_plain_prototypes(ctx)) {
        JSONWriter *w = new_json_writer(ctx, WRITE_PLAIN, "");
        if (!w)
            return JS_EXCEPTION;
        JSValue text = JS_UNDEFINED;
        if (write_value(w, argv[0]) == 0)
            text = JS_NewStringLen(ctx, (char *)w->out, w->size);
        free_json_writer(w);
        if (!JS_IsUndefined(text))
            return text;
    }
    return JS_Call(ctx, original_stringify, this_val, argc, argv);
}

static void install_json(JSContext *ctx) {
    JSValue global = JS_GetGlobalObject(ctx), json = JS_GetPropertyStr(ctx, global, "JSON");
    original_parse = JS_GetPropertyStr(ctx, json, "parse");
    original_stringify = JS_GetPropertyStr(ctx, json, "stringify");
    JS_DefinePropertyValueStr(ctx, json, "parse", JS_NewCFunction(ctx, dropin_parse, "parse", 2),
                              JS_PROP_WRITABLE | JS_PROP_CONFIGURABLE);
    JS_DefinePropertyValueStr(ctx, json, "stringify", JS_NewCFunction(ctx, dropin_stringify, "stringify", 3),
                              JS_PROP_WRITABLE | JS_PROP_CONFIGURABLE);
    JS_FreeValue(ctx, json);
    JS_FreeValue(ctx, global);
}
