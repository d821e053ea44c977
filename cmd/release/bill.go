package main

import (
	"bytes"
	"context"
	"crypto/sha256"
	"debug/buildinfo"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	wasmmodules "github.com/wexec/wexec/wasm-modules"
)

// The SBOM is CycloneDX 1.6, made from the build information in
// the command and from the manifest of the guests: it lists nothing
// that the command does not contain.

type bom struct {
	Format       string       `json:"bomFormat"`
	Spec         string       `json:"specVersion"`
	Serial       string       `json:"serialNumber"`
	Version      int          `json:"version"`
	Metadata     metadata     `json:"metadata"`
	Components   []component  `json:"components"`
	Dependencies []dependency `json:"dependencies"`
}

type metadata struct {
	Time      string    `json:"timestamp"`
	Component component `json:"component"`
}

type component struct {
	Type       string      `json:"type"`
	Ref        string      `json:"bom-ref"`
	Name       string      `json:"name"`
	Version    string      `json:"version,omitempty"`
	About      string      `json:"description,omitempty"`
	PURL       string      `json:"purl,omitempty"`
	Hashes     []hash      `json:"hashes,omitempty"`
	Licences   []licence   `json:"licenses,omitempty"`
	Properties []property  `json:"properties,omitempty"`
	Parts      []component `json:"components,omitempty"`
}

type hash struct {
	Algorithm string `json:"alg"`
	Content   string `json:"content"`
}

type licence struct {
	License name `json:"license"`
}

type name struct {
	Name string `json:"name"`
}

type property struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

type dependency struct {
	Ref string   `json:"ref"`
	On  []string `json:"dependsOn,omitempty"`
}

// bill returns the SBOM of a command: Go modules with their sums, guests with the
// digests of their sources; and the third-party licences.
func (r *release) bill(ctx context.Context, command, system, machine string) (list, licences []byte, err error) {
	info, err := buildinfo.ReadFile(command)
	if err != nil {
		return nil, nil, err
	}
	data, err := os.ReadFile(command)
	if err != nil {
		return nil, nil, err
	}
	sum := sha256.Sum256(data)
	main := component{Type: "application", Ref: "wexec", Name: "wexec", Version: r.version, PURL: purl(info.Main.Path, r.version),
		Hashes: []hash{{"SHA-256", hex.EncodeToString(sum[:])}}, Licences: []licence{{name{"Apache-2.0"}}},
		Properties: []property{{"platform", system + "/" + machine}}}
	out := bom{Format: "CycloneDX", Spec: "1.6", Version: 1, Serial: serial(sum), Metadata: metadata{r.time.Format(time.RFC3339), main}}
	add := func(c component) { out.Components = append(out.Components, c) }
	add(component{Type: "library", Ref: "go-standard-library", Name: "std", Version: info.GoVersion,
		PURL: "pkg:golang/std@" + strings.TrimPrefix(info.GoVersion, "go"), Licences: []licence{{name{"BSD-3-Clause"}}}})
	for _, m := range info.Deps {
		if m.Replace != nil {
			m = m.Replace
		}
		add(component{Type: "library", Ref: m.Path, Name: m.Path, Version: m.Version, PURL: purl(m.Path, m.Version),
			Properties: []property{{"go:sum", m.Sum}}})
	}
	raw, err := os.ReadFile(filepath.Join(r.source, "wasm-modules", "manifest.json"))
	if err != nil {
		return nil, nil, err
	}
	manifest, err := wasmmodules.ParseManifest(raw)
	if err != nil {
		return nil, nil, err
	}
	for _, g := range manifest.Guests {
		add(guest(g))
	}
	on := dependency{Ref: "wexec"}
	for _, c := range out.Components {
		on.On = append(on.On, c.Ref)
	}
	out.Dependencies = []dependency{on}
	list, err = json.MarshalIndent(out, "", "  ")
	if err != nil {
		return nil, nil, err
	}
	licences, err = r.licences(ctx, info)
	return append(list, '\n'), licences, err
}

// guest returns the component of an embedded guest with its sources.
func guest(g wasmmodules.Entry) component {
	c := component{Type: "application", Ref: "guest:" + g.Name, Name: g.Name, Version: g.Version, About: g.Summary,
		Hashes: []hash{{"SHA-256", g.Raw.SHA256}}}
	for _, s := range g.Sources {
		part := component{Type: "library", Ref: "guest:" + g.Name + ":" + s.Name, Name: s.Name, Version: s.Version,
			Licences: []licence{{name{s.Licence}}}, Properties: []property{{"source", s.From}}}
		switch {
		case strings.HasPrefix(s.SHA256, "h1:"):
			part.Properties = append(part.Properties, property{"go:sum", s.SHA256})
		default:
			part.Hashes = []hash{{"SHA-256", s.SHA256}}
		}
		c.Parts = append(c.Parts, part)
	}
	return c
}

func purl(path, version string) string {
	if version == "" {
		return "pkg:golang/" + path
	}
	return "pkg:golang/" + path + "@" + strings.ReplaceAll(version, "+", "%2B")
}

// serial derives the serial number of the SBOM from the command.
func serial(sum [32]byte) string {
	sum[6], sum[8] = sum[6]&0x0f|0x80, sum[8]&0x3f|0x80
	return fmt.Sprintf("urn:uuid:%x-%x-%x-%x-%x", sum[:4], sum[4:6], sum[6:8], sum[8:10], sum[10:16])
}

// licences returns the licences and notices of the Go modules in a command,
// verbatim, as most of them require.
func (r *release) licences(ctx context.Context, info *buildinfo.BuildInfo) ([]byte, error) {
	var b bytes.Buffer
	b.WriteString("The command contains the Go modules below, each under its own licence. What the\nguests contain is listed in NOTICE.\n")
	root, err := r.command(ctx, nil, "go", "env", "GOROOT")
	if err != nil {
		return nil, err
	}
	if err := licencesOf(&b, "The Go standard library, "+info.GoVersion, strings.TrimSpace(string(root))); err != nil {
		return nil, err
	}
	args := []string{"list", "-m", "-f", "{{.Path}}\t{{.Dir}}"}
	for _, m := range info.Deps {
		args = append(args, m.Path)
	}
	out, err := r.command(ctx, nil, "go", args...)
	if err != nil {
		return nil, err
	}
	dirs := map[string]string{}
	for line := range strings.Lines(string(out)) {
		path, dir, _ := strings.Cut(strings.TrimSpace(line), "\t")
		dirs[path] = dir
	}
	for _, m := range info.Deps {
		if err := licencesOf(&b, m.Path+" "+m.Version, dirs[m.Path]); err != nil {
			return nil, err
		}
	}
	return b.Bytes(), nil
}

func licencesOf(b *bytes.Buffer, title, dir string) error {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return fmt.Errorf("read licence of %s: %w", title, err)
	}
	found := 0
	for _, e := range entries {
		word := strings.ToUpper(strings.TrimSuffix(e.Name(), filepath.Ext(e.Name())))
		if e.IsDir() || !slices.Contains([]string{"LICENSE", "LICENCE", "COPYING", "NOTICE", "LICENSE-APACHE", "LICENSE-MIT"}, word) {
			continue
		}
		data, err := os.ReadFile(filepath.Join(dir, e.Name()))
		if err != nil {
			return err
		}
		rule := strings.Repeat("-", 78)
		text := bytes.TrimSpace(bytes.ReplaceAll(data, []byte("\r\n"), []byte("\n")))
		fmt.Fprintf(b, "\n%s\n%s (%s)\n%s\n\n%s\n", rule, title, e.Name(), rule, text)
		found++
	}
	if found == 0 {
		return fmt.Errorf("no licence of %s in %s", title, dir)
	}
	return nil
}
