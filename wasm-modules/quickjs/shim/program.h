/* Compiles a program: the body of an async function, or a module,
   with `return` and `await` at its top level, whose value is that of its last
   statement where that is an expression.

   A body's variables are locals, which is what makes its loops fast. A body
   that turns out to have imports or exports is read again as a program module:
   its variables are locals too, its imports are those of a module, and of its
   exports only the default one matters, since nothing imports a program. In a
   session the variables of a program are globals, what it imports among them,
   so that the next one has them. */
#pragma once

typedef enum { FORM_BODY, FORM_MODULE, FORM_SESSION } ProgramForm;

typedef struct {
    ProgramForm form;
    JSModuleDef *module; /* FORM_MODULE; the context owns it */
    JSValue function;    /* to be called for a promise of the value; only code
                            where the program is checked and not run */
    BOOL needs_module;   /* the body has imports, exports or import.meta */
    BOOL has_default;    /* `export default` gives the value */
    int default_var;
} Program;

static int program_store_default(JSParseState *s, Program *program) {
    emit_op(s, OP_put_loc);
    emit_u16(s, program->default_var);
    program->has_default = TRUE;
    return 0;
}

static int program_get_variable(JSParseState *s, JSAtom name) {
    emit_op(s, OP_scope_get_var);
    emit_atom(s, name);
    emit_u16(s, s->cur_func->scope_level);
    return 0;
}

static BOOL at_function(JSParseState *s) {
    return s->token.val == TOK_FUNCTION ||
           (token_is_pseudo_keyword(s, JS_ATOM_async) && peek_token(s, TRUE) == TOK_FUNCTION);
}

/* The name that follows `class`, `function`, `function *` or `async function`;
   JS_ATOM_NULL if there is none. The caller frees it. */
static JSAtom declared_name(JSParseState *s) {
    JSParsePos start;
    JSAtom name = JS_ATOM_NULL;

    js_parse_get_pos(s, &start);
    if (token_is_pseudo_keyword(s, JS_ATOM_async) && next_token(s))
        return JS_ATOM_NULL;
    if (next_token(s) || (s->token.val == '*' && next_token(s)))
        return JS_ATOM_NULL;
    if (s->token.val == TOK_IDENT)
        name = JS_DupAtom(s->ctx, s->token.u.ident.atom);
    if (js_parse_seek_token(s, &start)) {
        JS_FreeAtom(s->ctx, name);
        return JS_ATOM_NULL;
    }
    return name;
}

/* past `export default` */
static int program_export_default(JSParseState *s, Program *program) {
    if (at_function(s) || s->token.val == TOK_CLASS) {
        JSAtom name = declared_name(s);
        if (name != JS_ATOM_NULL) {
            int r = s->token.val == TOK_CLASS
                        ? js_parse_class(s, FALSE, JS_PARSE_EXPORT_NONE)
                        : js_parse_function_decl(s, JS_PARSE_FUNC_STATEMENT, JS_FUNC_NORMAL,
                                                 JS_ATOM_NULL, s->token.ptr);
            if (!r)
                r = program_get_variable(s, name) || program_store_default(s, program);
            JS_FreeAtom(s->ctx, name);
            return r;
        }
        if (js_parse_assign_expr(s))
            return -1;
        set_object_name(s, JS_ATOM_default);
        return program_store_default(s, program);
    }
    if (js_parse_assign_expr(s))
        return -1;
    set_object_name(s, JS_ATOM_default);
    program_store_default(s, program);
    return js_parse_expect_semi(s);
}

/* A re-export, which only a module can have. */
static int program_export_from(JSParseState *s, Program *program) {
    if (!s->cur_func->module) {
        program->needs_module = TRUE;
        return -1;
    }
    return js_parse_export(s);
}

/* `{a, b as c}` without a `from`: nobody imports them. `from` is left to the
   interpreter, since the module has to be loaded. */
static int program_export_list(JSParseState *s, const JSParsePos *start, Program *program) {
    do {
        if (next_token(s))
            return -1;
        JSAtom local = JS_ATOM_NULL;
        if (token_is_ident(s->token.val)) {
            local = JS_DupAtom(s->ctx, s->token.u.ident.atom);
            if (next_token(s)) {
                JS_FreeAtom(s->ctx, local);
                return -1;
            }
            if (token_is_pseudo_keyword(s, JS_ATOM_as)) {
                if (next_token(s)) {
                    JS_FreeAtom(s->ctx, local);
                    return -1;
                }
                if (s->token.val == TOK_DEFAULT) {
                    program_get_variable(s, local);
                    program_store_default(s, program);
                }
                if (token_is_ident(s->token.val) && next_token(s)) {
                    JS_FreeAtom(s->ctx, local);
                    return -1;
                }
            }
            JS_FreeAtom(s->ctx, local);
        }
    } while (s->token.val == ',');
    if (js_parse_expect(s, '}'))
        return -1;
    if (token_is_pseudo_keyword(s, JS_ATOM_from)) {
        if (js_parse_seek_token(s, start))
            return -1;
        return program_export_from(s, program);
    }
    return js_parse_expect_semi(s);
}

static int program_export(JSParseState *s, Program *program) {
    JSParsePos start;
    js_parse_get_pos(s, &start);
    if (next_token(s))
        return -1;
    switch (s->token.val) {
    case TOK_DEFAULT:
        return next_token(s) ? -1 : program_export_default(s, program);
    case '{':
        return program_export_list(s, &start, program);
    case '*':
        return js_parse_seek_token(s, &start) ? -1 : program_export_from(s, program);
    }
    return js_parse_source_element(s);
}

/* ---- imports of a session ---- */

typedef struct {
    JSAtom module;
    int count;
    struct { JSAtom name, local; } *list; /* name: JS_ATOM__star_ for all of it */
} SessionImport;

static void free_session_import(JSContext *ctx, SessionImport *import) {
    JS_FreeAtom(ctx, import->module);
    for (int i = 0; i < import->count; i++) {
        JS_FreeAtom(ctx, import->list[i].name);
        JS_FreeAtom(ctx, import->list[i].local);
    }
    js_free(ctx, import->list);
}

/* Takes the token as the local name of `name`, which becomes the list's. */
static int session_local(JSParseState *s, SessionImport *import, JSAtom name) {
    void *list = NULL;
    if (s->token.val != TOK_IDENT || s->token.u.ident.is_reserved)
        js_parse_error(s, "identifier expected");
    else
        list = js_realloc(s->ctx, import->list, (import->count + 1) * sizeof(*import->list));
    if (!list) {
        JS_FreeAtom(s->ctx, name);
        return -1;
    }
    import->list = list;
    import->list[import->count].name = name;
    import->list[import->count++].local = JS_DupAtom(s->ctx, s->token.u.ident.atom);
    return next_token(s);
}

/* `{a, b as c, default as d}` */
static int session_import_list(JSParseState *s, SessionImport *import) {
    do {
        if (next_token(s))
            return -1;
        if (s->token.val == '}')
            break;
        if (!token_is_ident(s->token.val))
            return js_parse_error(s, "identifier expected");
        JSAtom name = JS_DupAtom(s->ctx, s->token.u.ident.atom);
        BOOL renamed = peek_token(s, FALSE) == TOK_IDENT;
        if (renamed && (next_token(s) || !token_is_pseudo_keyword(s, JS_ATOM_as) || next_token(s))) {
            JS_FreeAtom(s->ctx, name);
            return js_parse_error(s, "'as' expected");
        }
        if (session_local(s, import, name))
            return -1;
    } while (s->token.val == ',');
    return js_parse_expect(s, '}');
}

static int session_import_parse(JSParseState *s, SessionImport *import) {
    if (next_token(s))
        return -1;
    if (s->token.val != TOK_STRING) {
        if (s->token.val == TOK_IDENT) {
            if (session_local(s, import, JS_DupAtom(s->ctx, JS_ATOM_default)))
                return -1;
            if (s->token.val == ',' && next_token(s))
                return -1;
        }
        if (s->token.val == '*') {
            if (next_token(s))
                return -1;
            if (!token_is_pseudo_keyword(s, JS_ATOM_as))
                return js_parse_error(s, "expecting 'as'");
            if (next_token(s) || session_local(s, import, JS_DupAtom(s->ctx, JS_ATOM__star_)))
                return -1;
        } else if (s->token.val == '{' && session_import_list(s, import)) {
            return -1;
        }
        import->module = js_parse_from_clause(s);
        return import->module == JS_ATOM_NULL ? -1 : js_parse_expect_semi(s);
    }
    import->module = JS_ValueToAtom(s->ctx, s->token.u.str.str);
    if (import->module == JS_ATOM_NULL || next_token(s) || js_parse_with_clause(s))
        return -1;
    return js_parse_expect_semi(s);
}

/* Throws if the module on the stack has no export of that name. */
static int session_import_check(JSParseState *s, JSAtom module, JSAtom name) {
    char from[ATOM_GET_STR_BUF_SIZE], what[ATOM_GET_STR_BUF_SIZE], text[2 * ATOM_GET_STR_BUF_SIZE + 80];

    emit_op(s, OP_dup);
    emit_op(s, OP_push_atom_value);
    emit_atom(s, name);
    emit_op(s, OP_swap);
    emit_op(s, OP_in);
    int found = emit_goto(s, OP_if_true, -1);
    snprintf(text, sizeof text, "The requested module '%s' does not provide an export named '%s'",
             JS_AtomGetStr(s->ctx, from, sizeof from, module), JS_AtomGetStr(s->ctx, what, sizeof what, name));
    JSAtom message = JS_NewAtom(s->ctx, text);
    if (message == JS_ATOM_NULL)
        return -1;
    emit_op(s, OP_scope_get_var);
    emit_atom(s, JS_ATOM_SyntaxError);
    emit_u16(s, s->cur_func->scope_level);
    emit_op(s, OP_dup);
    emit_op(s, OP_push_atom_value);
    emit_atom(s, message);
    JS_FreeAtom(s->ctx, message);
    emit_op(s, OP_call_constructor);
    emit_u16(s, 1);
    emit_op(s, OP_throw);
    emit_label(s, found);
    return 0;
}

/* An import declaration in a session, where variables are globals: what is
   imported becomes such variables when the program reaches the line. */
static int session_import(JSParseState *s) {
    SessionImport import = {0};
    const uint8_t *place = s->token.ptr;
    int r = session_import_parse(s, &import);

    if (!r) {
        emit_op(s, OP_push_atom_value);
        emit_atom(s, import.module);
        emit_source_pos(s, place);
        emit_op(s, OP_import);
        emit_op(s, OP_await);
    }
    for (int i = 0; !r && i < import.count; i++) {
        JSAtom name = import.list[i].name, local = import.list[i].local;
        if (name != JS_ATOM__star_)
            r = session_import_check(s, import.module, name);
        emit_op(s, OP_dup);
        if (name != JS_ATOM__star_) {
            emit_op(s, OP_get_field);
            emit_atom(s, name);
        }
        r = r || define_var(s, s->cur_func, local, JS_VAR_DEF_CONST) < 0;
        emit_op(s, OP_scope_put_var_init);
        emit_atom(s, local);
        emit_u16(s, s->cur_func->scope_level);
    }
    if (!r)
        emit_op(s, OP_drop);
    free_session_import(s->ctx, &import);
    return r ? -1 : 0;
}

/* Declarations do not change the value of the statement before them. */
static BOOL is_declaration(JSParseState *s) {
    return at_function(s) || s->token.val == TOK_CLASS || s->token.val == ';' ||
           s->token.val == TOK_EXPORT;
}

/* A program calls it with the value of its last statement or its default export,
   where it ends without a `return`. */
static JSValue native_note_last(JSContext *ctx, JSValueConst this_val, int argc, JSValueConst *argv) {
    guest.is_last = TRUE;
    return JS_DupValue(ctx, argv[0]);
}

static int program_statements(JSParseState *s, Program *program) {
    JSFunctionDef *fd = s->cur_func;

    fd->eval_ret_idx = add_var(s->ctx, fd, JS_ATOM__ret_);
    program->default_var = add_var(s->ctx, fd, JS_ATOM__default_);
    if (fd->eval_ret_idx < 0 || program->default_var < 0)
        return -1;
    while (s->token.val != TOK_EOF) {
        int next = s->token.val == TOK_IMPORT ? peek_token(s, FALSE) : 0;
        BOOL is_import = s->token.val == TOK_IMPORT && next != '(' && next != '.';
        if (is_import && fd->is_session) {
            if (session_import(s))
                return -1;
            continue;
        }
        if ((is_import || s->token.val == TOK_EXPORT) && !fd->module && !fd->is_session) {
            program->needs_module = TRUE;
            return -1;
        }
        if (!is_import && !is_declaration(s)) {
            emit_op(s, OP_undefined);
            emit_op(s, OP_put_loc);
            emit_u16(s, fd->eval_ret_idx);
        }
        if (s->token.val == TOK_EXPORT ? program_export(s, program) : js_parse_source_element(s))
            return -1;
    }
    if (emit_push_const(s, guest.note_last, FALSE))
        return -1;
    emit_op(s, OP_get_loc);
    emit_u16(s, program->has_default ? program->default_var : fd->eval_ret_idx);
    emit_op(s, OP_call);
    emit_u16(s, 1);
    emit_return(s, TRUE);
    return 0;
}

/* Compiles in one form. The text ends with a zero byte. */
static int program_compile_as(JSContext *ctx, Program *program, ProgramForm form, BOOL check,
                              const char *text, size_t size, const char *file) {
    JSParseState state, *s = &state;
    JSModuleDef *module = NULL;

    *program = (Program){.form = form, .function = JS_UNDEFINED};
    js_parse_init(ctx, s, text, size, file);
    skip_shebang(&s->buf_ptr, s->buf_end);
    if (form == FORM_MODULE) {
        JSAtom name = JS_NewAtom(ctx, file);
        if (name == JS_ATOM_NULL || !(module = js_new_module_def(ctx, name)))
            return -1;
    }
    JSFunctionDef *fd = js_new_function_def(ctx, NULL, form == FORM_SESSION, FALSE, file,
                                            s->buf_start, &s->get_line_col_cache);
    if (!fd) {
        if (module)
            js_free_module_def(ctx, module);
        return -1;
    }
    s->cur_func = fd;
    s->is_module = module != NULL;
    s->allow_html_comments = !s->is_module;
    fd->is_program = TRUE;
    fd->is_session = form == FORM_SESSION;
    fd->eval_type = JS_EVAL_TYPE_GLOBAL;
    fd->is_global_var = fd->is_session;
    fd->module = module;
    fd->has_this_binding = TRUE;
    fd->arguments_allowed = TRUE;
    fd->has_simple_parameter_list = TRUE;
    fd->in_function_body = TRUE;
    fd->func_kind = JS_FUNC_ASYNC;
    fd->func_name = JS_DupAtom(ctx, JS_ATOM_empty_string);
    fd->js_mode = module ? JS_MODE_STRICT : 0;

    push_scope(s);
    fd->body_scope = fd->scope_level;
    if (next_token(s) || js_parse_directives(s) || program_statements(s, program)) {
        if (s->has_import_meta && form == FORM_BODY)
            program->needs_module = TRUE;
        free_token(s, &s->token);
        js_free_function_def(ctx, fd);
        if (module)
            js_free_module_def(ctx, module);
        return -1;
    }
    JSValue code = js_create_function(ctx, fd);
    if (JS_IsException(code)) {
        if (module)
            js_free_module_def(ctx, module);
        return -1;
    }
    if (check) { /* imports stay unresolved */
        if (module)
            module->func_obj = JS_DupValue(ctx, code);
        program->function = code;
        return 0;
    }
    if (!module) {
        program->function = js_closure(ctx, code, NULL, NULL);
        return JS_IsException(program->function) ? -1 : 0;
    }
    module->func_obj = code;
    program->module = module;
    if (module_set_meta(ctx, module, file, JS_UNDEFINED))
        return -1;
    if (js_resolve_module(ctx, module) < 0) {
        js_free_modules(ctx, JS_FREE_MODULE_NOT_RESOLVED);
        return -1;
    }
    if (js_create_module_function(ctx, module) < 0 || js_link_module(ctx, module) < 0)
        return -1;
    program->function = JS_DupValue(ctx, module->func_obj);
    return 0;
}

/* -1: an exception is pending, which may be null if out of memory */
static int program_compile(JSContext *ctx, Program *program, BOOL session, BOOL check,
                           const char *text, size_t size, const char *file) {
    int r = program_compile_as(ctx, program, session ? FORM_SESSION : FORM_BODY, check, text, size, file);
    if (r && program->needs_module)
        r = program_compile_as(ctx, program, FORM_MODULE, check, text, size, file);
    return r;
}
