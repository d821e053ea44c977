package python_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
)

// Programs made to hurt a parser. Each ends with its own outcome; none
// traps, and none takes the host down.
func TestHostileProgramsEndWithAnOutcome(t *testing.T) {
	big := strings.Repeat
	programs := map[string]string{
		"parentheses":          big("(", 1<<20),
		"closed parentheses":   big("(", 5000) + "1" + big(")", 5000),
		"brackets":             big("[", 1<<19),
		"closed brackets":      big("[", 3000) + big("]", 3000),
		"braces":               big("{", 1<<19),
		"nested dicts":         big("{1:", 3000) + "1" + big("}", 3000),
		"minus":                big("-", 1<<18) + "1",
		"not":                  big("not ", 1<<16) + "1",
		"tilde":                big("~", 1<<18) + "1",
		"lambda":               big("lambda:", 1<<16) + "1",
		"lambda arguments":     big("lambda x: ", 1000) + "1",
		"await":                "async def f():\n    " + big("await ", 1<<16) + "x",
		"star":                 big("*", 1<<16) + "x",
		"dots":                 "x" + big(".a", 1<<17),
		"calls":                "x" + big("()", 1<<16),
		"subscripts":           "x" + big("[0]", 1<<16),
		"nested calls":         big("f(", 1<<14) + big(")", 1<<14),
		"conditional":          big("1 if 1 else ", 1<<14) + "1",
		"and":                  "1" + big(" and 1", 1<<16),
		"plus":                 "1" + big("+1", 1<<17),
		"power":                "1" + big("**1", 1<<14),
		"compare":              "1" + big("<1", 1<<16),
		"comparisons nested":   big("(1<", 2000) + "1" + big(")", 2000),
		"assignment":           big("x=", 1<<16) + "1",
		"walrus":               big("(x:=", 3000) + "1" + big(")", 3000),
		"tuple":                big("1,", 1<<18),
		"f-strings":            "f'" + big("{f'", 200) + big("'}", 200) + "'",
		"f-string braces":      "f'" + big("{", 1<<16),
		"f-string format":      "f'{1:" + big("{1:", 500) + big("}", 500) + "}'",
		"string":               "'" + big("a", 1<<21),
		"triple string":        "'''" + big("a\n", 1<<19),
		"escapes":              "'" + big("\\N{DIGIT ONE}", 1<<14) + "'",
		"bad escape":           "'\\N{" + big("A", 1<<18) + "}'",
		"bytes":                "b'" + big("\\xff", 1<<17) + "'",
		"digits":               big("9", 1<<20),
		"hexadecimal":          "0x" + big("f", 1<<20),
		"underscores":          "1" + big("_1", 1<<18),
		"float":                "1" + big("0", 1<<18) + ".0e-" + big("9", 1<<18),
		"complex":              big("1j+", 1<<15) + "1j",
		"name":                 big("a", 1<<20),
		"names":                big("a;", 1<<17),
		"wide name":            big("ǆ", 1<<17),
		"newlines":             big("\n", 1<<20),
		"semicolons":           big(";", 1000),
		"spaces":               big(" ", 1<<20) + "1",
		"tabs":                 big("\t", 1<<16) + "1",
		"backslashes":          big("\\\n", 1<<18) + "1",
		"comments":             big("#", 1<<21),
		"indents":              indents(200),
		"deep if":              indents(99),
		"elif":                 "if 0: pass\n" + big("elif 0: pass\n", 1<<12),
		"nested functions":     nested("def f():", 95),
		"nested classes":       nested("class A:", 95),
		"nested with":          nested("with x:", 95),
		"nested try":           tries(18),
		"nested for":           nested("for i in x:", 19),
		"for too deep":         nested("for i in x:", 40),
		"decorators":           big("@a\n", 1<<13) + "def f(): pass",
		"arguments":            "def f(" + arguments(1<<14) + "): pass",
		"repeated argument":    "def f(" + big("a,", 1000) + "): pass",
		"call arguments":       "f(" + big("1,", 1<<17) + ")",
		"keywords":             "f(" + big("a=1,", 1<<12) + ")",
		"imports":              "import " + big("a.", 1<<15) + "a",
		"import list":          "from math import (" + big("sin,", 1<<15) + ")",
		"globals":              "global " + big("a,", 1<<14) + "a",
		"comprehensions":       big("[", 90) + "x" + big(" for x in y]", 90),
		"generator clauses":    "[x " + big("for x in y ", 3000) + "]",
		"conditions":           "[x for x in y " + big("if x ", 1<<13) + "]",
		"match or":             "match x:\n    case " + big("1|", 1<<13) + "1: pass",
		"match nested":         "match x:\n    case " + big("[", 3000) + big("]", 3000) + ": pass",
		"match cases":          "match x:\n" + big("    case 1: pass\n", 1<<12),
		"match mapping":        "match x:\n    case {" + big("1: _, ", 1<<12) + "}: pass",
		"type parameters":      "def f[" + arguments(1<<12) + "](): pass",
		"type alias":           "type X = " + big("list[", 3000) + "int" + big("]", 3000),
		"annotations":          big("x: int\n", 1<<15),
		"slices":               "x[" + big(":,", 1<<15) + "]",
		"ellipsis":             big("...,", 1<<15),
		"print statement":      "print " + big("x, ", 1<<12),
		"unmatched":            big(")", 1<<16),
		"mixed brackets":       big("([{", 1<<14) + big("}])", 1<<14),
		"wrong order":          big("([", 1000) + big(")]", 1000),
		"control characters":   big("\x01\x02\x7f", 1<<12),
		"lone byte order":      big("\ufeff", 1000),
		"nul in a string":      "'" + big("\x00", 100) + "'",
		"zero width":           big("\u200b", 1<<14),
		"right to left":        big("\u202e", 1<<14) + "x",
		"coding line":          "# -*- coding: " + big("x", 1<<14) + " -*-\n1",
		"coding utf-7":         "# coding: utf-7\n1",
		"constants":            "x = [" + big("1.5, 'a', ", 1<<16) + "]",
		"constant folding":     big("(", 40) + "'a'*4096" + big(")*4096", 40),
		"huge power":           "9**9**9 if 0 else 1",
		"huge shift":           "1 << (1 << 40)",
		"huge repeat":          "'a' * (1 << 29) * 9",
		"huge format":          "'%*d' % (1 << 30, 1)",
		"eval bomb":            "eval('(' * 100000)",
		"compile bomb":         "compile('-' * 100000 + '1', 'x', 'eval')",
		"ast bomb":             "import ast\nast.parse('[' * 5000 + ']' * 5000)",
		"literal bomb":         "import ast\nast.literal_eval('-' * 50000 + '1')",
		"regex depth":          "import re\nre.compile('(' * 5000 + ')' * 5000)",
		"pickle bomb":          "import pickle\npickle.loads(b'(' * 100000)",
		"repr depth":           "a = []\nfor _ in range(100000):\n    a = [a]\nrepr(a)",
		"compare depth":        "a = b = []\nfor _ in range(100000):\n    a, b = [a], [b]\na == b",
		"xml depth":            "import xml.etree.ElementTree as E\nE.fromstring('<a>' * 100000)",
		"deleted recursion":    "class A:\n    def __del__(self):\n        A()\nfor _ in range(10):\n    A()",
		"attribute recursion":  "class A:\n    def __getattr__(self, n):\n        return getattr(self, n + 'x')\nA().y",
		"isinstance recursion": "t = int\nfor _ in range(100000):\n    t = (t,)\nisinstance(1, t)",
		"string recursion":     "class A:\n    def __repr__(self):\n        return repr(self)\nraise Exception(A())",
		"message that raises":  "class E(Exception):\n    def __str__(self):\n        raise ValueError\nraise E",
		"huge message":         "raise ValueError('x' * 50_000_000)",
		"cause cycle":          "a, b = ValueError(1), ValueError(2)\na.__cause__, b.__cause__ = b, a\nraise a",
		"long chain":           "e = None\nfor i in range(5000):\n    n = ValueError(i)\n    n.__cause__ = e\n    e = n\nraise e",
		"wide group":           "raise ExceptionGroup('g', [ValueError(i) for i in range(5000)])",
		"stdout taken away":    "import sys\nsys.stdout = None\nsys.stderr = None\n1/0",
		"modules taken away":   "import sys\nsys.modules.clear()\n1/0",
		"builtins taken away":  "import builtins\nfor n in list(vars(builtins)):\n    delattr(builtins, n)\n1/0",
		"traceback replaced":   "import traceback\ntraceback.TracebackException = None\n1/0",
		"exit in exit":         "import atexit\natexit.register(lambda: exit(5))\n1/0",
	}
	if len(programs) < 100 {
		t.Fatalf("only %d programs", len(programs))
	}
	for name, code := range programs {
		if testing.Short() && (len(code) > 1<<16 || len(name)%4 != 0) {
			continue
		}
		t.Run(name, func(t *testing.T) {
			h := &host{input: input(code), fuel: 4000}
			err := newGuest(t, h).run()
			if err != nil {
				if strings.Contains(err.Error(), "fuel is used up") || strings.Contains(err.Error(), "out of memory") {
					return
				}
				t.Fatalf("no outcome: %.600s", err)
			}
			if h.kind == outcomeError && h.fault(t).Code == "" {
				t.Errorf("an error without a code: %s", h.document)
			}
			if h.kind == outcomeError && len(h.document) > 1<<17 {
				t.Errorf("the outcome has %d bytes", len(h.document))
			}
		})
	}
}

func indents(depth int) string {
	var b strings.Builder
	for i := range depth {
		b.WriteString(strings.Repeat(" ", i) + "if 1:\n")
	}
	return b.String() + strings.Repeat(" ", depth) + "1"
}

func nested(head string, depth int) string {
	var b strings.Builder
	for i := range depth {
		b.WriteString(strings.Repeat(" ", i) + head + "\n")
	}
	return b.String() + strings.Repeat(" ", depth) + "pass"
}

func tries(depth int) string {
	var b strings.Builder
	for i := range depth {
		b.WriteString(strings.Repeat(" ", i) + "try:\n")
	}
	b.WriteString(strings.Repeat(" ", depth) + "pass\n")
	for i := depth - 1; i >= 0; i-- {
		b.WriteString(strings.Repeat(" ", i) + "finally: pass\n")
	}
	return b.String()
}

func arguments(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "a%d,", i)
	}
	return b.String()
}

// Answers that a broken or hostile host may give. Each becomes an exception of
// the program or an outcome; none a trap.
func TestHostileAnswersBecomeErrors(t *testing.T) {
	bad := []string{"", " ", "{", "]", "nul", "tru", "01", "1.", "-", "1e", "\"", "\"\\", "\"\\u12", "\"\\ud800\\u", "[1,", "{\"a\"", "{\"a\":", "{\"a\":1,",
		"\x00", "[\x00]", "\"\x00\"", "\"\n\"", "\xff", "\"\xff\"", "\"\xed\xa0\x80\"", "\"\xc0\x80\"", "\"\xf4\x90\x80\x80\"", "[1]x", "{}{}", "NaN", "Infinity", "'a'",
		"{1:2}", "{\"a\" 1}", "[1 2]", "//", "\"\\x41\"", "+1", ".5", "0x10", "1_000", "\ufeff1", strings.Repeat("[", 1<<20), strings.Repeat("{\"a\":", 1<<18),
		strings.Repeat("[", 3000) + strings.Repeat("]", 3000), "\"" + strings.Repeat("\\u", 10000), strings.Repeat("9", 100000), "-" + strings.Repeat("9", 100000), "1e999999999999"}
	n := 0
	for _, kind := range []int64{answerJSON, answerError, answerContent, answerText, answerBytes, 5, 99, -1} {
		for _, data := range bad {
			if n++; testing.Short() && n%8 != 0 {
				continue
			}
			h := &host{input: input("try:\n    tools.github.x()\nexcept Exception as e:\n    repr(e)\n1"), fuel: 20_000}
			h.handle = func(string, string) answer { return answer{kind: kind, data: data} }
			if err := newGuest(t, h).run(); err != nil {
				t.Errorf("kind %d %.40q: %.300v", kind, data, err)
			} else if h.value(t) != "1" {
				t.Errorf("kind %d %.40q: %s", kind, data, h.document)
			}
		}
	}
	for _, data := range []string{`null`, `1`, `"x"`, `[]`, `{}`, `{"code":1}`, `{"code":""}`, `{"code":"denied.x","message":null,"rule":[]}`, `{"message":{}}`} {
		n++
		h := run(t, "try:\n    tools.github.x()\nexcept (ToolError, PolicyError) as e:\n    r = [e.code, e.message, e.tool, e.hint, e.rule]\nall(isinstance(x, str) for x in r)",
			func(h *host) { h.handle = func(string, string) answer { return answer{kind: answerError, data: data} } })
		if h.value(t) != "true" {
			t.Errorf("error answer %s: %s", data, h.document)
		}
	}
	if n < 200 {
		t.Errorf("only %d answers", n)
	}
}

func TestAHostThatLiesAboutItselfIsSurvived(t *testing.T) {
	ones := ^uint64(0)
	for _, c := range []struct {
		function string
		results  []uint64
	}{
		{"call_start", []uint64{0, ones, 1 << 62, 1 << 63}},
		{"call_wait", []uint64{0, 7, ones, 1 << 63, 1 << 40}},
		{"answer_size", []uint64{ones, 1 << 63, 0xffffffff, 0xfffffff0, 1<<32 | 0xffffffff, 4<<32 | 0xffffffff, 4<<32 | 1<<30, 2<<32 | 1<<31}},
		{"answer_read", []uint64{0, ones, 0xffffffff, 1 << 31}},
	} {
		for _, result := range c.results {
			if testing.Short() && result%2 == 0 {
				continue
			}
			for _, code := range []string{
				"try:\n    tools.github.x()\nexcept Exception:\n    pass\n1",
				"try:\n    await tools.aio.github.x()\nexcept Exception:\n    pass\n1",
			} {
				h := &host{input: input(code), fuel: 20_000}
				calls := 0
				h.odd = func(name string, s []uint64) bool {
					if name != c.function {
						return false
					}
					if calls++; calls > 50 {
						panic("asked again and again")
					}
					s[0] = result
					return true
				}
				err := newGuest(t, h).run()
				if err != nil && !strings.Contains(err.Error(), "again and again") && !strings.Contains(err.Error(), "fuel") {
					t.Errorf("%s gives %#x: %.400v", c.function, result, err)
				}
				if err == nil && h.kind == outcomeError && h.fault(t).Code == "" {
					t.Errorf("%s gives %#x: %s", c.function, result, h.document)
				}
			}
		}
	}
}

func TestHostileInputDocumentsBecomeErrors(t *testing.T) {
	documents := []string{"", "{", "[]", "null", "1", `{"code":1}`, `{"code":null}`, `{"code":{}}`, `{"code":"1","file":7}`, `{"code":"1","servers":7}`,
		`{"code":"1","argv":7}`, `{"code":"1","env":[]}`, `{"code":"1","env":{"a=b":"c"}}`, `{"code":"1","env":{"":""}}`, `{"code":"1","env":{"a":"\u0000"}}`,
		`{"code":"1","recursion":-1}`, `{"code":"1","recursion":1}`, `{"code":"1","recursion":"x"}`, `{"code":"1","recursion":1e99}`, `{"code":"1","recursion":99999999999}`,
		`{"code":"1","root":7}`, `{"code":"1","packages":[]}`, `{"code":"\ud800"}`, `{"code":"1","file":"\ud800"}`, `{"code":"1","args":"x"}`, `{"code":"1","session":"yes"}`,
		strings.Repeat("[", 100000), "\xff\xfe", `{"code":"` + strings.Repeat("a", 1<<20) + `"}`}
	for _, d := range documents {
		h := &host{raw: []byte(d), fuel: 20_000}
		if err := newGuest(t, h).run(); err != nil {
			t.Errorf("%.60s: %.300v", d, err)
			continue
		}
		if h.kind == outcomeError && !json.Valid(h.document) {
			t.Errorf("%.60s: the outcome is not JSON: %q", d, h.document)
		}
	}
}
