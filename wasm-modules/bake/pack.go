package main

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/klauspost/compress/zstd"

	"github.com/wexec/wexec/internal/atomicfile"
	wasmmodules "github.com/wexec/wexec/wasm-modules"
)

// output is the destination of artefacts.
type output struct {
	home     string
	manifest *wasmmodules.Manifest
	entry    *wasmmodules.Entry
}

// pack compresses a part with fixed settings, so that the result is reproducible.
func pack(data []byte) ([]byte, error) {
	enc, err := zstd.NewWriter(nil, zstd.WithEncoderLevel(zstd.SpeedBestCompression),
		zstd.WithEncoderConcurrency(1), zstd.WithWindowSize(32<<20), zstd.WithEncoderCRC(false))
	if err != nil {
		return nil, err
	}
	defer enc.Close()
	return enc.EncodeAll(data, nil), nil
}

// packed compresses all parts and returns their entries for the manifest.
func (o *output) packed(parts []part) (map[string]wasmmodules.Artefact, map[string][]byte, error) {
	described := map[string]wasmmodules.Artefact{}
	files := map[string][]byte{}
	for _, p := range parts {
		data, err := pack(p.data)
		if err != nil {
			return nil, nil, err
		}
		name := o.entry.Name + "." + p.kind + ".zst"
		described[p.kind] = wasmmodules.Artefact{Digested: digested(p.data), File: name, Packed: digested(data)}
		files[name] = data
		fmt.Printf("%-24s %10d → %9d bytes\n", name, len(p.data), len(data))
	}
	return described, files, nil
}

// write writes the artefacts, manifest.json and contents.txt.
func (o *output) write(parts []part) error {
	described, files, err := o.packed(parts)
	if err != nil {
		return err
	}
	o.entry.Artefacts = described
	text, err := o.manifest.JSON()
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Join(o.home, "artefacts"), 0o755); err != nil {
		return err
	}
	for name, data := range files {
		if err := atomicfile.Write(filepath.Join(o.home, "artefacts", name), data, 0o644); err != nil {
			return err
		}
	}
	return errors.Join(atomicfile.Write(filepath.Join(o.home, "manifest.json"), text, 0o644),
		atomicfile.Write(filepath.Join(o.home, "contents.txt"), o.manifest.Contents(), 0o644))
}

// compare compares the artefacts and the manifest with the committed files.
func (o *output) compare(parts []part) error {
	described, files, err := o.packed(parts)
	if err != nil {
		return err
	}
	o.entry.Artefacts = described
	text, err := o.manifest.JSON()
	if err != nil {
		return err
	}
	var differ []string
	look := func(path string, want []byte) {
		if got, err := os.ReadFile(filepath.Join(o.home, path)); err != nil || !bytes.Equal(got, want) {
			differ = append(differ, path)
		}
	}
	for name, data := range files {
		look(filepath.Join("artefacts", name), data)
	}
	look("manifest.json", text)
	look("contents.txt", o.manifest.Contents())
	if len(differ) > 0 {
		return fmt.Errorf("what was built is not what is committed: %q", differ)
	}
	fmt.Println(o.entry.Name, "is what is committed")
	return nil
}
