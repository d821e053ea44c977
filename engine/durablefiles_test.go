package engine

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/wexec/wexec/fault"
	"github.com/wexec/wexec/hostfns/files"
	"github.com/wexec/wexec/hostfns/workspaces"
	"github.com/wexec/wexec/policy"
	"github.com/wexec/wexec/workspace"
)

// tree is the content of the files of a folder by path, "/" for folders.
type tree map[string]string

func treeOf(t testing.TB, dir string) tree {
	t.Helper()
	out := tree{}
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || path == dir {
			return err
		}
		name, _ := filepath.Rel(dir, path)
		if d.IsDir() {
			out[name] = "/"
			return nil
		}
		data, err := os.ReadFile(path)
		out[name] = string(data)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// write makes the folder have the tree. What it has already stays the same file.
func (c tree) write(t testing.TB, dir string) {
	t.Helper()
	err := os.MkdirAll(dir, 0o755)
	now := treeOf(t, dir)
	for _, name := range slices.Sorted(maps.Keys(now)) {
		if _, ok := c[name]; !ok {
			err = errors.Join(err, os.RemoveAll(filepath.Join(dir, name)))
		}
	}
	for _, name := range slices.Sorted(maps.Keys(c)) {
		if was, ok := now[name]; ok && was == c[name] {
			continue
		}
		if path := filepath.Join(dir, name); c[name] == "/" {
			err = errors.Join(err, os.MkdirAll(path, 0o755))
		} else {
			err = errors.Join(err, os.WriteFile(path, []byte(c[name]), 0o644))
		}
	}
	if err != nil {
		t.Fatal(err)
	}
}

// real returns the tree without files that are not written whole.
func (c tree) real() tree {
	out := tree{}
	for name, content := range c {
		if !strings.HasPrefix(filepath.Base(name), ".wexec-") {
			out[name] = content
		}
	}
	return out
}

func (c tree) String() string {
	var b strings.Builder
	for _, name := range slices.Sorted(maps.Keys(c)) {
		fmt.Fprintf(&b, "%s=%q ", name, c[name])
	}
	return b.String()
}

// watchedJournal keeps the records, and the files when each was written.
type watchedJournal struct {
	memoryJournal
	t    testing.TB
	dir  string
	seen []tree
}

func (j *watchedJournal) Append(ctx context.Context, record []byte) error {
	j.seen = append(j.seen, treeOf(j.t, j.dir))
	return j.memoryJournal.Append(ctx, record)
}

// randomFilesProgram returns a program that reads and changes the files of a folder.
func randomFilesProgram(r *rand.Rand, language, dir string) string {
	var b strings.Builder
	steps := map[string][]string{
		Python: {
			"n = int(open(d + '/count').read()) + 1\nwith open(d + '/count', 'w') as f: f.write(str(n))\nout.append(n)",
			"with open(d + '/count', 'r+') as f:\n  k = int(f.read())\n  f.seek(0)\n  f.write(str(k + 10))\nout.append(k)",
			"with open(d + '/log', 'a') as f:\n  f.write('a')\n  f.flush()\n  out.append(tools.x.write(n=STEP))\n  f.write('b')",
			"f = open(d + '/in')\nout.append(f.read(3))\nout.append(tools.x.write(n=STEP))\nout.append(f.read())\nf.close()",
			"os.makedirs(d + '/new/STEP')\nout.append(sorted(os.listdir(d + '/new')))",
			"open(d + '/x', 'w').close()\nos.rename(d + '/x', d + '/ySTEP')\nout.append(os.path.exists(d + '/x'))",
			"open(d + '/gone', 'w').write('STEP')\nout.append(os.path.getsize(d + '/gone'))\nos.remove(d + '/gone')",
			"try:\n  open(d + '/missing')\nexcept FileNotFoundError:\n  out.append(tools.x.read(n=STEP))",
			"open('/tmp/own', 'a').write('STEP')\nout.append(open('/tmp/own').read())",
		},
		JavaScript: {
			"{ const n = Number(fs.readFileSync(d + '/count', 'utf8')) + 1; fs.writeFileSync(d + '/count', String(n)); out.push(n); }",
			"fs.appendFileSync(d + '/log', 'STEP;'); out.push(await tools.x.write({n: STEP}));",
			"fs.mkdirSync(d + '/newSTEP'); out.push(fs.readdirSync(d).sort());",
			"fs.writeFileSync(d + '/x', 'STEP'); fs.renameSync(d + '/x', d + '/ySTEP'); out.push(fs.existsSync(d + '/x'));",
			"fs.writeFileSync(d + '/gone', 'STEP'); out.push(fs.statSync(d + '/gone').size); fs.unlinkSync(d + '/gone');",
			"try { fs.readFileSync(d + '/missing') } catch (e) { out.push(await tools.x.read({n: STEP})) }",
			"out.push(...await Promise.all([tools.x.write({n: STEP}), tools.x.read({n: STEP})])); out.push(fs.readFileSync(d + '/in', 'utf8'));",
		},
	}[language]
	if language == Python {
		fmt.Fprintf(&b, "import os\nd = %q\nout = []\n", dir)
	} else {
		fmt.Fprintf(&b, "const fs = require('fs'), d = %q, out = [];\n", dir)
	}
	for step := range 4 + r.IntN(4) {
		b.WriteString(strings.ReplaceAll(steps[r.IntN(len(steps))], "STEP", fmt.Sprint(step+1)) + "\n")
	}
	return b.String() + "return out"
}

// TestADurableRunGoesOnWithItsFiles cuts the journals of random programs that read and
// change files of the host, or of a workspace, after each record: once as if the process
// had ended when the record was written, and once just before the next one. The value
// and the files equal those of the undisturbed run.
func TestADurableRunGoesOnWithItsFiles(t *testing.T) {
	e := newReal(t, Config{})
	r := rand.New(rand.NewPCG(19, 2))
	before := tree{"in": "input", "count": "1"}
	cuts := 0
	for i := range programsToPark(t) {
		language := []string{JavaScript, Python}[i%2]
		inWorkspace := i%4 >= 2
		top, err := filepath.EvalSymlinks(t.TempDir())
		if err != nil {
			t.Fatal(err)
		}
		kept := filepath.Join(top, "kept")
		before.write(t, kept)
		if inWorkspace {
			before.write(t, filepath.Join(top, "base"))
			w, err := workspace.Create(filepath.Join(kept, "w"), workspace.Info{ID: "w", Base: filepath.Join(top, "base")}, workspace.Options{})
			if err != nil {
				t.Fatal(err)
			}
			if err := w.Close(); err != nil {
				t.Fatal(err)
			}
		}
		p, err := policy.FromFlags(policy.Flags{AllowTool: []string{"*"}, AllowWrite: []string{kept}, AllowRead: []string{kept}, NoPII: true})
		if err != nil {
			t.Fatal(err)
		}
		seenAs := kept
		if inWorkspace {
			seenAs = "/workspace"
		}
		code := randomFilesProgram(r, language, filepath.ToSlash(seenAs))
		run := func(j Journal, records [][]byte) (*Result, tree, error) {
			var s effects
			req := Request{ID: fmt.Sprint("run", i), Language: language, Code: code, Table: s.table(t, p, files.New()), Journal: j, Records: records}
			var w *workspace.Workspace
			if inWorkspace {
				var err error
				if w, err = workspace.Open(filepath.Join(kept, "w"), workspace.Options{}); err != nil {
					t.Fatal(err)
				}
				req.Workspace = workspaces.New(w)
			}
			res, err := e.Run(t.Context(), req)
			if !inWorkspace {
				return res, treeOf(t, kept).real(), err
			}
			changed := tree{}
			changes, failed := w.Changes(t.Context())
			if failed != nil {
				t.Fatal(failed)
			}
			for _, c := range changes {
				changed[c.Path] = fmt.Sprint(c.Kind, c.From)
				if f, err := w.Open(c.Path, os.O_RDONLY, 0); err == nil {
					var b bytes.Buffer
					_, _ = b.ReadFrom(f)
					changed[c.Path] += b.String()
					_ = f.Close()
				}
			}
			if err := w.Close(); err != nil {
				t.Fatal(err)
			}
			return res, changed, err
		}
		whole := &watchedJournal{t: t, dir: kept}
		want, end, err := run(whole, nil)
		if err != nil {
			t.Fatalf("%s: %v", code, err)
		}
		for cut := 1; cut <= len(whole.records); cut++ {
			left := []tree{whole.seen[cut-1]}
			if cut < len(whole.records) {
				left = append(left, whole.seen[cut])
			}
			for late, crashed := range left {
				crashed.write(t, kept)
				got, now, err := run(&memoryJournal{}, whole.records[:cut])
				if fault.CodeOf(err) == fault.ToolUnknownOutcome {
					continue
				}
				cuts++
				if err != nil || string(got.Value) != string(want.Value) || now.String() != end.String() {
					t.Fatalf("%s\ncut after %d of %d (%d): %v, value %s, files %s; want %s, %s\nbefore: %s", code, cut, len(whole.records), late, err, got.Value, now, want.Value, end, crashed)
				}
			}
		}
	}
	t.Logf("went on %d times", cuts)
}

func TestWhatARunReadIsNotReadAgain(t *testing.T) {
	e := newReal(t, Config{})
	top, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	small, large, out := filepath.Join(top, "small"), filepath.Join(top, "large"), filepath.Join(top, "out")
	data := bytes.Repeat([]byte("0123456789abcdef"), 20<<20/16) // more than a journal has of files
	tree{"small": "first", "large": string(data)}.write(t, top)
	p, err := policy.FromFlags(policy.Flags{AllowTool: []string{"*"}, AllowRead: []string{top}, AllowWrite: []string{top}, NoPII: true})
	if err != nil {
		t.Fatal(err)
	}
	for _, read := range []string{"small", "large"} {
		var s effects
		j := &memoryJournal{}
		people := &askLater{answers: map[string]bool{}}
		req := Request{ID: "run-" + read, Language: Python, Table: s.table(t, p, files.New()), Journal: j, ParkAfter: 20 * time.Millisecond, Asker: people, Signals: sent{}, Code: fmt.Sprintf(`
n = len(open(%q).read())
open(%q, "a").write("x")
wait_for("go")
return n`, filepath.Join(top, read), out)}
		res, err := e.Run(t.Context(), req)
		if err != nil || res.Parked == nil {
			t.Fatalf("%v, %+v", err, res)
		}
		size := 0
		for _, record := range j.records {
			size += len(record)
		}
		if size > 30<<20 {
			t.Errorf("the journal has %d bytes", size)
		}
		req.Records, req.Signals = j.records, sent{"go": {"1"}}
		if read == "large" {
			res, err = e.Run(t.Context(), req)
			wantValue(t, res, err, fmt.Sprint(len(data)))
			if err := os.WriteFile(large, append([]byte("changed"), data...), 0o600); err != nil {
				t.Fatal(err)
			}
			if _, err := e.Run(t.Context(), req); fault.CodeOf(err) != fault.UsageRun {
				t.Errorf("a large file that changed: %v", err)
			}
			continue
		}
		if err := os.Remove(small); err != nil {
			t.Fatal(err)
		}
		res, err = e.Run(t.Context(), req)
		wantValue(t, res, err, "5")
	}
	if data, err := os.ReadFile(out); err != nil || string(data) != "xx" {
		t.Errorf("%v, each run wrote once, but there is %q", err, data)
	}
}
