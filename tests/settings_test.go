package tests

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"

	"github.com/wexec/wexec/config"
	"github.com/wexec/wexec/internal/tools/testenv"
	"github.com/wexec/wexec/policy"
)

const settingsPage = "docs/use/settings.md"

// TestSettingsAreDocumentedAsTheyAre holds the tables of docs/use/settings.md
// against the format of wexec.yaml and the variables that are read.
func TestSettingsAreDocumentedAsTheyAre(t *testing.T) {
	var schema object
	if err := json.Unmarshal(config.Schema(), &schema); err != nil {
		t.Fatal(err)
	}
	settings, err := config.Load(&config.Environment{Dir: t.TempDir(), Home: "/home/you", OS: "linux"}, config.Flags{})
	if err != nil {
		t.Fatal(err)
	}
	defaults := map[string]string{}
	for _, v := range settings.Values() {
		defaults[v.Key] = strings.Replace(v.Value, "/home/you", "~", 1)
	}
	for _, f := range policy.LimitFields() {
		if f.Default > 0 {
			defaults["limits."+f.Key] = f.Format(f.Default)
		}
	}
	keys := map[string]string{}
	schema.flatten("", schema.Defs, keys)
	var table strings.Builder
	table.WriteString("| key | | default |\n|---|---|---|\n")
	for _, key := range slices.Sorted(maps.Keys(keys)) {
		if strings.HasPrefix(keys[key], ":") || keys[key] == "" {
			t.Errorf("%s has no description", key)
		}
		standard := defaults[key]
		if standard != "" {
			standard = "`" + standard + "`"
		}
		fmt.Fprintf(&table, "| `%s` | %s | %s |\n", key, keys[key], standard)
	}
	var variables strings.Builder
	variables.WriteString("| variable | sets | |\n|---|---|---|\n")
	for _, v := range config.Variables() {
		sets := ""
		if v.Key != "" {
			if sets = "`" + v.Key + "`"; keys[v.Key] == "" {
				t.Errorf("%s sets the unknown key %s", v.Name, v.Key)
			}
		}
		fmt.Fprintf(&variables, "| `%s` | %s | %s |\n", v.Name, sets, v.Doc)
	}
	text := between(t, between(t, read(t, settingsPage), "settings", table.String()), "variables", variables.String())
	if *update {
		if err := os.WriteFile(filepath.Join("..", filepath.FromSlash(settingsPage)), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	} else if text != read(t, settingsPage) {
		t.Errorf("%s is not what the program reads: go test ./tests -run Settings -update", settingsPage)
	}
}

// between replaces the text between a named mark and the next end mark.
func between(t *testing.T, text, name, with string) string {
	t.Helper()
	begin := "<!-- " + name + ": go test ./tests -run Settings -update -->\n"
	before, rest, found := strings.Cut(text, begin)
	_, after, ended := strings.Cut(rest, "<!-- end -->\n")
	if !found || !ended {
		t.Fatalf("%s has no marks of %s", settingsPage, name)
	}
	return before + begin + with + "<!-- end -->\n" + after
}

// object is the part of a JSON Schema that the table of settings is made of.
type object struct {
	Description string
	Properties  map[string]object
	Enum        []string
	Ref         string `json:"$ref"`
	AnyOf       []object
	Defs        map[string]object `json:"$defs"`
}

// flatten puts the descriptions of all keys into a map, by their paths.
func (o object) flatten(path string, defs map[string]object, into map[string]string) {
	if o.Ref != "" {
		defs[strings.TrimPrefix(o.Ref, "#/$defs/")].flatten(path, defs, into)
	}
	for _, one := range o.AnyOf {
		one.flatten(path, defs, into)
	}
	for name, p := range o.Properties {
		key := strings.TrimPrefix(path+"."+name, ".")
		text := p.Description
		if p.Enum != nil {
			text += ": " + strings.Join(p.Enum, ", ")
		}
		into[key] = text
		p.flatten(key, defs, into)
	}
}

// TestEveryVariableIsListed finds the variables in the sources.
func TestEveryVariableIsListed(t *testing.T) {
	listed := map[string]bool{}
	for _, v := range config.Variables() {
		listed[v.Name] = true
	}
	name := regexp.MustCompile(`"(WEXEC_[A-Z_]+)"`)
	for _, top := range []string{"cmd/wexec", "config", "engine", "hostfns", "audit", "privacy", "policy"} {
		err := filepath.WalkDir(filepath.Join("..", filepath.FromSlash(top)), func(path string, d fs.DirEntry, err error) error {
			if err != nil || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
				return err
			}
			data, err := os.ReadFile(path)
			for _, m := range name.FindAllStringSubmatch(string(data), -1) {
				if !listed[m[1]] {
					t.Errorf("%s reads %s, which config.Variables does not list", path, m[1])
				}
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
}

// TestAForeignValidatorAcceptsTheExamples validates every wexec.yaml and policy
// of examples and documents with ajv, and rejects them with an unknown key.
func TestAForeignValidatorAcceptsTheExamples(t *testing.T) {
	ajv := filepath.Join(testenv.NPM(t), "node_modules", "ajv", "dist", "2020.js")
	node, err := exec.LookPath("node")
	if _, missing := os.Stat(ajv); err != nil || missing != nil {
		t.Skip("needs the packages of tests/npm.sh")
	}
	type document struct {
		Name  string          `json:"name"`
		Value json.RawMessage `json:"value"`
	}
	work := map[string]*struct {
		Schema    json.RawMessage `json:"schema"`
		Documents []document      `json:"documents"`
	}{"settings": {Schema: config.Schema()}, "policies": {Schema: policy.Schema()}}
	add := func(kind, name, text string) {
		data, err := yaml.YAMLToJSON([]byte(text))
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		work[kind].Documents = append(work[kind].Documents, document{name, data})
	}
	for _, doc := range documents(t) {
		for _, f := range fencesOf(t, doc) {
			name := fmt.Sprintf("%s:%d", doc, f.line)
			switch {
			case f.info == "yaml policy":
				add("policies", name, f.text)
			case strings.HasPrefix(f.text, "# wexec.yaml"):
				add("settings", name, f.text)
			}
		}
	}
	policies, err := filepath.Glob("../examples/*/policy.yaml")
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range policies {
		add("policies", path, read(t, strings.TrimPrefix(filepath.ToSlash(path), "../")))
	}
	for kind, w := range work {
		if len(w.Documents) < 3 {
			t.Errorf("only %d %s", len(w.Documents), kind)
		}
		input, err := json.Marshal(w)
		if err != nil {
			t.Fatal(err)
		}
		cmd := exec.Command(node, "-e", `
const {default: Ajv} = require(process.argv[1]);
const {schema, documents} = JSON.parse(require("fs").readFileSync(0, "utf8"));
const valid = new Ajv({allowUnionTypes: true}).compile(schema);
for (const {name, value} of documents) {
  if (!valid(value)) console.log(name, "is refused:", JSON.stringify(valid.errors));
  if (valid({...value, unknown_key: 1})) console.log(name, "with an unknown key is accepted");
}`, ajv)
		cmd.Stdin = strings.NewReader(string(input))
		if out, err := cmd.CombinedOutput(); err != nil || len(out) > 0 {
			t.Errorf("%s: %v\n%s", kind, err, out)
		}
	}
}
