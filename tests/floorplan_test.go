// Package tests checks the repository as a whole: imports and files against the
// floor plan, documents against the code, and programs through the command, the
// MCP server and the Go API.
package tests

import (
	"fmt"
	"go/ast"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/wexec/wexec/internal/tools/filegraph"
)

const module = "github.com/wexec/wexec"

// floorPlan has a line for each room: the rooms of this module that it may
// import. A room is a package; "*" allows all rooms, "public" all but internal
// ones, and "dir/*" all rooms below dir. A line with "*" or "public" covers the
// folders below it; every other package has a line.
const floorPlan = `
fault:
privacy: fault internal/jsonscan privacy/internal/*
privacy/internal/char:
privacy/internal/checksum: privacy/internal/char
privacy/internal/contact: privacy/internal/char privacy/internal/dates privacy/internal/match
privacy/internal/dates: privacy/internal/char
privacy/internal/detect: internal/jsonscan privacy/internal/*
privacy/internal/encodings: internal/jsonscan privacy/internal/char
privacy/internal/finance: privacy/internal/char privacy/internal/checksum privacy/internal/match
privacy/internal/identity: privacy/internal/char privacy/internal/checksum privacy/internal/dates privacy/internal/match
privacy/internal/match: privacy/internal/char
privacy/internal/names: internal/nametable privacy/internal/char privacy/internal/dates privacy/internal/match
privacy/internal/secrets: privacy/internal/char privacy/internal/match
privacy/internal/token: privacy/internal/char
catalogue: fault internal/jsonscan internal/jsonschema internal/text
policy: fault catalogue privacy policy/internal/document policy/internal/expr internal/jsonc internal/text internal/units internal/yamldoc
policy/internal/document: internal/units internal/yamldoc
policy/internal/expr: catalogue internal/jsonnum internal/jsonschema internal/text internal/yamldoc
policy/lint: catalogue policy policy/internal/document policy/internal/expr internal/text internal/yamldoc
audit: fault internal/filelock
store: fault
store/blobs: fault internal/atomicfile internal/ownfile
internal/prices: fault internal/yamldoc
internal/seal: fault internal/atomicfile internal/ownfile
internal/journal: fault
internal/meter:
internal/atomicfile:
internal/filelock:
workspace: fault internal/atomicfile internal/filelock
internal/ownfile:
internal/jsonscan:
internal/nametable:
internal/jsonschema: internal/jsonnum internal/text
internal/jsonnum:
internal/text:
internal/telemetry: fault
internal/jsonc:
internal/units: fault internal/text
internal/yamldoc: fault catalogue internal/jsonnum internal/text internal/units
internal/snapshot: internal/atomicfile internal/ownfile
internal/policyfile: fault catalogue hostfns policy internal/atomicfile internal/yamldoc
wasm-modules: fault internal/atomicfile internal/meter internal/snapshot
guests: fault catalogue wasm-modules internal/text
hostfns: fault hostfns/packages policy policy/lint audit privacy catalogue hostfns/schema hostfns/internal/guard hostfns/internal/keptfiles hostfns/internal/queue hostfns/internal/scrub hostfns/internal/streams hostfns/internal/strictjson hostfns/internal/toolmeta internal/atomicfile internal/journal internal/jsonnum internal/jsonscan internal/telemetry internal/text
hostfns/internal/guard:
hostfns/internal/keptfiles: internal/journal
hostfns/internal/queue:
hostfns/internal/scrub:
hostfns/internal/streams: hostfns/internal/guard
hostfns/internal/strictjson: internal/jsonscan internal/jsonnum
hostfns/internal/toolmeta: catalogue internal/text
hostfns/packages: fault
hostfns/schema: internal/jsonnum internal/jsonschema internal/text
wasm-modules/bake: internal/atomicfile internal/meter internal/snapshot wasm-modules
wasm-modules/esbuild:
hostfns/upstream: fault policy hostfns hostfns/internal/scrub hostfns/internal/toolmeta catalogue internal/atomicfile internal/jsonscan internal/telemetry internal/text
hostfns/fetch: fault hostfns catalogue internal/text
hostfns/files: fault hostfns catalogue hostfns/packages workspace
hostfns/workspaces: fault hostfns hostfns/files catalogue internal/text workspace
hostfns/approvals: fault hostfns internal/text
hostfns/artifacts: fault catalogue privacy internal/text hostfns
hostfns/embeddings: fault catalogue hostfns/internal/scrub internal/atomicfile internal/ownfile internal/text
engine: fault privacy policy audit engine/internal/guestcache engine/internal/lru engine/internal/sandbox engine/internal/tokens engine/internal/world internal/atomicfile internal/journal internal/jsonscan internal/ownfile internal/snapshot internal/telemetry internal/text internal/units guests hostfns review review/syntax catalogue
review/syntax: fault
review: fault catalogue review/syntax
engine/internal/lru:
engine/internal/tokens:
engine/internal/world: fault audit internal/journal internal/text
engine/internal/sandbox: fault catalogue policy engine/internal/tokens engine/internal/world internal/meter internal/snapshot internal/text internal/units wasm-modules hostfns
engine/internal/guestcache: fault engine/internal/sandbox internal/atomicfile internal/ownfile internal/snapshot wasm-modules guests
config: fault privacy catalogue policy audit internal/atomicfile internal/jsonc internal/meter internal/ownfile internal/snapshot internal/text internal/units internal/yamldoc wasm-modules guests hostfns hostfns/* engine workspace
tasks: fault store
service: fault audit policy privacy review catalogue config engine hostfns hostfns/artifacts hostfns/workspaces internal/atomicfile internal/policyfile internal/prices internal/seal internal/telemetry internal/text service/chains service/images service/metrics service/webhooks service/workspaces store store/blobs tasks
service/images: fault engine internal/seal store store/blobs
service/chains: fault audit internal/atomicfile internal/seal store
service/metrics: fault engine
service/webhooks: fault policy store
service/workspaces: fault config hostfns internal/text workspace
cmd: *
tests: *
internal/tools: *
examples: public
`

// plan is floorPlan by room.
var plan = func() map[string][]string {
	rows := map[string][]string{}
	for line := range strings.Lines(strings.TrimSpace(floorPlan)) {
		room, rules, _ := strings.Cut(strings.TrimSpace(line), ":")
		rows[room] = strings.Fields(rules)
	}
	return rows
}()

func TestImportsFollowTheFloorPlan(t *testing.T) {
	for _, s := range sources(t) {
		if s.room == "" {
			t.Errorf("%s is in no room of the floor plan", s.path)
			continue
		}
		if s.room != path.Dir(s.path) && !s.test && !open(s.room) {
			t.Errorf("%s: package %s needs a row in the floor plan", s.path, path.Dir(s.path))
		}
		for _, imp := range s.file.Imports {
			p, err := strconv.Unquote(imp.Path.Value)
			if err != nil {
				t.Fatal(err)
			}
			if p == "unsafe" && s.room != "internal/snapshot" && !s.test && !strings.HasPrefix(s.path, "wasm-modules/esbuild/") {
				t.Errorf("%s imports unsafe", s.path)
			}
			dir, ours := strings.CutPrefix(p, module+"/")
			if !ours || s.test {
				continue
			}
			if to := roomOf(dir); !mayImport(s.room, to) {
				t.Errorf("%s: %s may not import %s", s.fset.Position(imp.Pos()), s.room, to)
			}
		}
	}
}

// roomOf returns the longest row of the plan that is dir or a folder above it.
func roomOf(dir string) string {
	for d := dir; d != "."; d = path.Dir(d) {
		if _, ok := plan[d]; ok {
			return d
		}
	}
	return ""
}

// open reports whether a row covers the folders below it.
func open(room string) bool {
	return slices.Contains(plan[room], "*") || slices.Contains(plan[room], "public")
}

func isRoom(dir string) bool {
	_, ok := plan[dir]
	return ok
}

func mayImport(from, to string) bool {
	if from == to {
		return true
	}
	for _, rule := range plan[from] {
		switch {
		case rule == "*", rule == to:
			return true
		case rule == "public" && !strings.Contains("/"+to+"/", "/internal/"):
			return true
		case strings.HasSuffix(rule, "/*") && strings.HasPrefix(to, strings.TrimSuffix(rule, "*")):
			return true
		}
	}
	return false
}

func TestEveryRowOfTheFloorPlanIsARoom(t *testing.T) {
	for room, rules := range plan {
		if _, err := os.Stat(filepath.Join("..", filepath.FromSlash(room))); err != nil {
			t.Errorf("the floor plan has a row for %s: %v", room, err)
		}
		for _, rule := range rules {
			if dir, all := strings.CutSuffix(rule, "/*"); !all && rule != "*" && rule != "public" && !isRoom(rule) || all && roomOf(dir) == "" {
				t.Errorf("%s may import %s, which is not a room", room, rule)
			}
		}
	}
}

// TestRoomsUseTheirFoundations checks that the libraries that wexec builds on
// are used, each in its room.
func TestRoomsUseTheirFoundations(t *testing.T) {
	for library, room := range map[string]string{
		"github.com/tetratelabs/wazero":      "engine",
		"github.com/extism/go-sdk":           "engine",
		"github.com/klauspost/compress/zstd": "wasm-modules",
		"github.com/urfave/cli/v2":           "cmd",
	} {
		used := slices.ContainsFunc(sources(t), func(s source) bool {
			return (s.room == room || strings.HasPrefix(s.room, room+"/internal/")) && !s.test && slices.ContainsFunc(s.file.Imports, func(i *ast.ImportSpec) bool {
				return i.Path.Value == strconv.Quote(library)
			})
		})
		if !used {
			t.Errorf("%s does not use %s", room, library)
		}
	}
}

func TestTopLevelHasOnlyKnownEntries(t *testing.T) {
	allowed := []string{".ci", ".git", ".gitignore", ".golangci.yml", "CHANGELOG.md", "CONTRIBUTING.md", "LICENSE", "Makefile", "NOTICE",
		"RATIONALE.md", "README.md", "SECURITY.md", "audit", "bin", "catalogue", "cmd", "config", "dist", "docs", "engine", "examples",
		"fault", "go.mod", "go.sum", "guests", "hostfns", "internal", "policy", "privacy", "review", "service", "store", "tasks", "tests", "wasm-modules", "work", "workspace"}
	entries, err := os.ReadDir("..")
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if !slices.Contains(allowed, e.Name()) {
			t.Errorf("unexpected %s at the top of the repository", e.Name())
		}
	}
}

func TestFilesHaveAtMost600Lines(t *testing.T) {
	for _, s := range sources(t) {
		if s.size > 600 {
			t.Errorf("%s has %d lines; at most 600 are allowed", s.path, s.size)
		}
	}
}

// knots lists packages whose files have more references back up than allowed,
// with their number. It may only shrink. In internal/snapshot, files for one
// platform implement methods of types that the portable files declare and use.
var knots = map[string]int{"internal/snapshot": 7}

// TestRoomsAreSmallAndLayered checks that a package has fewer than 20 files and
// that at most one in twenty references between its files runs back up.
func TestRoomsAreSmallAndLayered(t *testing.T) {
	packages, err := filegraph.Load("..", "./...")
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range packages {
		backUp := max(1, len(p.Arrows)/20)
		if n, ok := knots[p.Path]; ok {
			backUp = n
		}
		if p.Files >= 20 {
			t.Errorf("%s has %d files; at most 19 are allowed", p.Path, p.Files)
		}
		if len(p.BackUp) > backUp {
			t.Errorf("%s: %d of %d references between files run back up; at most %d are allowed\n%s",
				p.Path, len(p.BackUp), len(p.Arrows), backUp, list(p.BackUp))
		}
	}
}

func list(arrows []filegraph.Arrow) string {
	var b strings.Builder
	for _, a := range arrows {
		fmt.Fprintf(&b, "\t%s uses of %s: %s\n", a.From, a.To, strings.Join(a.Names, " "))
	}
	return b.String()
}

func TestNamesAreSpecific(t *testing.T) {
	vague := []string{"util", "utils", "utility", "common", "helper", "helpers", "types", "misc", "stuff", "lib", "base", "core",
		"shared", "general", "various", "extra", "things"}
	for _, s := range sources(t) {
		file := strings.TrimSuffix(strings.TrimSuffix(path.Base(s.path), ".go"), "_test")
		for _, name := range []string{s.file.Name.Name, path.Base(path.Dir(s.path)), file} {
			if slices.Contains(vague, name) {
				t.Errorf("%s: %q does not say what is in it", s.path, name)
			}
		}
	}
}
