/* Loading the prelude: the JavaScript files of a folder, in order of their
   names. Each is an expression whose value is a function of `$`, the natives
   and what the files before it left there for the ones after. Their names begin
   with "wexec:", by which stacks leave their frames out. */
#pragma once
#include "files.h"
#include "modules.h"

#define PRELUDE_MAX_FILES 64

static char *read_whole_file(JSContext *ctx, const char *path, size_t *size) {
    FILE *f = fopen(path, "rb");
    if (!f)
        return NULL;
    char *text = NULL;
    if (fseek(f, 0, SEEK_END) == 0) {
        long length = ftell(f);
        rewind(f);
        text = length < 0 ? NULL : js_malloc(ctx, length + 1);
        if (text && fread(text, 1, length, f) == (size_t)length) {
            text[length] = 0;
            *size = length;
        } else {
            js_free(ctx, text);
            text = NULL;
        }
    }
    fclose(f);
    return text;
}

static int run_prelude_file(JSContext *ctx, const char *folder, const char *name, JSValueConst natives) {
    char path[300], label[300];
    size_t size;
    snprintf(path, sizeof(path), "%s/%s", folder, name);
    snprintf(label, sizeof(label), "wexec:%s", name);
    char *text = read_whole_file(ctx, path, &size);
    if (!text)
        return -1;
    JSValue function = JS_Eval(ctx, text, size, label, JS_EVAL_TYPE_GLOBAL | JS_EVAL_FLAG_STRICT);
    js_free(ctx, text);
    JSValue result = JS_IsException(function) ? JS_EXCEPTION
                                              : JS_Call(ctx, function, JS_UNDEFINED, 1, &natives);
    JS_FreeValue(ctx, function);
    if (JS_IsException(result)) {
        JSValue exception = JS_GetException(ctx);
        const char *message = JS_ToCString(ctx, exception);
        const char *stack = NULL;
        JSValue stack_value = JS_UNDEFINED;
        if (JS_IsObject(exception)) {
            stack_value = JS_GetPropertyStr(ctx, exception, "lineNumber");
            stack = JS_ToCString(ctx, stack_value);
        }
        fprintf(stderr, "prelude: %s: %s (line %s)\n", name, message ? message : "?", stack ? stack : "?");
        JS_FreeCString(ctx, message);
        JS_FreeCString(ctx, stack);
        JS_FreeValue(ctx, stack_value);
        JS_FreeValue(ctx, exception);
        return -1;
    }
    JS_FreeValue(ctx, result);
    return 0;
}

static int compare_names(const void *a, const void *b) {
    return strcmp(*(char *const *)a, *(char *const *)b);
}

static int load_prelude(JSContext *ctx, const char *folder) {
    char *names[PRELUDE_MAX_FILES];
    int count = 0, r = 0;
    DIR *dir = opendir(folder);
    if (!dir) {
        fprintf(stderr, "prelude: no folder %s\n", folder);
        return -1;
    }
    for (struct dirent *entry; (entry = readdir(dir)) && count < PRELUDE_MAX_FILES;) {
        size_t length = strlen(entry->d_name);
        if (length > 3 && length < 200 && !strcmp(entry->d_name + length - 3, ".js"))
            names[count++] = js_strdup(ctx, entry->d_name);
    }
    closedir(dir);
    qsort(names, count, sizeof(names[0]), compare_names);

    JS_SetStripInfo(guest.rt, JS_STRIP_SOURCE); /* the source is not used, and it doubles the image */
    JSValue natives = JS_NewObject(ctx);
    JS_SetPropertyFunctionList(ctx, natives, native_functions, countof(native_functions));
    JS_SetPropertyFunctionList(ctx, natives, file_functions, countof(file_functions));
    JS_SetPropertyFunctionList(ctx, natives, module_functions, countof(module_functions));
    for (int i = 0; i < count; i++) {
        if (!r)
            r = run_prelude_file(ctx, folder, names[i], natives);
        js_free(ctx, names[i]);
    }
    JS_FreeValue(ctx, natives);
    JS_SetStripInfo(guest.rt, 0);
    return count == 0 ? -1 : r;
}
