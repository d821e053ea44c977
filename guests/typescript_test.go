package guests_test

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/wexec/wexec/audit"
	"github.com/wexec/wexec/engine"
	"github.com/wexec/wexec/fault"
	"github.com/wexec/wexec/guests"
	"github.com/wexec/wexec/hostfns"
	"github.com/wexec/wexec/hostfns/files"
)

// newEngine is an engine with a cache folder that outlives the test: compiling
// the compiler takes seconds.
func newEngine(t *testing.T) *engine.Engine {
	t.Helper()
	dir, err := os.UserCacheDir()
	if err != nil {
		dir = os.TempDir()
	}
	e, err := engine.New(context.Background(), engine.Config{Cache: filepath.Join(dir, "wexec-test")})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := e.Close(); err != nil {
			t.Error(err)
		}
	})
	return e
}

func TestTypeScriptProgramsGiveTheirValue(t *testing.T) {
	e := newEngine(t)
	for _, c := range []struct{ code, want string }{
		{"", "null"},
		{"1 + 1", "2"},
		{"const x: number = 40; x + 2", "42"},
		{"const x: number = 40\nreturn x + 2 // done", "42"},
		{"#!/usr/bin/env ts-node\n'use strict'\nreturn this === undefined || typeof this", `true`},
		{"export default {a: [1, 2] as const}", `{"a":[1,2]}`},
		{"const v = await Promise.resolve<number>(7)\nreturn v", "7"},
		{"const v = await Promise.resolve<number>(7)\nv * 2", "14"},
		{"interface A { x: number }\ntype B = A & { y?: string }\nconst b: B = { x: 1 }\nreturn b!.x", "1"},
		{"enum E { A = 1, B, C = 'c' }\nreturn [E.B, E.C, E[1]]", `[2,"c","A"]`},
		{"enum E { A = 1, B }\nreturn await Promise.resolve(E.B)", "2"},
		{"const enum K { X = 5 }\nreturn K.X", "5"},
		{"namespace N { export const x = 3; export namespace M { export const y = 4 } }\nreturn N.x + N.M.y", "7"},
		{"const o = { a: 1 } satisfies Record<string, number>\nreturn o.a", "1"},
		{"class P { constructor(private readonly a: number, public b = 2) {} sum(): number { return this.a + this.b } }\nreturn new P(1).sum()", "3"},
		{"abstract class S { abstract f(): number; g() { return this.f() + 1 } }\nclass T extends S { override f() { return 1 } }\nreturn new T().g()", "2"},
		{"function up(f: any, c: any) { return function (this: any) { return f.call(this).toUpperCase() } }\nclass A { @up name() { return 'a' } }\nreturn new A().name()", `"A"`},
		{"const log: string[] = []\n{ using a = { [Symbol.dispose]() { log.push('closed') } }; log.push('open') }\nreturn log", `["open","closed"]`},
		{"function id<T>(x: T): T { return x }\nreturn (<string>id('x')) + id<number>(1)", `"x1"`},
		{"function f(this: void, a: string, ...rest: number[]): asserts a is 'x' {}\nlet t: [a: string, b?: number] = ['q']\nreturn t", `["q"]`},
		{"declare const missing: string\nreturn typeof missing", `"undefined"`},
		{"let n: bigint = 2n ** 10n\nreturn Number(n)", "1024"},
		{"const text = `a\n  } b`\nreturn (await text).length", "7"},
	} {
		res, err := e.Run(context.Background(), engine.Request{Language: "typescript", Code: c.code})
		got, _ := json.Marshal(res.Value)
		if err != nil || string(got) != c.want {
			t.Errorf("%q gives %s and not %s, %v", c.code, got, c.want, err)
		}
	}
}

func TestTypeScriptErrorsAreWhereTheAuthorWroteThem(t *testing.T) {
	e := newEngine(t)
	for _, c := range []struct {
		code, fault  string
		line, column int
		in           string // part of message, hint or excerpt
	}{
		{"let x: number = ;", "guest.syntax", 1, 17, "let x: number = ;"},
		{"const a = 1\nawait a\nreturn <div>{a}</div>", "guest.syntax", 3, 8, "markup"},
		{"```ts\n1\n```\nand\n```ts\n2\n```", "guest.syntax", 1, 1, "fences"},
		{"```ts\nconst a: number = 1\nthrow new Error(`boom ${a}`)\n```", "guest.exception", 3, 0, "boom 1"},
		{"interface A {\n  x: number\n}\n\nconst f = (a: A): number => {\n  throw new TypeError('boom')\n}\nf({x: 1})", "guest.exception", 6, 0, "boom"},
		{"type T = {\n  a: string\n}\nconst t: T = JSON.parse('{}')\nreturn await t.a.trim()", "guest.exception", 5, 0, "return await t.a.trim()"},
		{"enum E { A }\n\nnull!.x", "guest.exception", 3, 0, "null!.x"},
	} {
		res, err := e.Run(context.Background(), engine.Request{Language: "typescript", Code: c.code})
		if err == nil || res.Error == nil {
			t.Errorf("%q succeeds", c.code)
			continue
		}
		x := res.Error
		all := x.Message + "\n" + x.Hint + "\n" + x.Excerpt
		if string(x.Code) != c.fault || x.Line != c.line || c.column > 0 && x.Column != c.column || !strings.Contains(all, c.in) || x.File != "main.ts" {
			t.Errorf("%q: %s %s:%d:%d %s", c.code, x.Code, x.File, x.Line, x.Column, all)
		}
	}
}

func TestTypeScriptFilesBesideTheProgramAreImported(t *testing.T) {
	e := newEngine(t)
	root := t.TempDir()
	for name, text := range map[string]string{
		"lib/rows.ts": "import { Kind } from './kind'\nexport interface Row { id: number }\nexport const rows: Row[] = [{ id: Kind.Large }]\n",
		"lib/kind.ts": "export enum Kind { Small = 1, Large }\n",
		"fails.ts":    "type T = string\n\nexport function fail(x: T): never {\n  throw new RangeError(x)\n}\n",
		"broken.ts":   "export const x: number = ;\n",
	} {
		path := filepath.Join(root, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	table, err := hostfns.NewTable(nil, audit.None(), files.New())
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		language, code, want, fault string
		file                        string
		line                        int
	}{
		{"typescript", "import { rows, type Row } from './lib/rows'\nconst r: Row = rows[0]\nreturn r.id", "2", "", "", 0},
		{"javascript", "import { rows } from './lib/rows.ts'\nreturn rows", `[{"id":2}]`, "", "", 0},
		{"typescript", "import { fail } from './fails'\nfail('no')", "", "guest.exception", "fails.ts", 4},
		{"typescript", "import { x } from './broken'\nreturn x", "", "guest.syntax", "broken.ts", 1},
	} {
		res, err := e.Run(context.Background(), engine.Request{Language: c.language, Code: c.code, Table: table, Root: root, File: "main." + c.language[:1] + "s"})
		if c.fault == "" {
			got, _ := json.Marshal(res.Value)
			if err != nil || string(got) != c.want {
				t.Errorf("%q gives %s and not %s, %v", c.code, got, c.want, err)
			}
			continue
		}
		if x := res.Error; x == nil || string(x.Code) != c.fault || !strings.HasSuffix(x.File, c.file) || x.Line != c.line {
			t.Errorf("%q: %+v", c.code, *x)
		}
	}
}

// TestHostileTypeScriptLeavesTheHostAlone runs, among others, the two programs
// that end or hang a host which compiles them in its own process.
func TestHostileTypeScriptLeavesTheHostAlone(t *testing.T) {
	if testing.Short() {
		t.Skip("short: compiles until the limits")
	}
	e := newEngine(t)
	programs := map[string]string{
		"256 KiB of (": strings.Repeat("(", 256<<10),
		"256 KiB of !": strings.Repeat("!", 256<<10),
		"6 KB of x=>":  strings.Repeat("x=>", 2_000) + "1",
		"12 KB of x=>": strings.Repeat("x=>", 4_000) + "1",
		"a megabyte":   "const s = '" + strings.Repeat("a", 1<<20) + "'\nreturn s.length",
		"a long line":  "return [" + strings.Repeat("1,", 200_000) + "].length",
		"many names":   "return 1\n" + strings.Repeat("function f<T>(x?: T): void {}\n", 5_000),
		"NUL bytes":    strings.Repeat("\x00", 10_000),
		"no UTF-8":     strings.Repeat("\xff\xfe", 10_000),
	}
	for _, opens := range []string{
		"[", "{", "`${", "f(", "a?.[", "if (1) ", "for (;;) ", "while (0) ", "do ", "try {", "switch (1) { case ", "function f() {",
		"async () => {", "class A { static {", "x = class extends ", "-", "typeof ", "new ", "await ", "yield ", "...", "1 ? ", "a = ", "<T>",
		"<any>", "type T = A<", "type T = {a: ", "let x: ((", "let x: [", "enum E { A = ", "namespace N {", "@d(", "@", "/(", "// ", "/*", "'\\",
		"a as ", "a!", "import(", "export default ", "let {a: ", "label: ", "((a, b", "#!", "0x", "1e", "\\u{", "<a>", "</",
	} {
		programs["20,000 times "+opens] = strings.Repeat(opens, 20_000)
	}
	for name, code := range programs {
		start := time.Now()
		_, err := e.Run(context.Background(), engine.Request{Language: "typescript", Code: code})
		switch code := fault.CodeOf(err); {
		case code == "", code.Class() == fault.ClassGuest, code == fault.LimitFuel, code == fault.LimitTime, code == fault.LimitMemory, code == fault.LimitRecursion:
		default:
			t.Errorf("%s: %s %.300v", name, code, err)
		}
		if took := time.Since(start); took > time.Minute {
			t.Errorf("%s: it took %v", name, took)
		}
	}
	res, err := e.Run(context.Background(), engine.Request{Language: "typescript", Code: "return 1 as number"})
	if err != nil || string(res.Value) != "1" {
		t.Errorf("afterwards: %s, %v", res.Value, err)
	}
}

func TestSyntaxErrorsAreFaults(t *testing.T) {
	e := newEngine(t)
	_, err := e.Run(context.Background(), engine.Request{Language: "ts", Code: "let = ;"})
	if fault.CodeOf(err) != fault.GuestSyntax {
		t.Errorf("%v", err)
	}
	if g, err := guests.Lookup("ts"); err != nil || g.Compiler == "" {
		t.Errorf("%+v, %v", g, err)
	}
}
