package guests

import (
	"context"
	"encoding/json"
	"errors"
	"testing"

	"github.com/wexec/wexec/fault"
)

// answering is a compiler that always gives the same.
type answering string

func (a answering) Compile(_ context.Context, r CompileRequest) (CompileResult, error) {
	if r.Module != "esbuild" {
		return CompileResult{}, errors.New("another module")
	}
	var in compileInput
	if err := json.Unmarshal(r.Input, &in); err != nil || in.File == "" {
		return CompileResult{}, errors.New("no input")
	}
	return CompileResult{Output: []byte(a)}, nil
}

func TestJavaScriptAndPythonStayAsTheyAre(t *testing.T) {
	for language, file := range map[string]string{"js": "main.js", "python": "main.py"} {
		code := "# “anything” \x00 ```\n(((("
		p, err := Prepare(context.Background(), Source{Language: language, Code: "\ufeff" + code}, nil)
		if err != nil || p.Code != code || p.File != file || p.Map != nil {
			t.Errorf("%s: %+v, %v", language, p, err)
		}
		if pos, ok := p.Origin(2, 3); !ok || pos != (Position{2, 3, "(((("}) {
			t.Errorf("%+v %v", pos, ok)
		}
		if _, ok := p.Origin(9, 1); ok {
			t.Error("a line that is not there")
		}
	}
}

func TestTypeScriptNeedsItsCompiler(t *testing.T) {
	if _, err := Prepare(context.Background(), Source{Language: "ts", Code: "1"}, nil); fault.CodeOf(err) != fault.Internal {
		t.Error(err)
	}
	for _, output := range []string{"", "null!", `{"code": 1}`, `{"code": "1", "map": {"version": 3, "mappings": "!"}}`, `{"code": "1"}`} {
		if _, err := Prepare(context.Background(), Source{Language: "ts", Code: "1"}, answering(output)); fault.CodeOf(err) != fault.Internal {
			t.Errorf("%q: %v", output, err)
		}
	}
}

func TestPlacesAreCountedInCharacters(t *testing.T) {
	out, _ := json.Marshal(compileOutput{Code: "let s = \"😀\", t = f();", Map: mapOf("AAAA,cAAsB")})
	p, err := Prepare(context.Background(), Source{Language: "ts", Code: "let s: string = \"😀\", t = f();"}, answering(out))
	if err != nil {
		t.Fatal(err)
	}
	// t is at unit 14 of the code, its 14th character, and at unit 22 of the
	// source, its 22nd.
	if pos, ok := p.Origin(1, 14); !ok || pos.Column != 22 {
		t.Errorf("%+v, %v", pos, ok)
	}
	if got, want := p.Stack("at f (main.ts:1:14)\nat g (other.ts:1:13)\nat h (main.ts:7:1)\nat i (/app/main.ts:1:14)"), "at f (main.ts:1:22)\nat g (other.ts:1:13)\nat i (/app/main.ts:1:14)"; got != want {
		t.Errorf("%q and not %q", got, want)
	}
}

func TestReferencesAreLocatedInTheSource(t *testing.T) {
	out, _ := json.Marshal(compileOutput{Code: "let s = \"😀\", t = f();", Map: mapOf("AAAA,cAAsB")})
	p, err := Prepare(context.Background(), Source{Language: "ts", Code: "let s: string = \"😀\", t = f();"}, answering(out))
	if err != nil {
		t.Fatal(err)
	}
	for report, want := range map[string]string{
		`[["a","b",1,14,true,{"fields":{"n":12345678901234567890}}]]`:               `[["a","b",1,22,true,{"fields":{"n":12345678901234567890}}]]`,
		`[["a","b",7,1,true,null]]`:                                                 `null`,
		`[["a","b"],[1,2,"x",null,3,4],["a","b",1,14,true],["a","b",1,1,false,{}]]`: `[["a","b",1,1,false,{}]]`,
		`{}`: `null`,
	} {
		if got := string(p.LocateReferences([]byte(report))); got != want {
			t.Errorf("%s gives %s, want %s", report, got, want)
		}
		if got := string(Program{}.LocateReferences([]byte(report))); got != report {
			t.Errorf("without a map %s gives %s", report, got)
		}
	}
}

func TestSyntaxErrorsCarryPlaceAndHint(t *testing.T) {
	for _, c := range []struct {
		code, hint string
		out        compileOutput
	}{
		{"```ts\n1\n```\nand more", fences, compileOutput{}},
		{"const x = “a”", `use straight quotes (" or ') instead of typographic ones`, compileOutput{}},
		{"return <b/>", "programs return data, not markup: build text with template literals", compileOutput{JSX: true}},
		{"def f(x):\n  pass", "this looks like Python: set the language to python", compileOutput{}},
		{"a b", "a note", compileOutput{}},
	} {
		c.out.Errors = []compileError{{Text: "unexpected", Line: 1, Column: 3, Notes: []string{"a note"}}}
		data, _ := json.Marshal(c.out)
		_, err := Prepare(context.Background(), Source{Language: "ts", Code: c.code}, answering(data))
		var e *SyntaxError
		if !errors.As(err, &e) || e.Line != 1 || e.Column != 3 && c.hint != fences || e.Text != lineOf(c.code, 1) || e.Hint != c.hint {
			t.Errorf("%q: %+v", c.code, err)
		}
		if fault.CodeOf(err) != fault.GuestSyntax {
			t.Errorf("%q: code %s", c.code, fault.CodeOf(err))
		}
	}
}
