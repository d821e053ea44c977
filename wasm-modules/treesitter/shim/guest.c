/* Syntax trees of programs, by the grammars of Tree-sitter.

   The input is the name of a language, a line feed and a program. The value of a
   JSON object are the version and the languages, as JSON. Else it is the tree in the form that review/syntax reads: nodes in the order of the text, each
   as numbers of 7 bits a byte, the low ones first:

     kind << 1 | first     and, the first time, a byte (1 for a named node) and the name
     field << 2 | first << 1 | missing     and, the first time, the name; field 0 has no name
     bytes from the start of the parent's text to its own, and the length of its text
     its children, and 0

   A kind is the number of the grammar and 1. A name is its length and its bytes.
   Nodes without a name that are in no field, such as brackets, are left out. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <tree_sitter/api.h>

#define HOST(name) __attribute__((import_module("wexec"), import_name(#name)))
#define EXPORT(name) __attribute__((export_name(#name)))

HOST(input_size) extern int32_t input_size(void);
HOST(input_read) extern int32_t input_read(void *at, int32_t size);
HOST(finish) extern void finish(int32_t kind, const void *at, int32_t size);

extern const TSLanguage *tree_sitter_javascript(void);
extern const TSLanguage *tree_sitter_python(void);
extern const TSLanguage *tree_sitter_typescript(void);

static const struct {
    const char *name;
    const TSLanguage *(*grammar)(void);
} languages[] = {
    {"javascript", tree_sitter_javascript},
    {"python", tree_sitter_python},
    {"typescript", tree_sitter_typescript},
};

static TSParser *parser;

/* The output, and which names it has. */
static uint8_t *out;
static size_t used, room;
static uint8_t kinds[1 << 16], fields[1 << 16];

static void need(size_t more) {
    if (room - used >= more)
        return;
    while (room - used < more)
        room = room ? 2 * room : 1 << 16;
    out = realloc(out, room);
    if (!out)
        __builtin_trap();
}

static void number(uint32_t v) {
    need(5);
    for (; v >= 0x80; v >>= 7)
        out[used++] = v | 0x80;
    out[used++] = v;
}

static void bytes(const char *s) {
    size_t n = strlen(s);
    need(n);
    memcpy(out + used, s, n);
    used += n;
}

static void text(const char *s) {
    number(strlen(s));
    bytes(s);
}

/* seen reports whether a name was written before, and notes that it is now. */
static uint32_t seen(uint8_t *names, uint16_t id) {
    uint32_t before = names[id];
    names[id] = 1;
    return before;
}

static void node(TSNode n, TSFieldId field, const char *field_name, uint32_t parent) {
    uint16_t symbol = ts_node_symbol(n);
    uint32_t kind = (symbol == (uint16_t)-1 ? 0 : symbol) + 1u; /* errors have the number of the end */
    uint32_t first = !seen(kinds, kind);
    number(kind << 1 | first);
    if (first) {
        number(ts_node_is_named(n));
        text(ts_node_type(n));
    }
    first = field && !seen(fields, field);
    number((uint32_t)field << 2 | first << 1 | ts_node_is_missing(n));
    if (first)
        text(field_name);
    number(ts_node_start_byte(n) - parent);
    number(ts_node_end_byte(n) - ts_node_start_byte(n));
}

/* walk writes the tree without recursion: programs choose how deep it is. */
static void walk(TSTree *tree) {
    TSTreeCursor c = ts_tree_cursor_new(ts_tree_root_node(tree));
    uint32_t depth = 0, deepest = 0, *starts = NULL;
    for (;;) {
        TSNode n = ts_tree_cursor_current_node(&c);
        TSFieldId field = ts_tree_cursor_current_field_id(&c);
        int written = ts_node_is_named(n) || field;
        if (written)
            node(n, field, ts_tree_cursor_current_field_name(&c), depth ? starts[depth - 1] : 0);
        if (written && ts_tree_cursor_goto_first_child(&c)) {
            if (depth == deepest) {
                deepest = deepest ? 2 * deepest : 256;
                starts = realloc(starts, deepest * sizeof *starts);
                if (!starts)
                    __builtin_trap();
            }
            starts[depth++] = ts_node_start_byte(n);
            continue;
        }
        if (written)
            number(0);
        while (!ts_tree_cursor_goto_next_sibling(&c)) {
            if (!ts_tree_cursor_goto_parent(&c))
                return;
            number(0);
            depth--;
        }
    }
}

EXPORT(guest_init) int32_t guest_init(void) {
    parser = ts_parser_new();
    need(1 << 16);
    return !parser;
}

/* about writes the version and the languages that the parser accepts. */
static void about(void) {
    bytes("{\"version\": \"" TREE_SITTER_VERSION "\", \"languages\": [");
    for (size_t i = 0; i < sizeof languages / sizeof *languages; i++) {
        if (!ts_parser_set_language(parser, languages[i].grammar()))
            continue;
        bytes(i ? ", \"" : "\"");
        bytes(languages[i].name);
        bytes("\"");
    }
    bytes("]}");
}

EXPORT(guest_run) int32_t guest_run(void) {
    int32_t size = input_size();
    char *input = malloc(size + 1);
    if (!input)
        return 1;
    size = input_read(input, size);
    input[size] = 0;
    if (*input == '{') {
        about();
        finish(0, out, used);
        return 0;
    }
    char *code = memchr(input, '\n', size);
    if (!code)
        return 5;
    *code++ = 0;
    for (size_t i = 0; i < sizeof languages / sizeof *languages; i++) {
        if (strcmp(input, languages[i].name) != 0)
            continue;
        if (!ts_parser_set_language(parser, languages[i].grammar()))
            return 2;
        TSTree *tree = ts_parser_parse_string(parser, NULL, code, input + size - code);
        if (!tree)
            return 3;
        walk(tree);
        finish(0, out, used);
        return 0;
    }
    return 4;
}
