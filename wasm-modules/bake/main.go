// Command bake makes the artefacts of a guest from its raw module: it meters
// the module, starts it once with its prelude, splits it into code and
// memory image, runs the guest's proof, and writes the parts, compressed,
// with their digests into manifest.json.
//
//	go run ./wasm-modules/bake -guest quickjs -raw FILE [-library FILE]
//	go run ./wasm-modules/bake -guest quickjs -cost '1+1'
//
// The same input gives the same artefacts, bit for bit. With -compare it writes
// nothing and compares the result with the committed files. With
// -show it prints values of the manifest: -show version, -show sources (lines
// for sha256sum), -show flags.NAME, -show settings.NAME. With -cost it writes
// nothing and prints the fuel, the written pages and the time of a
// program, in the committed guest or in the one that -raw would give.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	wasmmodules "github.com/wexec/wexec/wasm-modules"
)

func main() {
	if err := command(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "bake:", err)
		os.Exit(1)
	}
}

func command(args []string) error {
	set := flag.NewFlagSet("bake", flag.ContinueOnError)
	name := set.String("guest", "", "the guest's name in the manifest")
	raw := set.String("raw", "", "the module as its recipe built it")
	library := set.String("library", "", "the archive of the standard library")
	top := set.String("top", ".", "top of the repository")
	compare := set.Bool("compare", false, "write nothing, compare with what is committed")
	show := set.String("show", "", "print a value of the manifest")
	cost := set.String("cost", "", "write nothing, print what this program costs the guest")
	answer := set.String("answer", "", "a JSON file with which -cost answers host calls")
	rounds := set.Int("overhead", 0, "write nothing, print what metering adds to the guest, at its best of so many rounds")
	if err := set.Parse(args); err != nil {
		return err
	}
	home := filepath.Join(*top, "wasm-modules")
	data, err := os.ReadFile(filepath.Join(home, "manifest.json"))
	if err != nil {
		return err
	}
	m, err := wasmmodules.ParseManifest(data)
	if err != nil {
		return err
	}
	e := m.Entry(*name)
	if e == nil {
		return fmt.Errorf("no guest %q in the manifest", *name)
	}
	if *show != "" {
		return print(e, *show)
	}
	b := baker{entry: e, top: *top}
	ctx := context.Background()
	if *cost != "" && *raw == "" {
		return b.committed(ctx, *cost, *answer)
	}
	if *raw == "" {
		return fmt.Errorf("-raw FILE is missing")
	}
	if b.raw, err = os.ReadFile(*raw); err != nil {
		return err
	}
	if *library != "" {
		if b.library, err = os.ReadFile(*library); err != nil {
			return err
		}
	}
	if *rounds > 0 {
		return b.overhead(ctx, *rounds)
	}
	parts, err := b.bake(ctx)
	if err != nil {
		return fmt.Errorf("%s: %w", *name, err)
	}
	if *cost != "" {
		return b.report(ctx, parts[0].data, parts[1].data, *cost, *answer)
	}
	out := output{home: home, manifest: m, entry: e}
	if *compare {
		return out.compare(parts)
	}
	return out.write(parts)
}

// print prints one value of an entry for a recipe.
func print(e *wasmmodules.Entry, what string) error {
	group, key, _ := strings.Cut(what, ".")
	switch group {
	case "version":
		fmt.Println(e.Version)
	case "sources":
		for _, s := range e.Sources {
			if s.File != "" {
				fmt.Printf("%s  %s\n", s.SHA256, s.File)
			}
		}
	case "flags", "settings":
		values := e.Flags
		if group == "settings" {
			values = e.Settings
		}
		v, ok := values[key]
		if !ok {
			return fmt.Errorf("%s has no %s", e.Name, what)
		}
		fmt.Println(v)
	default:
		return fmt.Errorf("-show %s is unknown: version, sources, flags.NAME, settings.NAME", what)
	}
	return nil
}
