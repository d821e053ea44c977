package main

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const stream = `{"Action":"run","Package":"a","Test":"TestOne"}
{"Action":"output","Package":"a","Test":"TestOne","Output":"=== RUN   TestOne\n"}
{"Action":"output","Package":"a","Test":"TestOne","Output":"    one_test.go:3: short: builds everything\n"}
{"Action":"skip","Package":"a","Test":"TestOne"}
{"Action":"output","Package":"a","Test":"TestTwo","Output":"    two_test.go:3: no disk here\n"}
{"Action":"skip","Package":"a","Test":"TestTwo"}
{"Action":"output","Package":"a","Test":"TestThree/x","Output":"    three_test.go:3: no links\n"}
{"Action":"skip","Package":"a","Test":"TestThree/x"}
{"Action":"output","Package":"a","Output":"PASS\n"}
{"Action":"output","Package":"a","Output":"ok  \ta\t0.1s\n"}
{"Action":"pass","Package":"a"}
`

func TestUnexpectedSkipsAreReported(t *testing.T) {
	for _, c := range []struct {
		short bool
		want  []string
	}{
		{true, []string{"TestTwo in a: no disk here"}},
		{false, []string{"TestOne in a: short: builds everything", "TestTwo in a: no disk here"}},
	} {
		var out strings.Builder
		r := &report{expected: []*regexp.Regexp{regexp.MustCompile(`^TestThree/.*$`)}, short: c.short, out: &out}
		if err := r.read(strings.NewReader(stream)); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(c.want, r.unexpected); diff != "" || r.skipped != 3 || !r.failed() {
			t.Errorf("%d skipped, %s", r.skipped, diff)
		}
		if !strings.HasPrefix(out.String(), "ok  \ta\t0.1s\n3 tests skipped") {
			t.Errorf("printed %s", out.String())
		}
	}
}

func TestAFailedTestPrintsItsOutput(t *testing.T) {
	var out strings.Builder
	r := &report{out: &out}
	err := r.read(strings.NewReader(`{"Action":"output","Package":"a","Test":"TestOne","Output":"    one_test.go:3: gives 4\n"}
{"Action":"fail","Package":"a","Test":"TestOne"}
{"Action":"output","Package":"a","Test":"TestTwo","Output":"    not shown\n"}
{"Action":"pass","Package":"a","Test":"TestTwo"}
{"Action":"output","Package":"a","Test":"TestThree","Output":"    killed\n"}
{"Action":"output","Package":"a","Output":"FAIL\ta\t0.1s\n"}
{"Action":"fail","Package":"a"}
`))
	if err != nil || !r.failed() {
		t.Errorf("failed %v, %v", r.failed(), err)
	}
	if want := "    one_test.go:3: gives 4\nFAIL\ta\t0.1s\n    killed\n0 tests skipped, 0 of them unexpected\n"; out.String() != want {
		t.Errorf("printed %q", out.String())
	}
}

func TestExpectedSkipsNeedAReason(t *testing.T) {
	file := filepath.Join(t.TempDir(), "skips.txt")
	if err := os.WriteFile(file, []byte("# comment\nTestOne needs root\nTestTwo\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := readList(file); err == nil || !strings.Contains(err.Error(), "TestTwo has no reason") {
		t.Errorf("%v", err)
	}
	if _, err := readList("../../../tests/skips.txt"); err != nil {
		t.Error(err)
	}
}
