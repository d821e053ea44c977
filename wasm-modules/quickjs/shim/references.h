/* The tools that a program refers to, read from its bytecode: there every name
   is resolved, so that the program's own variables are not taken for servers.
   Code that can never run is not in the bytecode, and is not reported. */
#pragma once
#include "guest.h"
#include "literals.h"

#define MAX_REFERENCES 1000

typedef struct {
    JSContext *ctx;
    JSAtom tools;
    JSValue rows; /* [server, tool, line, column, under tools, arguments] */
    uint32_t count;
    Literals literals;
} References;

/* Reads `.name` or `?.name` of the value on the stack at pc. Returns where the
   code continues, or 0 if it does something else with the value. */
static int read_member(const JSFunctionBytecode *b, int pc, JSAtom *name, BOOL *is_call) {
    const uint8_t *code = b->byte_code_buf;
    if (code[pc] == OP_dup && code[pc + 1] == OP_is_undefined_or_null) {
        pc += 3;
        if (code[pc - 1] == OP_if_false)
            pc += (int32_t)get_u32(code + pc);
        else if (code[pc - 1] == OP_if_false8)
            pc += (int8_t)code[pc];
        else
            return 0;
    }
    if (code[pc] != OP_get_field && code[pc] != OP_get_field2)
        return 0;
    *name = get_u32(code + pc + 1);
    *is_call = code[pc] == OP_get_field2;
    return pc + 5;
}

/* Adds a row for the tool that is named at pc. called is where its arguments begin, or
   0 if it is not called. */
static int add_reference(References *r, JSFunctionBytecode *b, int pc, int called, JSAtom server, JSAtom tool, BOOL is_explicit) {
    if (r->count >= MAX_REFERENCES)
        return 0;
    int column = 0, line = find_line_num(r->ctx, b, pc, &column);
    JSValue row[6] = {JS_AtomToString(r->ctx, server), JS_AtomToString(r->ctx, tool), JS_NewInt32(r->ctx, line),
                      JS_NewInt32(r->ctx, column), JS_NewBool(r->ctx, is_explicit),
                      called ? literal_arguments(&r->literals, b, called) : JS_NULL};
    JSValue list = JS_IsException(row[5]) ? JS_EXCEPTION : js_create_array(r->ctx, countof(row), (JSValueConst *)row);
    JS_FreeValue(r->ctx, row[0]);
    JS_FreeValue(r->ctx, row[1]);
    JS_FreeValue(r->ctx, row[5]);
    if (JS_IsException(list))
        return -1;
    return JS_SetPropertyUint32(r->ctx, r->rows, r->count++, list) < 0 ? -1 : 0;
}

/* Adds `tools.server.tool` and the calls `server.tool(` of a function and of
   those inside it. */
static int find_references(References *r, JSFunctionBytecode *b) {
    if (js_check_stack_overflow(r->ctx->rt, 0)) {
        JS_ThrowStackOverflow(r->ctx);
        return -1;
    }
    const uint8_t *code = b->byte_code_buf;
    for (int pc = 0; pc < b->byte_code_len; pc += short_opcode_info(code[pc]).size) {
        if (code[pc] != OP_get_var && code[pc] != OP_get_var_undef)
            continue;
        JSAtom server = get_u32(code + pc + 1), tool;
        BOOL is_call, is_explicit = server == r->tools;
        int next = pc + 5;
        if (is_explicit)
            next = read_member(b, next, &server, &is_call);
        if (next)
            next = read_member(b, next, &tool, &is_call);
        if (next && (is_explicit || is_call) && add_reference(r, b, pc, is_call ? next : 0, server, tool, is_explicit))
            return -1;
    }
    for (int i = 0; i < b->cpool_count; i++)
        if (JS_VALUE_GET_TAG(b->cpool[i]) == JS_TAG_FUNCTION_BYTECODE &&
            find_references(r, JS_VALUE_GET_PTR(b->cpool[i])))
            return -1;
    return 0;
}

/* The references of a compiled program as the prelude's hook orders them. */
static JSValue program_references(JSContext *ctx, JSValueConst code) {
    References r = {.ctx = ctx, .tools = JS_NewAtom(ctx, "tools"), .rows = JS_NewArray(ctx)};
    Literals *l = &r.literals;
    l->ctx = ctx, l->computed = JS_NewObject(ctx), l->steps = LITERAL_STEPS, l->room = LITERAL_ROOM;
    JSValue result = JS_EXCEPTION;
    if (r.tools != JS_ATOM_NULL && !JS_IsException(r.rows) && !JS_IsException(l->computed) &&
        !find_references(&r, JS_VALUE_GET_PTR(code)))
        result = call_hook(HOOK_REFERENCES, 1, (JSValueConst *)&r.rows);
    JS_FreeAtom(ctx, r.tools);
    JS_FreeValue(ctx, r.rows);
    JS_FreeValue(ctx, l->computed);
    return result;
}
