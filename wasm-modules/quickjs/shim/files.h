/* Files for the prelude: plain WASI calls. Each native returns its result, or
   the name of the error ("ENOENT") as a string, which no result is. */
#pragma once
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include "natives.h"

#define FILE_MAX_BYTES (1u << 30)

static JSValue errno_name(JSContext *ctx) {
    static const struct { int number; const char *name; } names[] = {
        {ENOENT, "ENOENT"}, {EACCES, "EACCES"}, {EPERM, "EACCES"}, {ENOTCAPABLE, "EACCES"},
        {EEXIST, "EEXIST"}, {ENOTDIR, "ENOTDIR"}, {EISDIR, "EISDIR"}, {ENOTEMPTY, "ENOTEMPTY"},
        {EROFS, "EROFS"}, {ENOSPC, "ENOSPC"}, {EFBIG, "EFBIG"}, {EINVAL, "EINVAL"},
        {ENAMETOOLONG, "ENAMETOOLONG"}, {ELOOP, "ELOOP"}, {EXDEV, "EXDEV"}, {EMFILE, "EMFILE"},
        {ENOSYS, "ENOSYS"}, {ENOTSUP, "ENOTSUP"}, {EDQUOT, "ENOSPC"}, {EBADF, "EBADF"},
    };
    for (size_t i = 0; i < countof(names); i++)
        if (names[i].number == errno)
            return JS_NewString(ctx, names[i].name);
    return JS_NewString(ctx, "EIO");
}

/* Runs `action` with `path` as the text of argv[0]. */
#define WITH_PATH(action)                                       \
    size_t path_size;                                           \
    const char *path = JS_ToCStringLen(ctx, &path_size, argv[0]); \
    if (!path)                                                  \
        return JS_EXCEPTION;                                    \
    if (strlen(path) != path_size) {                            \
        JS_FreeCString(ctx, path);                              \
        errno = EINVAL;                                         \
        return errno_name(ctx);                                 \
    }                                                           \
    int result = (action);                                      \
    JS_FreeCString(ctx, path)

/* All bytes of an open file, in the interpreter's memory. */
static uint8_t *read_all(JSContext *ctx, int fd, size_t *size) {
    size_t capacity = 4096, used = 0;
    struct stat status;
    if (fstat(fd, &status) == 0 && status.st_size > 0 && status.st_size < FILE_MAX_BYTES)
        capacity = status.st_size + 1;
    uint8_t *data = js_malloc(ctx, capacity);
    while (data) {
        ssize_t n = read(fd, data + used, capacity - used);
        if (n < 0) {
            js_free(ctx, data);
            return NULL;
        }
        used += n;
        if (n == 0) {
            *size = used;
            return data;
        }
        if (used == capacity) {
            if (capacity >= FILE_MAX_BYTES) {
                js_free(ctx, data);
                errno = EFBIG;
                return NULL;
            }
            uint8_t *more = js_realloc(ctx, data, capacity * 2);
            if (!more)
                js_free(ctx, data);
            data = more;
            capacity *= 2;
        }
    }
    errno = ENOSPC;
    return NULL;
}

static JSValue read_descriptor(JSContext *ctx, int fd) {
    size_t size;
    uint8_t *data = read_all(ctx, fd, &size);
    if (!data)
        return errno_name(ctx);
    JSValue buffer = JS_NewArrayBufferCopy(ctx, data, size);
    js_free(ctx, data);
    return buffer;
}

/* $.readFile(path): an ArrayBuffer */
static JSValue native_read_file(JSContext *ctx, JSValueConst this_val, int argc, JSValueConst *argv) {
    WITH_PATH(open(path, O_RDONLY));
    if (result < 0)
        return errno_name(ctx);
    JSValue data = read_descriptor(ctx, result);
    close(result);
    return data;
}

/* $.readInput(): all of the standard input */
static JSValue native_read_input(JSContext *ctx, JSValueConst this_val, int argc, JSValueConst *argv) {
    return read_descriptor(ctx, 0);
}

/* $.writeFile(path, bytes, "w", "a" or "x") */
static JSValue native_write_file(JSContext *ctx, JSValueConst this_val, int argc, JSValueConst *argv) {
    size_t size;
    const uint8_t *data = bytes_of(ctx, argv[1], &size);
    const char *mode = data ? JS_ToCString(ctx, argv[2]) : NULL;
    if (!mode)
        return JS_EXCEPTION;
    int flags = O_WRONLY | O_CREAT | (mode[0] == 'a' ? O_APPEND : mode[0] == 'x' ? O_EXCL : O_TRUNC);
    JS_FreeCString(ctx, mode);
    WITH_PATH(open(path, flags, 0644));
    if (result < 0)
        return errno_name(ctx);
    while (size > 0) {
        ssize_t n = write(result, data, size);
        if (n <= 0) {
            JSValue name = errno_name(ctx);
            close(result);
            return name;
        }
        data += n;
        size -= n;
    }
    return close(result) < 0 ? errno_name(ctx) : JS_UNDEFINED;
}

/* $.listFolder(path): [name, is it a folder, name, …] */
static JSValue native_list_folder(JSContext *ctx, JSValueConst this_val, int argc, JSValueConst *argv) {
    DIR *dir;
    WITH_PATH((dir = opendir(path)) ? 0 : -1);
    if (result < 0)
        return errno_name(ctx);
    JSValue list = JS_NewArray(ctx);
    uint32_t n = 0;
    for (struct dirent *entry; (entry = readdir(dir));) {
        if (!strcmp(entry->d_name, ".") || !strcmp(entry->d_name, ".."))
            continue;
        JS_SetPropertyUint32(ctx, list, n++, JS_NewString(ctx, entry->d_name));
        JS_SetPropertyUint32(ctx, list, n++, JS_NewBool(ctx, entry->d_type == DT_DIR));
    }
    closedir(dir);
    return list;
}

/* $.fileStatus(path, follow links): [kind, size, changed at in ms] */
static JSValue native_file_status(JSContext *ctx, JSValueConst this_val, int argc, JSValueConst *argv) {
    struct stat status;
    BOOL follow = JS_ToBool(ctx, argv[1]);
    WITH_PATH(follow ? stat(path, &status) : lstat(path, &status));
    if (result < 0)
        return errno_name(ctx);
    JSValue list = JS_NewArray(ctx);
    const char *kind = S_ISDIR(status.st_mode) ? "folder" : S_ISREG(status.st_mode) ? "file"
                       : S_ISLNK(status.st_mode) ? "link" : "other";
    double changed = status.st_mtim.tv_sec * 1e3 + status.st_mtim.tv_nsec / 1e6;
    JS_SetPropertyUint32(ctx, list, 0, JS_NewString(ctx, kind));
    JS_SetPropertyUint32(ctx, list, 1, JS_NewInt64(ctx, status.st_size));
    JS_SetPropertyUint32(ctx, list, 2, JS_NewFloat64(ctx, changed));
    return list;
}

/* $.makeFolder(path) */
static JSValue native_make_folder(JSContext *ctx, JSValueConst this_val, int argc, JSValueConst *argv) {
    WITH_PATH(mkdir(path, 0755));
    return result < 0 ? errno_name(ctx) : JS_UNDEFINED;
}

/* $.removeFolder(path), which is empty */
static JSValue native_remove_folder(JSContext *ctx, JSValueConst this_val, int argc, JSValueConst *argv) {
    WITH_PATH(rmdir(path));
    return result < 0 ? errno_name(ctx) : JS_UNDEFINED;
}

/* $.removeFile(path) */
static JSValue native_remove_file(JSContext *ctx, JSValueConst this_val, int argc, JSValueConst *argv) {
    WITH_PATH(unlink(path));
    return result < 0 ? errno_name(ctx) : JS_UNDEFINED;
}

/* $.renameFile(from, to) */
static JSValue native_rename_file(JSContext *ctx, JSValueConst this_val, int argc, JSValueConst *argv) {
    const char *to = JS_ToCString(ctx, argv[1]);
    if (!to)
        return JS_EXCEPTION;
    WITH_PATH(rename(path, to));
    JSValue name = result < 0 ? errno_name(ctx) : JS_UNDEFINED;
    JS_FreeCString(ctx, to);
    return name;
}

static const JSCFunctionListEntry file_functions[] = {
    JS_CFUNC_DEF("readFile", 1, native_read_file),
    JS_CFUNC_DEF("readInput", 0, native_read_input),
    JS_CFUNC_DEF("writeFile", 3, native_write_file),
    JS_CFUNC_DEF("listFolder", 1, native_list_folder),
    JS_CFUNC_DEF("fileStatus", 2, native_file_status),
    JS_CFUNC_DEF("makeFolder", 1, native_make_folder),
    JS_CFUNC_DEF("removeFolder", 1, native_remove_folder),
    JS_CFUNC_DEF("removeFile", 1, native_remove_file),
    JS_CFUNC_DEF("renameFile", 2, native_rename_file),
};
