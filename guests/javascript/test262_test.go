package javascript_test

import (
	"context"
	_ "embed"
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

//go:embed testdata/test262-baseline.txt
var languageBaseline string

// languageLeftOut are the features that a test may need and that no program in
// the guest has: proposals, and what the interpreter lacks as a whole.
var languageLeftOut = []string{
	"Temporal", "ShadowRealm", "cross-realm", "IsHTMLDDA", "tail-call-optimization", "decorators", "legacy-regexp", "json-modules",
	"import-attributes", "import-assertions", "source-phase-imports", "regexp-modifiers", "regexp-duplicate-named-groups", "regexp-v-flag",
	"resizable-arraybuffer", "Float16Array", "explicit-resource-management", "FinalizationRegistry.prototype.cleanupSome", "Atomics.waitAsync",
	"json-parse-with-source", "iterator-sequencing",
}

// languageSlow are folders of tests that compare tables of Unicode, each of them
// for seconds.
var languageSlow = []string{"built-ins/RegExp/property-escapes/generated", "built-ins/RegExp/CharacterClassEscapes"}

// languageRun evaluates a test of test262 and prints what it throws, null where
// it ends as it should. In the shell of the interpreter, args is a global.
const languageRun = `
globalThis.print ??= console.log
const $print = print
const say = (e) => e?.constructor?.name === undefined ? String(e) : e.constructor.name + ': ' + e.message
const $eval = eval, $json = JSON.stringify, $test = args
let $finish
const $finished = new Promise((resolve) => { $finish = resolve })
globalThis.reportCompare = () => {}
globalThis.$DONE = (e) => $finish(e)
globalThis.$262 = {
  global: globalThis, evalScript: (text) => $eval(text), gc() {},
  detachArrayBuffer: (b) => { if (typeof structuredClone === 'function') structuredClone(b, { transfer: [b] }); else b.transfer() },
}
$eval($test.harness)
const $run = async () => {
  try {
    if ($test.module) await import($test.module)
    else $eval($test.text)
    if ($test.async) {
      const failure = await $finished
      if (failure) throw failure
    }
    $print('\n' + $json(null))
  } catch (e) { $print('\n' + $json(say(e))) }
}
void $run()
`

// languageTest is a file of test262.
type languageTest struct {
	name, text, harness string
	module, async       bool
	negative            string            // the error that it has to end in
	fixtures            map[string]string // what it imports
}

var (
	languageFlags    = regexp.MustCompile(`(?m)^flags: *\[(.*)\]`)
	languageFeatures = regexp.MustCompile(`(?m)^features: *\[(.*)\]`)
	languageNegative = regexp.MustCompile(`(?m)^negative:[^\n]*\n(?:\s+phase:[^\n]*\n)?\s+type: *(\w+)`)
)

// readLanguageTests reads the tests of a folder and of those below it.
func readLanguageTests(t *testing.T, root, folder string) []languageTest {
	t.Helper()
	read := func(name string) string {
		data, err := os.ReadFile(filepath.Join(root, filepath.FromSlash(name)))
		if err != nil && !os.IsNotExist(err) {
			t.Fatal(err)
		}
		return string(data)
	}
	helpers, fixtures := map[string]string{}, map[string]map[string]string{}
	var helper func(folder string) string
	helper = func(folder string) string {
		if text, ok := helpers[folder]; ok {
			return text
		}
		own, _, _ := strings.Cut(read(path.Join(folder, "shell.js")), "// file: test262-host.js")
		if folder != "." {
			own = helper(path.Dir(folder)) + own + "\n"
		}
		// each text is evaluated, where only variables and functions stay
		own = strings.NewReplacer("\nconst ", "\nvar ", "\nlet ", "\nvar ").Replace(own)
		helpers[folder] = own
		return own
	}
	var tests []languageTest
	err := fs.WalkDir(os.DirFS(root), folder, func(name string, entry fs.DirEntry, err error) error {
		base := path.Base(name)
		if err != nil || entry.IsDir() || !strings.HasSuffix(base, ".js") || base == "shell.js" || base == "browser.js" {
			return err
		}
		text, dir := read(name), path.Dir(name)
		if strings.Contains(base, "_FIXTURE") {
			if fixtures[dir] == nil {
				fixtures[dir] = map[string]string{}
			}
			fixtures[dir]["app/"+base] = text
			return nil
		}
		_, about, _ := strings.Cut(text, "/*---")
		about, _, _ = strings.Cut(about, "---*/")
		about = strings.ReplaceAll(about, "\r\n", "\n")
		if features := languageFeatures.FindStringSubmatch(about); features != nil {
			for feature := range strings.SplitSeq(features[1], ",") {
				if slices.Contains(languageLeftOut, strings.TrimSpace(feature)) {
					return nil
				}
			}
		}
		if slices.Contains(languageSlow, dir) || strings.Contains(helper(dir)+text, "$262.agent") || strings.Contains(text, "createRealm") {
			return nil
		}
		test := languageTest{name: name, text: text, harness: helper(dir)}
		if flags := languageFlags.FindStringSubmatch(about); flags != nil {
			test.module, test.async = strings.Contains(flags[1], "module"), strings.Contains(flags[1], "async")
		}
		if negative := languageNegative.FindStringSubmatch(about); negative != nil {
			test.negative = negative[1]
		}
		tests = append(tests, test)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for i := range tests {
		if strings.Contains(tests[i].text, "import") {
			tests[i].fixtures = fixtures[path.Dir(tests[i].name)]
		}
	}
	return tests
}

// input is what the test's program gets: its arguments, and the files of its folder.
func (l languageTest) input() (args map[string]any, files map[string]string) {
	args = map[string]any{"harness": l.harness, "text": l.text, "async": l.async}
	files = map[string]string{}
	for name, text := range l.fixtures {
		files[name] = text
	}
	if l.module {
		base := path.Base(l.name)
		files["app/"+base], args["module"] = l.text, "./"+base
	}
	return args, files
}

// output runs a test in the guest and gives what it prints.
func (l languageTest) output(t *testing.T, args map[string]any, files map[string]string) string {
	h := &host{limit: time.Minute, files: files, input: map[string]any{"code": languageRun, "file": "main.js", "root": "/app", "args": args}}
	if err := newGuest(t, h).run(t); err != nil {
		return err.Error()
	}
	if h.stdout.Len() == 0 {
		return string(h.document)
	}
	return h.stdout.String()
}

// outputOfShell does the same in the shell of an interpreter that is built for
// this machine.
func (l languageTest) outputOfShell(t *testing.T, shell string, args map[string]any, files map[string]string) string {
	dir := t.TempDir()
	document, err := json.Marshal(args)
	if err != nil {
		t.Fatal(err)
	}
	files["main.js"] = "globalThis.args = " + string(document) + languageRun
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(dir, path.Base(name)), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	command := exec.CommandContext(ctx, shell, "main.js")
	command.Dir = dir
	out, err := command.Output()
	if err != nil {
		return fmt.Sprintf("%s %v", out, err)
	}
	return string(out)
}

// failure tells why the test fails, "" where it passes.
func (l languageTest) failure(t *testing.T, shell string) string {
	args, files := l.input()
	var out string
	if shell != "" {
		out = l.outputOfShell(t, shell, args, files)
	} else {
		out = l.output(t, args, files)
	}
	out = strings.TrimSpace(out)
	var thrown *string
	switch err := json.Unmarshal([]byte(out[strings.LastIndexByte(out, '\n')+1:]), &thrown); {
	case err != nil:
		return "does not end: " + out
	case thrown == nil && l.negative != "":
		return "does not throw " + l.negative
	case thrown != nil && (l.negative == "" || !strings.HasPrefix(*thrown, l.negative)):
		return *thrown
	}
	return ""
}

// TestTheLanguagesOwnTestsPass runs test262, which comes with the source of
// SpiderMonkey in Debian. Each failure is in the baseline, and each line of the
// baseline fails. With WEXEC_QJS, the shell of the same interpreter built for
// this machine, it runs the files of the baseline there and reports those that
// pass, which the guest must not fail.
func TestTheLanguagesOwnTestsPass(t *testing.T) {
	root, shell := filepath.Join("..", "..", "work", "test262"), os.Getenv("WEXEC_QJS")
	if os.Getenv("WEXEC_CONFORMANCE") == "" {
		t.Skip("needs test262, which make conformance fetches")
	}
	known := map[string]bool{}
	for line := range strings.Lines(languageBaseline) {
		if line = strings.TrimSpace(line); line != "" && line[0] != '#' {
			known[line] = true
		}
	}
	var tests []languageTest
	for _, folder := range []string{"language", "built-ins", "annexB"} {
		tests = append(tests, readLanguageTests(t, root, folder)...)
	}
	if shell != "" {
		tests = slices.DeleteFunc(tests, func(l languageTest) bool { return !known[l.name] })
	}
	var lock sync.Mutex
	var failures []string
	t.Run("files", func(t *testing.T) {
		for chunk := range slices.Chunk(tests, 100) {
			t.Run("", func(t *testing.T) {
				t.Parallel()
				for _, l := range chunk {
					t.Run(l.name, func(t *testing.T) {
						why := l.failure(t, shell)
						lock.Lock()
						defer lock.Unlock()
						switch {
						case shell != "" && why == "":
							t.Errorf("passes in %s", shell)
						case why != "":
							failures = append(failures, l.name)
							if !known[l.name] {
								t.Errorf("%.400s", why)
							}
						}
					})
				}
			})
		}
	})
	if shell != "" {
		return
	}
	slices.Sort(failures)
	for name := range known {
		if _, failed := slices.BinarySearch(failures, name); !failed {
			t.Errorf("%s passes or is gone: remove it from the baseline", name)
		}
	}
	if to := os.Getenv("WEXEC_TEST262_BASELINE"); to != "" {
		if err := os.WriteFile(to, []byte(strings.Join(failures, "\n")+"\n"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	t.Logf("%d files of test262 passed, %d failed", len(tests)-len(failures), len(failures))
}
