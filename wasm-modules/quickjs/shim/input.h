/* The input document of a run. Its keys and their shape are known in advance: an
   engine always writes the same ones in the same order. */
#pragma once
#include "json_parse.h"

typedef enum {
    INPUT_CODE, INPUT_FILE, INPUT_ARGS, INPUT_ARGV, INPUT_ENV, INPUT_SERVERS, INPUT_SESSION,
    INPUT_DETERMINISTIC, INPUT_ROOT, INPUT_PACKAGES, INPUT_CWD, INPUT_RECURSION, INPUT_FETCH, INPUT_PII,
    INPUT_COUNT
} InputKey;

static const char *const input_keys[INPUT_COUNT] = {
    "code", "file", "args", "argv", "env", "servers", "session",
    "deterministic", "root", "packages", "cwd", "recursion", "fetch", "pii"};

static KeyNode input_nodes[INPUT_COUNT + 1];
static Shapes input_shapes = {input_nodes, 1, INPUT_COUNT + 1};

static int install_input(JSContext *ctx) {
    KeyNode *node = input_nodes;
    for (int i = 0; i < INPUT_COUNT; i++) {
        JSAtom key = JS_NewAtom(ctx, input_keys[i]);
        if (key == JS_ATOM_NULL)
            return -1;
        node = shapes_add(&input_shapes, node, key, (const uint8_t *)input_keys[i], strlen(input_keys[i]));
    }
    input_shapes.limit = 0; /* nothing is added during a run */
    return shapes_get(ctx, node) ? 0 : -1;
}

static JSValue input_get(JSContext *ctx, JSValueConst input, InputKey key) {
    return JS_GetProperty(ctx, input, input_nodes[key + 1].key);
}

static JSValue parse_input(JSContext *ctx, const uint8_t *text, size_t size) {
    JSValue input = json_parse_deep(ctx, text, size, JSON_MAX_DEPTH, NULL, &input_shapes);
    if (!JS_IsException(input) && !JS_IsObject(input)) {
        JS_FreeValue(ctx, input);
        return JS_ThrowTypeError(ctx, "the input is not an object");
    }
    return input;
}

static JSValue read_input(JSContext *ctx) {
    int32_t size = host_input_size();
    if (size < 0)
        return JS_ThrowInternalError(ctx, "the host returned no input");
    uint8_t *text = js_malloc(ctx, (size_t)size + JSON_SLACK);
    if (!text)
        return JS_EXCEPTION;
    if (host_input_read(text, size) != size) {
        js_free(ctx, text);
        return JS_ThrowInternalError(ctx, "the host returned part of the input");
    }
    memset(text + size, 0, JSON_SLACK);
    JSValue input = parse_input(ctx, text, size);
    js_free(ctx, text);
    return input;
}
