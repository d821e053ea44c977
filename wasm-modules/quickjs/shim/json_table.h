/* JSON forms of values that are not plain JSON, as in the table of guests/values.md. */
#pragma once
#include "json_write.h"

static int write_base64(JSONWriter *w, const uint8_t *data, size_t size) {
    static const char letters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    if (write_text(w, "{\"$bytes\":\"", 11) || write_room(w, (size + 2) / 3 * 4 + 2))
        return -1;
    uint8_t *to = w->out + w->size;
    for (size_t i = 0; i < size; i += 3) {
        uint32_t group = data[i] << 16 | (i + 1 < size ? data[i + 1] << 8 : 0) |
                         (i + 2 < size ? data[i + 2] : 0);
        *to++ = letters[group >> 18];
        *to++ = letters[group >> 12 & 63];
        *to++ = i + 1 < size ? letters[group >> 6 & 63] : '=';
        *to++ = i + 2 < size ? letters[group & 63] : '=';
    }
    w->size = to - w->out;
    return write_text(w, "\"}", 2);
}

/* Up to 2^53 - 1 a number, beyond a string, so that no reader rounds it. */
static int write_bigint(JSONWriter *w, JSValueConst value) {
    JSContext *ctx = w->ctx;
    size_t size;
    const char *digits = JS_ToCStringLen(ctx, &size, value);
    if (!digits)
        return -1;
    size_t start = digits[0] == '-';
    int exact = size - start < 16 || (size - start == 16 && memcmp(digits + start, "9007199254740991", 16) <= 0);
    int r = (!exact && write_byte(w, '"')) || write_text(w, digits, size) ||
            (!exact && write_byte(w, '"'));
    JS_FreeCString(ctx, digits);
    return r ? -1 : 0;
}

/* the value is taken over */
static int write_owned(JSONWriter *w, JSValue value) {
    int r;
    if (JS_IsException(value))
        return -1;
    r = JS_IsUndefined(value) ? write_text(w, "null", 4) : write_value(w, value);
    JS_FreeValue(w->ctx, value);
    return r;
}

/* any array-like whose items have to be read one by one */
static int write_slow_array(JSONWriter *w, JSValueConst value) {
    int64_t length;
    if (js_get_length64(w->ctx, &length, value) ||
        write_enter(w, JS_VALUE_GET_OBJ(value)) || write_byte(w, '['))
        return -1;
    for (int64_t i = 0; i < length; i++) {
        w->steps[w->depth - 1].key = JS_ATOM_NULL;
        w->steps[w->depth - 1].index = i;
        if ((i && write_byte(w, ',')) || write_owned(w, JS_GetPropertyInt64(w->ctx, value, i)))
            return -1;
    }
    w->depth--;
    return write_byte(w, ']');
}

/* One member of an object: nothing where the value is undefined. The value is
   taken over. */
static int write_member(JSONWriter *w, JSAtom key, JSValue value, int *first) {
    JSContext *ctx = w->ctx;
    if (JS_IsException(value))
        return -1;
    if (JS_IsUndefined(value))
        return 0;
    w->steps[w->depth - 1].key = key;
    JSValue name = JS_AtomToString(ctx, key);
    int r = JS_IsException(name) || (!*first && write_byte(w, ',')) ||
            write_string_value(w, name) || write_byte(w, ':') || write_value(w, value);
    *first = 0;
    JS_FreeValue(ctx, name);
    JS_FreeValue(ctx, value);
    return r ? -1 : 0;
}

/* the object's own enumerable members; the braces are the caller's */
static int write_own_members(JSONWriter *w, JSValueConst value, int *first) {
    JSContext *ctx = w->ctx;
    JSPropertyEnum *names;
    uint32_t count, i;
    int r = 0;

    if (JS_GetOwnPropertyNames(ctx, &names, &count, value, JS_GPN_STRING_MASK | JS_GPN_ENUM_ONLY))
        return -1;
    for (i = 0; i < count && !r; i++)
        r = write_member(w, names[i].atom, JS_GetProperty(ctx, value, names[i].atom), first);
    js_free_prop_enum(ctx, names, count);
    return r;
}

static int write_slow_object(JSONWriter *w, JSValueConst value) {
    int first = 1;
    if (write_enter(w, JS_VALUE_GET_OBJ(value)) || write_byte(w, '{') ||
        write_own_members(w, value, &first))
        return -1;
    w->depth--;
    return write_byte(w, '}');
}

static int write_error(JSONWriter *w, JSValueConst value) {
    JSContext *ctx = w->ctx;
    static const JSAtom fields[] = {JS_ATOM_name, JS_ATOM_message, JS_ATOM_errors, JS_ATOM_cause};
    int first = 1;
    if (write_enter(w, JS_VALUE_GET_OBJ(value)) || write_byte(w, '{'))
        return -1;
    for (int i = 0; i < 4; i++)
        if (write_member(w, fields[i], JS_GetProperty(ctx, value, fields[i]), &first))
            return -1;
    if (write_own_members(w, value, &first))
        return -1;
    w->depth--;
    return write_byte(w, '}');
}

static int write_set(JSONWriter *w, JSObject *set) {
    struct list_head *el, *next;
    uint32_t i = 0;
    if (write_enter(w, set) || write_byte(w, '['))
        return -1;
    list_for_each_safe(el, next, &set->u.map_state->records) {
        JSMapRecord *record = list_entry(el, JSMapRecord, link);
        if (record->empty)
            continue;
        w->steps[w->depth - 1].key = JS_ATOM_NULL;
        w->steps[w->depth - 1].index = i;
        if ((i++ && write_byte(w, ',')) || write_owned(w, JS_DupValue(w->ctx, record->key)))
            return -1;
    }
    w->depth--;
    return write_byte(w, ']');
}

/* A Map becomes an object if its keys have a text form. */
static int write_map(JSONWriter *w, JSObject *map) {
    JSContext *ctx = w->ctx;
    struct list_head *el, *next;
    int first = 1, result = -1;
    JSValue seen = JS_NewObjectProto(ctx, JS_NULL);

    if (JS_IsException(seen) || write_enter(w, map) || write_byte(w, '{'))
        goto done;
    list_for_each_safe(el, next, &map->u.map_state->records) {
        JSMapRecord *record = list_entry(el, JSMapRecord, link);
        int tag = JS_VALUE_GET_NORM_TAG(record->key);
        if (record->empty)
            continue;
        if (tag == JS_TAG_OBJECT || tag == JS_TAG_SYMBOL || tag == JS_TAG_UNDEFINED ||
            (tag == JS_TAG_FLOAT64 && !isfinite(JS_VALUE_GET_FLOAT64(record->key)))) {
            w->depth--;
            write_problem(w, "is a Map with a key that is neither text nor a number",
                          "return [...map] or an object");
            goto done;
        }
        JSAtom key = JS_ValueToAtom(ctx, record->key);
        if (key == JS_ATOM_NULL)
            goto done;
        int known = JS_HasProperty(ctx, seen, key);
        if (known || JS_SetProperty(ctx, seen, key, JS_TRUE) < 0) {
            w->depth--;
            write_problem(w, "is a Map with two keys of the same text", "return [...map]");
            JS_FreeAtom(ctx, key);
            goto done;
        }
        int r = write_member(w, key, JS_DupValue(ctx, record->value), &first);
        JS_FreeAtom(ctx, key);
        if (r)
            goto done;
    }
    w->depth--;
    result = write_byte(w, '}');
done:
    JS_FreeValue(ctx, seen);
    return result;
}

/* the result of calling a method without arguments */
static int write_method(JSONWriter *w, JSValueConst value, JSAtom name) {
    return write_owned(w, JS_Invoke(w->ctx, value, name, 0, NULL));
}

static int write_to_json(JSONWriter *w, JSValueConst value, JSValue method) {
    JSContext *ctx = w->ctx;
    JSValue key = JS_NewString(ctx, "");
    JSValue plain = JS_Call(ctx, method, value, 1, (JSValueConst *)&key);
    JS_FreeValue(ctx, key);
    JS_FreeValue(ctx, method);
    if (JS_IsException(plain))
        return -1;
    if (write_enter(w, JS_VALUE_GET_OBJ(value))) {
        JS_FreeValue(ctx, plain);
        return -1;
    }
    w->depth--;
    if (JS_VALUE_GET_TAG(plain) == JS_TAG_OBJECT &&
        JS_VALUE_GET_OBJ(plain) == JS_VALUE_GET_OBJ(value)) {
        JS_FreeValue(ctx, plain);
        return write_problem(w, "has a toJSON that returns itself", NULL);
    }
    return write_owned(w, plain);
}

static int write_typed_array(JSONWriter *w, JSValueConst value, JSObject *o) {
    if (o->class_id == JS_CLASS_UINT8_ARRAY || o->class_id == JS_CLASS_UINT8C_ARRAY)
        return write_base64(w, o->u.array.u.uint8_ptr, o->u.array.count);
    return write_slow_array(w, value);
}

/* a hint for a value of this class, by the text of the problem */
static int write_unwritable(JSONWriter *w, JSValueConst value) {
    JSObject *o = JS_VALUE_GET_OBJ(value);
    switch (o->class_id) {
    case JS_CLASS_PROMISE:
        return write_problem(w, "is a promise", "await it");
    case JS_CLASS_REGEXP:
        return write_problem(w, "is a RegExp", "return its source or what it matched");
    case JS_CLASS_WEAKMAP: case JS_CLASS_WEAKSET: case JS_CLASS_WEAK_REF:
        return write_problem(w, "is a weak reference or collection", NULL);
    case JS_CLASS_GENERATOR: case JS_CLASS_MAP_ITERATOR: case JS_CLASS_SET_ITERATOR:
    case JS_CLASS_ARRAY_ITERATOR: case JS_CLASS_STRING_ITERATOR:
    case JS_CLASS_REGEXP_STRING_ITERATOR:
        return write_problem(w, "is an iterator", "return [...it]");
    case JS_CLASS_ASYNC_GENERATOR:
        return write_problem(w, "is an async generator", "collect it with for await");
    }
    return 0;
}

static int write_special(JSONWriter *w, JSValueConst value) {
    JSContext *ctx = w->ctx;
    switch (JS_VALUE_GET_NORM_TAG(value)) {
    case JS_TAG_UNDEFINED:
        return write_text(w, "null", 4);
    case JS_TAG_STRING_ROPE:
        return write_string_value(w, value);
    case JS_TAG_SHORT_BIG_INT: case JS_TAG_BIG_INT:
        return write_bigint(w, value);
    case JS_TAG_SYMBOL:
        return write_problem(w, "is a symbol", "use its description");
    case JS_TAG_OBJECT:
        break;
    default:
        return write_problem(w, "has no JSON form", NULL);
    }

    JSObject *o = JS_VALUE_GET_OBJ(value);
    if (JS_IsFunction(ctx, value))
        return write_problem(w, "is a function", "call it and return what it gives");
    if (o->class_id == JS_CLASS_DATE) {
        double time = JS_VALUE_GET_NORM_TAG(o->u.object_data) == JS_TAG_INT
                          ? 0 : JS_VALUE_GET_FLOAT64(o->u.object_data);
        if (isnan(time))
            return write_problem(w, "is an invalid Date", NULL);
    }
    JSValue method = JS_GetProperty(ctx, value, JS_ATOM_toJSON);
    if (JS_IsException(method))
        return -1;
    if (JS_IsFunction(ctx, method))
        return write_to_json(w, value, method);
    JS_FreeValue(ctx, method);

    switch (o->class_id) {
    case JS_CLASS_NUMBER: case JS_CLASS_STRING: case JS_CLASS_BOOLEAN: case JS_CLASS_BIG_INT:
        return write_value(w, o->u.object_data);
    case JS_CLASS_ARGUMENTS: case JS_CLASS_MAPPED_ARGUMENTS:
        return write_slow_array(w, value);
    case JS_CLASS_ERROR:
        return write_error(w, value);
    case JS_CLASS_MAP:
        return write_map(w, o);
    case JS_CLASS_SET:
        return write_set(w, o);
    case JS_CLASS_ARRAY_BUFFER: {
        size_t size;
        uint8_t *data = JS_GetArrayBuffer(ctx, &size, value);
        return data || !size ? write_base64(w, data, data ? size : 0) : -1;
    }
    case JS_CLASS_DATAVIEW: {
        JSTypedArray *view = o->u.typed_array;
        JSArrayBuffer *buffer = view->buffer->u.array_buffer;
        if (buffer->detached || view->offset > (uint32_t)buffer->byte_length ||
            view->length > (uint32_t)buffer->byte_length - view->offset)
            return write_problem(w, "is a view of a detached buffer", NULL);
        return write_base64(w, buffer->data + view->offset, view->length);
    }
    }
    if (o->class_id >= JS_CLASS_UINT8C_ARRAY && o->class_id <= JS_CLASS_FLOAT64_ARRAY)
        return write_typed_array(w, value, o);
    if (write_unwritable(w, value))
        return -1;
    int is_array = JS_IsArray(ctx, value);
    if (is_array < 0)
        return -1;
    return is_array ? write_slow_array(w, value) : write_slow_object(w, value);
}
