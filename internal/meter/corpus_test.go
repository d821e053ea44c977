package meter_test

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"runtime"
	"strconv"
	"strings"
	"testing"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"
	"github.com/tetratelabs/wazero/experimental"
)

// suite is one folder of wazero's specification tests.
type suite struct {
	name     string
	features api.CoreFeatures
}

var suites = []suite{
	{"v1", api.CoreFeaturesV1},
	{"v2", api.CoreFeaturesV2},
	{"threads", api.CoreFeaturesV2 | experimental.CoreFeaturesThreads},
	{"tail-call", api.CoreFeaturesV2 | experimental.CoreFeaturesTailCall},
	{"extended-const", api.CoreFeaturesV2 | experimental.CoreFeaturesExtendedConst},
	{"typed-function-references", api.CoreFeaturesV2 | experimental.CoreFeaturesTypedFunctionReferences |
		experimental.CoreFeaturesTailCall},
}

// allFeatures is everything that the meter knows.
const allFeatures = api.CoreFeaturesV2 | experimental.CoreFeaturesThreads | experimental.CoreFeaturesTailCall |
	experimental.CoreFeaturesExtendedConst | experimental.CoreFeaturesTypedFunctionReferences

// wazeroFolder is where the sources of the wazero that is compiled in lie.
func wazeroFolder(t testing.TB) string {
	t.Helper()
	pc := reflect.ValueOf(wazero.NewRuntime).Pointer()
	file, _ := runtime.FuncForPC(pc).FileLine(pc)
	folder := filepath.Dir(file)
	if !filepath.IsAbs(folder) { // built with -trimpath
		out, err := exec.Command("go", "env", "GOMODCACHE").Output()
		if err != nil {
			t.Fatalf("find wazero's sources: %v", err)
		}
		folder = filepath.Join(strings.TrimSpace(string(out)), folder)
	}
	return folder
}

func suiteFolder(t testing.TB, name string) string {
	t.Helper()
	return filepath.Join(wazeroFolder(t), "internal", "integration_test", "spectest", name, "testdata")
}

func specHost(t testing.TB) []byte {
	t.Helper()
	return readFile(t, filepath.Join(suiteFolder(t, "."), "spectest.wasm"))
}

func readFile(t testing.TB, name string) []byte {
	t.Helper()
	b, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// script is one file of the suite.
type script struct {
	name     string
	Commands []command
}

type command struct {
	Type       string
	Line       int
	Name       string
	Filename   string
	As         string
	Text       string
	ModuleType string `json:"module_type"`
	Action     action
	Expected   []value
}

type action struct {
	Type, Module, Field string
	Args                []value
}

type value struct {
	Type     string
	LaneType string `json:"lane_type"`
	Value    any
}

func scripts(t testing.TB, s suite) []script {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(suiteFolder(t, s.name), "*.json"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no scripts in %s: %v", s.name, err)
	}
	var all []script
	for _, f := range files {
		sc := script{name: strings.TrimSuffix(filepath.Base(f), ".json")}
		if err := json.Unmarshal(readFile(t, f), &sc); err != nil {
			t.Fatalf("%s: %v", f, err)
		}
		all = append(all, sc)
	}
	return all
}

// bits is a value as wazero takes it: one word, or two for a vector.
func (v value) bits(t testing.TB) []uint64 {
	t.Helper()
	switch x := v.Value.(type) {
	case nil:
		return []uint64{0}
	case string:
		return []uint64{v.word(t, x, v.Type)}
	case []any:
		width := map[string]int{"i8": 8, "i16": 16, "i32": 32, "i64": 64, "f32": 32, "f64": 64}[v.LaneType]
		var words [2]uint64
		for i, lane := range x {
			at := i * width
			words[at/64] |= v.word(t, lane.(string), v.LaneType) << (at % 64)
		}
		return words[:]
	}
	t.Fatalf("value %v", v)
	return nil
}

func (v value) word(t testing.TB, s, typ string) uint64 {
	t.Helper()
	switch {
	case s == "null":
		return 0
	case s == "nan:canonical" && typ == "f32", s == "nan:arithmetic" && typ == "f32":
		return 0x7fc00000
	case s == "nan:canonical", s == "nan:arithmetic":
		return 0x7ff8000000000000
	}
	width := map[string]int{"i8": 8, "i16": 16, "i32": 32, "f32": 32}[typ]
	if width == 0 {
		width = 64
	}
	if strings.HasPrefix(s, "-") {
		n, err := strconv.ParseInt(s, 10, 64)
		if err != nil {
			t.Fatal(err)
		}
		return uint64(n) & (1<<width - 1)
	}
	n, err := strconv.ParseUint(s, 10, width)
	if err != nil {
		t.Fatal(err)
	}
	if typ == "externref" {
		n++ // wazero takes 0 for null
	}
	return n
}
