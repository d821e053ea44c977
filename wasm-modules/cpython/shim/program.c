/* Compiles a program: a module in which return and await work, and whose
 * last expression is its result where it returns nothing. The tree is changed
 * between parser and compiler, so every position stays the program's own. */
#include "abi.h"
#include "pycore_ast.h"
#include "pycore_compile.h"
#include "pycore_frame.h"
#include "pycore_parser.h"
#include "pycore_pyarena.h"

enum result_of { RESULT_NOTHING, RESULT_RETURN, RESULT_EXPRESSION };

static int returns(asdl_stmt_seq *body);

static int statement_returns(stmt_ty s)
{
    switch (s->kind) {
    case Return_kind:
        return 1;
    case For_kind:
        return returns(s->v.For.body) || returns(s->v.For.orelse);
    case AsyncFor_kind:
        return returns(s->v.AsyncFor.body) || returns(s->v.AsyncFor.orelse);
    case While_kind:
        return returns(s->v.While.body) || returns(s->v.While.orelse);
    case If_kind:
        return returns(s->v.If.body) || returns(s->v.If.orelse);
    case With_kind:
        return returns(s->v.With.body);
    case AsyncWith_kind:
        return returns(s->v.AsyncWith.body);
    case Match_kind:
        for (Py_ssize_t i = 0; i < asdl_seq_LEN(s->v.Match.cases); i++)
            if (returns(((match_case_ty)asdl_seq_GET(s->v.Match.cases, i))->body))
                return 1;
        return 0;
    case Try_kind:
    case TryStar_kind: {
        asdl_excepthandler_seq *handlers = s->v.Try.handlers;
        for (Py_ssize_t i = 0; i < asdl_seq_LEN(handlers); i++)
            if (returns(((excepthandler_ty)asdl_seq_GET(handlers, i))->v.ExceptHandler.body))
                return 1;
        return returns(s->v.Try.body) || returns(s->v.Try.orelse) || returns(s->v.Try.finalbody);
    }
    default:
        return 0;
    }
}

static int returns(asdl_stmt_seq *body)
{
    for (Py_ssize_t i = 0; i < asdl_seq_LEN(body); i++)
        if (statement_returns((stmt_ty)asdl_seq_GET(body, i)))
            return 1;
    return 0;
}

/* if __name__ == "__main__": without an else */
static int is_main_block(stmt_ty s)
{
    if (s->kind != If_kind || asdl_seq_LEN(s->v.If.orelse))
        return 0;
    expr_ty test = s->v.If.test;
    if (test->kind != Compare_kind || asdl_seq_LEN(test->v.Compare.ops) != 1 ||
        asdl_seq_GET(test->v.Compare.ops, 0) != Eq)
        return 0;
    expr_ty left = test->v.Compare.left, right = (expr_ty)asdl_seq_GET(test->v.Compare.comparators, 0);
    return left->kind == Name_kind && PyUnicode_EqualToUTF8(left->v.Name.id, "__name__") &&
           right->kind == Constant_kind && PyUnicode_Check(right->v.Constant.value) &&
           PyUnicode_EqualToUTF8(right->v.Constant.value, "__main__");
}

/* Makes the last expression the result; 1 if there was one. */
static int return_last(asdl_stmt_seq *body, PyArena *arena)
{
    Py_ssize_t n = asdl_seq_LEN(body);
    if (!n)
        return 0;
    stmt_ty last = (stmt_ty)asdl_seq_GET(body, n - 1);
    if (is_main_block(last))
        return return_last(last->v.If.body, arena);
    if (last->kind != Expr_kind || last->v.Expr.value->kind == Yield_kind || last->v.Expr.value->kind == YieldFrom_kind)
        return 0;
    stmt_ty made = _PyAST_Return(last->v.Expr.value, last->lineno, last->col_offset, last->end_lineno,
                                 last->end_col_offset, arena);
    if (!made)
        return -1;
    asdl_seq_SET(body, n - 1, made);
    return 1;
}

static PyObject *program_file;

int in_program(void)
{
    _PyInterpreterFrame *frame = _PyThreadState_GetFrame(PyThreadState_Get());
    return frame && program_file && PyUnicode_Compare(_PyFrame_GetCode(frame)->co_filename, program_file) == 0;
}

PyObject *program_compile(PyObject *module, PyObject *args)
{
    PyObject *source, *file, *made = NULL;
    if (!PyArg_ParseTuple(args, "UU", &source, &file))
        return NULL;
    Py_XSETREF(program_file, Py_NewRef(file));
    Py_ssize_t size;
    const char *text = PyUnicode_AsUTF8AndSize(source, &size);
    if (!text)
        return NULL;
    if (strlen(text) != (size_t)size) {
        PyErr_SetString(PyExc_SyntaxError, "source code cannot contain null bytes");
        return NULL;
    }
    PyArena *arena = _PyArena_New();
    if (!arena)
        return NULL;
    PyCompilerFlags flags = {.cf_flags = PyCF_ALLOW_TOP_LEVEL_AWAIT | PyCF_SOURCE_IS_UTF8 | PyCF_IGNORE_COOKIE,
                             .cf_feature_version = PY_MINOR_VERSION};
    mod_ty tree = _PyParser_ASTFromString(text, file, Py_file_input, &flags, arena);
    if (tree) {
        int result = RESULT_RETURN, found;
        if (!returns(tree->v.Module.body)) {
            found = return_last(tree->v.Module.body, arena);
            result = found > 0 ? RESULT_EXPRESSION : RESULT_NOTHING;
            if (found < 0)
                tree = NULL;
        }
        PyCodeObject *code = tree ? _PyAST_Compile(tree, file, &flags, -1, arena) : NULL;
        if (code)
            made = Py_BuildValue("Ni", code, result);
    }
    _PyArena_Free(arena);
    return made;
}
