/* The arguments of a call as far as they are literals, read from its bytecode: the
   code between the function and the call runs on a stack of what is known of each
   value. Code that may be skipped, such as a branch of `?:`, makes a value computed. */
#pragma once
#include "guest.h"

enum {
    LITERAL_STACK = 200,
    LITERAL_STEPS = 1 << 20, /* instructions that are read for all calls of a program */
    LITERAL_ROOM = 100000,   /* about the bytes of all forms, and ten for each value */
};

/* A value and its form in the report: a literal's own, {} of a computed value, and
   {fields, open} of an object, which is open if it may have other fields. */
typedef struct {
    JSValue form;
    enum { COMPUTED, UNDEFINED, SCALAR, LIST, OBJECT } kind;
} Literal;

typedef struct {
    JSContext *ctx;
    JSValue computed; /* the form of a computed value */
    int steps, room, depth;
    Literal stack[LITERAL_STACK];
} Literals;

static void literal_pop(Literals *l, int count) {
    while (count-- > 0)
        JS_FreeValue(l->ctx, l->stack[--l->depth].form);
}

/* Frees the form. FALSE ends the reading of this call, and so in the functions below. */
static BOOL literal_push(Literals *l, int kind, JSValue form) {
    if (JS_IsException(form))
        return FALSE;
    if (l->depth == LITERAL_STACK) {
        JS_FreeValue(l->ctx, form);
        return FALSE;
    }
    l->room -= JS_IsString(form) ? 10 + (int)JS_VALUE_GET_STRING(form)->len : 10;
    if (l->room < 0) {
        JS_FreeValue(l->ctx, form);
        kind = COMPUTED, form = JS_DupValue(l->ctx, l->computed);
    }
    l->stack[l->depth++] = (Literal){form, kind};
    return TRUE;
}

static BOOL literal_push_computed(Literals *l) {
    return literal_push(l, COMPUTED, JS_DupValue(l->ctx, l->computed));
}

static BOOL literal_push_constant(Literals *l, JSValue value) {
    BOOL is_finite = !JS_TAG_IS_FLOAT64(JS_VALUE_GET_TAG(value)) || isfinite(JS_VALUE_GET_FLOAT64(value));
    if ((JS_IsNumber(value) && is_finite) || JS_VALUE_GET_TAG(value) == JS_TAG_STRING || JS_IsException(value))
        return literal_push(l, SCALAR, value);
    JS_FreeValue(l->ctx, value);
    return literal_push_computed(l);
}

/* Replaces the values on top by their list. */
static BOOL literal_push_list(Literals *l, int count) {
    if (count > l->depth)
        return FALSE;
    JSValue forms[LITERAL_STACK];
    for (int i = 0; i < count; i++)
        forms[i] = l->stack[l->depth - count + i].form;
    JSValue list = js_create_array(l->ctx, count, (JSValueConst *)forms);
    literal_pop(l, count);
    return literal_push(l, LIST, list);
}

static BOOL literal_set(Literals *l, JSValueConst form, const char *name, JSValue value) {
    return JS_DefinePropertyValueStr(l->ctx, form, name, value, JS_PROP_C_W_E) >= 0;
}

static BOOL literal_push_object(Literals *l) {
    JSValue form = JS_NewObject(l->ctx);
    if (!JS_IsException(form) && !literal_set(l, form, "fields", JS_NewObject(l->ctx))) {
        JS_FreeValue(l->ctx, form);
        return FALSE;
    }
    return literal_push(l, OBJECT, form);
}

/* Forgets the fields of an object: code that follows may add or replace any. */
static BOOL literal_open(Literals *l, int at) {
    if (at < 0)
        return FALSE;
    JSValueConst form = l->stack[at].form;
    return l->stack[at].kind != OBJECT ||
           (literal_set(l, form, "fields", JS_NewObject(l->ctx)) && literal_set(l, form, "open", JS_TRUE));
}

/* Takes a field of the object, or an item of the list, below it from the stack. */
static BOOL literal_define(Literals *l, JSAtom name) {
    if (l->depth < 2)
        return FALSE;
    Literal *into = &l->stack[l->depth - 2], *value = into + 1;
    JSValue target = JS_UNDEFINED, key = JS_AtomToString(l->ctx, name);
    BOOL ok = literal_push_constant(l, key); /* counts its length */
    literal_pop(l, ok);
    if (ok && into->kind == OBJECT && value->kind != UNDEFINED)
        target = JS_GetPropertyStr(l->ctx, into->form, "fields");
    else if (ok && into->kind == LIST)
        target = JS_DupValue(l->ctx, into->form);
    if (JS_IsObject(target))
        ok = JS_DefinePropertyValue(l->ctx, target, name, JS_DupValue(l->ctx, value->form), JS_PROP_C_W_E) >= 0;
    JS_FreeValue(l->ctx, target);
    literal_pop(l, 1);
    return ok;
}

/* Makes the value on top computed. */
static BOOL literal_forget(Literals *l) {
    if (l->depth == 0 || l->stack[l->depth - 1].kind == COMPUTED)
        return TRUE;
    literal_pop(l, 1);
    return literal_push_computed(l);
}

/* Does what an instruction does that neither jumps nor ends the function. */
static BOOL literal_step(Literals *l, const JSFunctionBytecode *b, const uint8_t *at) {
    const JSOpCode *info = &short_opcode_info(*at);
    switch (*at) {
    case OP_push_i32:
        return literal_push_constant(l, JS_NewInt32(l->ctx, get_u32(at + 1)));
    case OP_push_i16:
        return literal_push_constant(l, JS_NewInt32(l->ctx, (int16_t)get_u16(at + 1)));
    case OP_push_i8:
        return literal_push_constant(l, JS_NewInt32(l->ctx, (int8_t)at[1]));
    case OP_push_minus1: case OP_push_0: case OP_push_1: case OP_push_2: case OP_push_3: case OP_push_4:
    case OP_push_5: case OP_push_6: case OP_push_7:
        return literal_push_constant(l, JS_NewInt32(l->ctx, *at - OP_push_0));
    case OP_push_const:
        return literal_push_constant(l, JS_DupValue(l->ctx, b->cpool[get_u32(at + 1)]));
    case OP_push_const8:
        return literal_push_constant(l, JS_DupValue(l->ctx, b->cpool[at[1]]));
    case OP_push_atom_value:
        return literal_push_constant(l, JS_AtomToValue(l->ctx, get_u32(at + 1)));
    case OP_push_empty_string:
        return literal_push_constant(l, JS_AtomToString(l->ctx, JS_ATOM_empty_string));
    case OP_push_true: case OP_push_false:
        return literal_push(l, SCALAR, JS_NewBool(l->ctx, *at == OP_push_true));
    case OP_null:
        return literal_push(l, SCALAR, JS_NULL);
    case OP_get_var: case OP_get_var_undef:
        if (get_u32(at + 1) != JS_ATOM_undefined)
            break;
        /* fallthrough */
    case OP_undefined:
        return literal_push(l, UNDEFINED, JS_NULL); /* in a list it is sent as null */
    case OP_object:
        return literal_push_object(l);
    case OP_array_from:
        return literal_push_list(l, get_u16(at + 1));
    case OP_define_field:
        return literal_define(l, get_u32(at + 1));
    case OP_copy_data_properties:
        return literal_open(l, l->depth - 1 - (at[1] & 3));
    case OP_define_array_el: {
        BOOL ok = literal_open(l, l->depth - 3);
        literal_pop(l, ok);
        return ok;
    }
    case OP_neg:
        if (l->depth > 0 && JS_IsNumber(l->stack[l->depth - 1].form)) {
            double number = 0;
            JS_ToFloat64(l->ctx, &number, l->stack[l->depth - 1].form);
            literal_pop(l, 1);
            return literal_push_constant(l, JS_NewFloat64(l->ctx, -number));
        }
    }
    int count = info->n_pop;
    if (info->fmt == OP_FMT_npop || info->fmt == OP_FMT_npop_u16)
        count += get_u16(at + 1);
    else if (info->fmt == OP_FMT_npopx)
        count += *at - OP_call0;
    if (count > l->depth)
        return FALSE;
    literal_pop(l, count);
    for (count = info->n_push; count > 0; count--)
        if (!literal_push_computed(l))
            return FALSE;
    return TRUE;
}

/* The form of the arguments on the stack as the function of a tool sends them. */
static JSValue literal_sent(Literals *l) {
    while (l->depth > 0 && l->stack[l->depth - 1].kind == UNDEFINED)
        literal_pop(l, 1);
    Literal *first = &l->stack[0];
    BOOL ok = l->depth > 0 || literal_push_object(l);
    if (ok && (l->depth > 1 || (first->kind != OBJECT && first->kind != COMPUTED)))
        ok = literal_push_list(l, l->depth);
    return JS_DupValue(l->ctx, ok ? first->form : l->computed);
}

/* The form of the arguments of the call of the method that is on the stack at pc. It
   is computed if the code does something else with the method. */
static JSValue literal_arguments(Literals *l, const JSFunctionBytecode *b, int pc) {
    JSValue sent = JS_DupValue(l->ctx, l->computed);
    int joined = 0; /* the code before it may be skipped */
    while (pc < b->byte_code_len && l->steps-- > 0) {
        const uint8_t *at = b->byte_code_buf + pc;
        const JSOpCode *info = &short_opcode_info(*at);
        if (joined && pc >= joined) {
            joined = 0;
            if (!literal_forget(l))
                break;
        }
        if ((*at == OP_call_method || *at == OP_tail_call_method) && get_u16(at + 1) == l->depth) {
            JS_FreeValue(l->ctx, sent);
            sent = literal_sent(l);
            break;
        }
        pc += info->size;
        int target = 0;
        switch (*at) {
        case OP_if_false: case OP_if_true: case OP_goto:
            target = at + 1 - b->byte_code_buf + (int32_t)get_u32(at + 1);
            break;
        case OP_goto16:
            target = at + 1 - b->byte_code_buf + (int16_t)get_u16(at + 1);
            break;
        case OP_if_false8: case OP_if_true8: case OP_goto8:
            target = at + 1 - b->byte_code_buf + (int8_t)at[1];
            break;
        case OP_catch: case OP_gosub: case OP_ret: case OP_return: case OP_return_undef: case OP_return_async:
        case OP_throw: case OP_throw_error: case OP_tail_call: case OP_tail_call_method:
        case OP_with_get_var: case OP_with_put_var: case OP_with_delete_var: case OP_with_make_ref: case OP_with_get_ref:
            goto done;
        }
        if (target) {
            if (target < pc)
                break;
            joined = max_int(joined, target);
            if (info->n_pop == 0)
                pc = target;
        }
        if (!literal_step(l, b, at) || (pc < joined && info->n_push > 0 && !literal_forget(l)))
            break;
    }
done:
    literal_pop(l, l->depth);
    if (!JS_HasException(l->ctx))
        return sent;
    JS_FreeValue(l->ctx, sent);
    return JS_EXCEPTION;
}
