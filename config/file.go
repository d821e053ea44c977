package config

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/wexec/wexec/fault"
	"github.com/wexec/wexec/internal/units"
	"github.com/wexec/wexec/internal/yamldoc"
	"github.com/wexec/wexec/policy"
)

// file is a wexec.yaml. The tags are those of package yamldoc.
type file struct {
	Servers    yamldoc.Map[yamldoc.Object]  `yaml:"servers" doc:"MCP servers by name, as in an MCP file"`
	MCP        []string                     `yaml:"mcp" single:"yes" doc:"MCP files; default .mcp.json of a project"`
	Policy     []string                     `yaml:"policy" single:"yes" doc:"policy files; default policy.yaml in the same folder"`
	Limits     fileLimits                   `yaml:"limits" doc:"limits on the resources of a run; a policy may lower them"`
	Cache      string                       `yaml:"cache" doc:"folder of compiled code and results"`
	Audit      *fileAudit                   `yaml:"audit" doc:"where and how runs are recorded"`
	Embeddings *Embeddings                  `yaml:"embeddings" doc:"OpenAI-compatible endpoint that helps to find tools"`
	Approvals  fileApprovals                `yaml:"approvals" doc:"of wexec serve: who learns of questions to people"`
	LearnTypes *bool                        `yaml:"learn_types" doc:"learn the types of answers that no server declares"`
	Packages   []yamldoc.Value[filePackage] `yaml:"packages" doc:"archives that programs may import from; written by wexec packages add"`
	Quotas     Quotas                       `yaml:"quotas" doc:"of a tenant of wexec serve: what its runs may use; days are those of UTC"`
	Retention  *fileRetention               `yaml:"retention" doc:"how long what lasts is kept"`
	Keep       *bool                        `yaml:"keep" doc:"wexec run keeps runs in the user's store"`
	Features   fileFeatures                 `yaml:"features" doc:"of a tenant of wexec serve: what its actors may use"`
	Model      string                       `yaml:"model" doc:"of a tenant of wexec serve: the model of its agents; the cost of runs uses its price"`
	Profiles   yamldoc.Map[Profile]         `yaml:"profiles" doc:"subsets of the servers and tools, by name; each is served as MCP at /mcp/p/NAME"`
	Workspaces yamldoc.Map[string]          `yaml:"workspaces" doc:"of a tenant of wexec serve: folders over which clients may make workspaces, by name; absolute paths"`
	ParkAfter  units.Duration               `yaml:"park_after" doc:"how long a run waits for people, timers and signals until it leaves memory; 30s unless told"`
	Log        string                       `yaml:"log" enum:"debug|info|warn|error" doc:"least important messages that are logged"`
}

type fileRetention struct {
	Runs      units.Duration `yaml:"runs" doc:"runs that ended, with their events, approvals and usage; at least 1h"`
	Artifacts units.Duration `yaml:"artifacts" doc:"the longest time that an artifact is kept"`
}

// filePackage is an item of packages in a wexec.yaml.
type filePackage struct {
	Path   string `yaml:"path" need:"yes" doc:"the archive; relative paths start at the file's folder"`
	SHA256 string `yaml:"sha256" need:"yes" doc:"the digest that the archive must have, in hex"`
}

type fileAudit struct {
	Dir    string      `yaml:"dir" doc:"folder of the records"`
	Rotate units.Size  `yaml:"rotate" doc:"size at which a new segment begins"`
	Sync   string      `yaml:"sync" enum:"writes|never|always" doc:"when records are forced to disk"`
	Key    string      `yaml:"key" doc:"file with an Ed25519 key that signs the head of each segment"`
	Anchor *fileAnchor `yaml:"anchor" doc:"where heads are kept against rollback; a path means file"`
}

type fileAnchor struct {
	File     string         `yaml:"file" short:"yes" doc:"file to which heads are appended"`
	Command  []string       `yaml:"command" single:"yes" doc:"program, with arguments, that keeps heads"`
	Tool     string         `yaml:"tool" doc:"tool of a server that keeps heads, as server.tool"`
	Every    units.Duration `yaml:"every" doc:"how long new records may wait"`
	Records  units.Count    `yaml:"records" doc:"how many new records may wait"`
	Required bool           `yaml:"required" doc:"run nothing while the anchor fails"`
}

// anchor returns the setting. Relative paths begin at dir.
func (f *fileAnchor) anchor(dir string) Anchor {
	a := Anchor{Command: f.Command, Tool: f.Tool, Every: time.Duration(f.Every), Records: int(f.Records), Required: f.Required}
	if f.File != "" {
		a.File = absolute(dir, f.File)
	}
	return a
}

// Embeddings is an OpenAI-compatible endpoint that helps to find tools.
type Embeddings struct {
	URL   string `yaml:"url" doc:"address of the endpoint"`
	Model string `yaml:"model" doc:"name of the model"`
	Key   string `yaml:"key" doc:"where the key is, as env:NAME or file:PATH"` // empty: none
}

type fileApprovals struct {
	Webhook Webhook `yaml:"webhook" doc:"of a tenant: the program to which events about approvals are sent"`
}

// Webhook is a program to which events about approvals are sent.
type Webhook struct {
	URL    string `yaml:"url" doc:"address to which events are posted"`
	Secret string `yaml:"secret" doc:"where the key is that signs events, as env:NAME or file:PATH"`
	Link   string `yaml:"link" doc:"address of the server's pages in events, such as https://wexec.example.com; absent: where it listens"`
}

// Quotas bound what the runs of a tenant use; 0 sets no bound.
type Quotas struct {
	Running      units.Count `yaml:"running" min:"1" doc:"runs that were accepted and have not ended"`
	Queued       units.Count `yaml:"queued" min:"1" doc:"of these, runs that wait for a server with room"`
	RunsPerDay   units.Count `yaml:"runs_per_day" min:"1" doc:"runs that are accepted in a day"`
	FuelPerDay   units.Count `yaml:"fuel_per_day" min:"1" doc:"fuel of the runs of a day"`
	TokensPerDay units.Count `yaml:"tokens_per_day" min:"1" doc:"tokens of the runs of a day"`
	Artifacts    units.Size  `yaml:"artifacts" min:"1" doc:"bytes of all artifacts"`
	MoneyPerDay  units.Money `yaml:"money_per_day" doc:"cost of the runs of a day, in the currency of the prices"`
}

// values lists the quotas that are set.
func (q Quotas) values(origin string) []Value {
	var out []Value
	for _, v := range []struct {
		key  string
		n    int64
		text string
	}{{"running", int64(q.Running), ""}, {"queued", int64(q.Queued), ""}, {"runs_per_day", int64(q.RunsPerDay), ""}, {"fuel_per_day", int64(q.FuelPerDay), ""},
		{"tokens_per_day", int64(q.TokensPerDay), ""}, {"money_per_day", int64(q.MoneyPerDay), q.MoneyPerDay.String()},
		{"artifacts", int64(q.Artifacts), units.FormatSize(int64(q.Artifacts))}} {
		if v.n > 0 {
			out = append(out, Value{"quotas." + v.key, cmp.Or(v.text, fmt.Sprint(v.n)), origin})
		}
	}
	return out
}

// fileFeatures has the share of the actors that have each feature.
type fileFeatures struct {
	Skills     yamldoc.Value[Share] `yaml:"skills" doc:"skills: on, off, or a percentage of the actors"`
	Models     yamldoc.Value[Share] `yaml:"models" doc:"calls of models: on, off, or a percentage of the actors"`
	Documents  yamldoc.Value[Share] `yaml:"documents" doc:"documents: on, off, or a percentage of the actors"`
	Programs   yamldoc.Value[Share] `yaml:"programs" doc:"programs that a model writes: on, off, or a percentage of the actors"`
	Tasks      yamldoc.Value[Share] `yaml:"tasks" doc:"tasks: on, off, or a percentage of the actors"`
	Workspaces yamldoc.Value[Share] `yaml:"workspaces" doc:"workspaces: on, off, or a percentage of the actors"`
}

// shares returns the features that are set, by name.
func (f fileFeatures) shares() map[string]int {
	all := map[string]int{}
	for name, share := range map[string]yamldoc.Value[Share]{"skills": f.Skills, "models": f.Models, "documents": f.Documents,
		"programs": f.Programs, "tasks": f.Tasks, "workspaces": f.Workspaces} {
		if share.IsSet() {
			all[name] = int(share.V)
		}
	}
	return all
}

// Share is a percentage of actors: on, off, 25%.
type Share int

// UnmarshalText reads a share.
func (s *Share) UnmarshalText(text []byte) error {
	switch word := string(text); word {
	case "on", "true":
		*s = 100
	case "off", "false":
		*s = 0
	default:
		n, err := strconv.ParseUint(strings.TrimSuffix(word, "%"), 10, 8)
		if err != nil || n > 100 {
			return fault.New(fault.UsageConfig, "%.40q is not a share", word).WithHint("write on, off, or a percentage such as 25%%")
		}
		*s = Share(n)
	}
	return nil
}

// Value is one setting and its origin.
type Value struct {
	Key    string `json:"key"`
	Value  string `json:"value"`
	Origin string `json:"origin"`
}

// fileLimits are limits that may be 0, for the default.
type fileLimits struct{ policy.Limits }

// YAMLKeys lists the limits.
func (l fileLimits) YAMLKeys() []yamldoc.Key {
	keys := l.Limits.YAMLKeys()
	for i := range keys {
		keys[i].Min = 0
	}
	return keys
}

// readFile reads a wexec.yaml. A missing file is not an error.
func readFile(path string, read reader) (f *file, ok bool, err error) {
	data, err := read(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, false, nil
	}
	if err == nil {
		f, err = parseFile(path, data)
	}
	return f, err == nil, err
}

// parseFile reads the text of a wexec.yaml, which may come from an untrusted
// person.
func parseFile(name string, data []byte) (*file, error) {
	r := &yamldoc.Reporter{File: name}
	var f file
	yamldoc.Decode(r, data, &f)
	if err := r.Err(fault.UsageConfig); err != nil {
		return nil, err
	}
	if f.Audit != nil && f.Audit.Anchor != nil {
		if a := f.Audit.Anchor; a.File == "" && a.Tool == "" && (len(a.Command) == 0 || a.Command[0] == "") {
			return nil, fault.New(fault.UsageConfig, "%s: audit.anchor must have a file, a command or a tool", name).
				WithHint("write  anchor: {command: [keep-head]},  or remove anchor")
		}
	}
	if err := checkProfiles(name, f.Profiles); err != nil {
		return nil, err
	}
	if err := checkFolders(name, f.Workspaces); err != nil {
		return nil, err
	}
	return &f, nil
}

// confined refuses settings of a tenant that write to the machine, start commands on it,
// or read files outside the tenant's folder.
func (f *file) confined(name, folder string) error {
	for key, set := range map[string]bool{"cache": f.Cache != "", "audit": f.Audit != nil} {
		if set {
			return fault.New(fault.UsageConfig, "%s: only the operator of the server may set %s", name, key).WithHint("remove %s", key)
		}
	}
	for _, p := range f.Packages {
		real, err := filepath.EvalSymlinks(absolute(folder, p.V.Path))
		if err == nil {
			folder, err = filepath.EvalSymlinks(folder)
		}
		if rel, relErr := filepath.Rel(folder, real); err != nil || relErr != nil || !filepath.IsLocal(rel) {
			return fault.New(fault.UsageConfig, "%s:%d: the package %s is outside the folder of the tenant", name, p.Pos.Line, p.V.Path)
		}
	}
	return nil
}

// servers returns the servers that a wexec.yaml defines itself.
func (f *file) servers(name string, x expander) (Servers, error) {
	var entries []serverEntry
	for _, s := range f.Servers {
		definition, err := json.Marshal(s.V)
		if err != nil {
			return Servers{}, fault.New(fault.UsageConfig, "%s:%d: server %q: %w", name, s.KeyPos.Line, s.Key, err)
		}
		entries = append(entries, serverEntry{file: name, name: s.Key, line: s.KeyPos.Line, definition: definition})
	}
	return readEntries(entries, x), nil
}

// limitValues lists the limits that are set.
func limitValues(l policy.Limits, origin string) []Value {
	var out []Value
	for _, f := range policy.LimitFields() {
		v := f.Get(l)
		if v == 0 {
			continue
		}
		text := fmt.Sprint(v)
		if f.Kind == policy.LimitDuration || f.Kind == policy.LimitShare {
			text = f.Format(v)
		}
		out = append(out, Value{"limits." + f.Key, text, origin})
	}
	return out
}

// limitVariable returns the variable of a limit.
func limitVariable(f policy.LimitField) string {
	return "WEXEC_" + strings.ToUpper(strings.ReplaceAll(f.Flag, "-", "_"))
}

// limitsFromEnvironment reads WEXEC_FUEL and the variables of the other limits.
func limitsFromEnvironment(env *Environment) (policy.Limits, error) {
	var l policy.Limits
	var problems []error
	for _, f := range policy.LimitFields() {
		name := limitVariable(f)
		text, ok := env.Lookup(name)
		if !ok || text == "" {
			continue
		}
		v, err := f.Parse(text)
		if err != nil {
			problems = append(problems, fault.New(fault.UsageConfig, "%s: %w", name, err).WithHint("%s", fault.HintOf(err)))
		}
		f.Set(&l, v)
	}
	return l, errors.Join(problems...)
}

// checkFolders checks the folders that a tenant's clients may make workspaces over.
func checkFolders(name string, folders yamldoc.Map[string]) error {
	for _, f := range folders {
		at := fmt.Sprintf("%s:%d: workspace %.80q", name, f.KeyPos.Line, f.Key)
		switch {
		case !isName(f.Key):
			return fault.New(fault.UsageConfig, "%s: the name has at most %d lower-case letters, digits, - and _", at, maxName)
		case !filepath.IsAbs(f.V):
			return fault.New(fault.UsageConfig, "%s: the folder %.200q must be an absolute path", at, f.V)
		}
	}
	return nil
}

// folders returns the folders of the files before with those of the file instead of others
// with the same name.
func (f *file) folders(farther map[string]string, origin string) (all map[string]string, values []Value) {
	all = map[string]string{}
	maps.Copy(all, farther)
	for _, folder := range f.Workspaces {
		all[folder.Key] = filepath.Clean(folder.V)
		values = append(values, Value{"workspaces." + folder.Key, all[folder.Key], origin})
	}
	return all, values
}
