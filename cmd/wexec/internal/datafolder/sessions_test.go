package datafolder

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/wexec/wexec/engine"
	"github.com/wexec/wexec/fault"
	"github.com/wexec/wexec/internal/ownfile"
)

func sessionID(t *testing.T, name string) engine.SessionID {
	t.Helper()
	id, err := SessionID(name)
	if err != nil {
		t.Fatal(err)
	}
	return id
}

// image is what a session of the tests has.
func image(generation int64) engine.SessionImage {
	return engine.SessionImage{Language: engine.JavaScript, Generation: generation, Data: bytes.Repeat([]byte{byte(generation)}, 100_000)}
}

// cycle wakes a session of a generation and puts it to sleep again.
func cycle(t *testing.T, s *Sessions, id engine.SessionID, generation int64) {
	t.Helper()
	if err := s.Claim(t.Context(), id, engine.JavaScript, generation); err != nil {
		t.Fatal(err)
	}
	if err := s.Put(t.Context(), id, image(generation+1)); err != nil {
		t.Fatal(err)
	}
}

func wants(t *testing.T, s *Sessions, id engine.SessionID, generation int64) {
	t.Helper()
	got, err := s.Get(t.Context(), id)
	if err != nil || got == nil {
		t.Fatalf("image %v, error %v", got, err)
	}
	if want := image(generation); got.Generation != generation || got.Language != want.Language || !bytes.Equal(got.Data, want.Data) {
		t.Errorf("generation %d of %s with %d bytes", got.Generation, got.Language, len(got.Data))
	}
}

func refuses(t *testing.T, err error, text string) {
	t.Helper()
	if !errors.Is(err, fault.UsageSession) || !strings.Contains(err.Error(), text) {
		t.Errorf("error %v, want usage.session with %q", err, text)
	}
}

func TestASessionIsKeptBetweenProcesses(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "data", "wexec")
	id := sessionID(t, "my session ü")
	if got, err := New(dir, "").Sessions().Get(t.Context(), id); got != nil || err != nil {
		t.Fatalf("%v, %v", got, err)
	}
	if _, err := os.Stat(dir); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("looking for a session makes the folder: %v", err)
	}
	for generation := range int64(4) {
		one := New(dir, "").Sessions() // as another process
		cycle(t, one, id, generation)
		wants(t, New(dir, "").Sessions(), id, generation+1)
	}
	s := New(dir, "").Sessions()
	all, err := s.List(t.Context(), User, "")
	if err != nil || len(all) != 1 || all[0].Name != id.Name || all[0].State != engine.SessionAsleep || all[0].Created.IsZero() {
		t.Errorf("%+v, %v", all, err)
	}
	if all, err := s.List(t.Context(), "another", ""); len(all) > 0 || err != nil {
		t.Errorf("%v, %v", all, err)
	}
	if err := s.Claim(t.Context(), id, engine.Python, 0); !errors.Is(err, fs.ErrExist) {
		t.Errorf("a session is created twice: %v", err)
	}
	if err := s.Delete(t.Context(), id); err != nil {
		t.Fatal(err)
	}
	if files, err := os.ReadDir(filepath.Join(dir, "sessions")); err != nil || len(files) != 1 { // the lock of the folder
		t.Errorf("left: %v, %v", files, err)
	}
	if runtime.GOOS != "windows" {
		if info, err := os.Stat(filepath.Join(dir, "seal.key")); err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("the key: %v, %v", info.Mode(), err)
		}
	}
}

func TestASessionIsAwakeInOneProcess(t *testing.T) {
	dir := t.TempDir()
	id := sessionID(t, "s")
	one, two := New(dir, "").Sessions(), New(dir, "").Sessions()
	cycle(t, one, id, 0)
	if err := one.Claim(t.Context(), id, engine.JavaScript, 1); err != nil {
		t.Fatal(err)
	}
	_, err := two.Get(t.Context(), id)
	refuses(t, err, "used by another command")
	refuses(t, two.Claim(t.Context(), id, engine.JavaScript, 1), "another command woke")
	refuses(t, two.Delete(t.Context(), id), "used by another command")
	refuses(t, two.Put(t.Context(), id, image(2)), "not awake in this command")
	if all, err := two.List(t.Context(), User, ""); err != nil || len(all) != 1 || all[0].State != engine.SessionBusy {
		t.Errorf("%+v, %v", all, err)
	}
	if err := one.Put(t.Context(), id, image(2)); err != nil {
		t.Fatal(err)
	}
	wants(t, two, id, 2)
}

func TestASessionWhoseProcessEndedIsLostAndSaidSoOnce(t *testing.T) {
	dir := t.TempDir()
	id := sessionID(t, "s")
	one := New(dir, "").Sessions()
	cycle(t, one, id, 0)
	if err := one.Claim(t.Context(), id, engine.JavaScript, 1); err != nil {
		t.Fatal(err)
	}
	one.release(id) // as the end of the process does
	two := New(dir, "").Sessions()
	if all, err := two.List(t.Context(), User, ""); err != nil || len(all) > 0 {
		t.Errorf("%+v, %v", all, err)
	}
	_, err := two.Get(t.Context(), id)
	refuses(t, err, "was lost")
	if got, err := two.Get(t.Context(), id); got != nil || err != nil {
		t.Errorf("%v, %v", got, err)
	}
	cycle(t, two, id, 0)
}

// sessionPaths are the paths of the files of a session.
func sessionPaths(dir string, id engine.SessionID) sessionFiles {
	return filesOf(filepath.Join(dir, sessionsName), id)
}

func contentOf(t *testing.T, path string) []byte {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func write(t *testing.T, path string, data []byte) {
	t.Helper()
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
}

func TestAnImageThatIsNotTheNewestIsRefused(t *testing.T) {
	dir := t.TempDir()
	id := sessionID(t, "s")
	s := New(dir, "").Sessions()
	cycle(t, s, id, 0)
	at := sessionPaths(dir, id)
	oldImage, oldRecord := contentOf(t, at.image), contentOf(t, at.record)
	cycle(t, s, id, 1)
	newRecord, newImage := contentOf(t, at.record), contentOf(t, at.image)

	write(t, at.image, oldImage)
	_, err := s.Get(t.Context(), id)
	refuses(t, err, "image is missing, damaged")
	write(t, at.record, oldRecord) // both files are old
	_, err = s.Get(t.Context(), id)
	refuses(t, err, "older generation")
	refuses(t, s.Claim(t.Context(), id, engine.JavaScript, 1), "older generation")

	write(t, at.record, newRecord)
	write(t, at.image, newImage)
	wants(t, s, id, 2)
	other := sessionID(t, "other")
	cycle(t, s, other, 0)
	cycle(t, s, other, 1)
	write(t, sessionPaths(dir, other).image, newImage)
	_, err = s.Get(t.Context(), other)
	refuses(t, err, "another session")
}

func TestAnyChangeOfASealedImageIsRefused(t *testing.T) {
	dir := t.TempDir()
	id := sessionID(t, "s")
	s := New(dir, "").Sessions()
	cycle(t, s, id, 0)
	at := sessionPaths(dir, id)
	sealed := contentOf(t, at.image)
	for i := 0; i < len(sealed); i += 4999 {
		changed := bytes.Clone(sealed)
		changed[i] ^= 1
		write(t, at.image, changed)
		_, err := s.Get(t.Context(), id)
		refuses(t, err, "damaged")
	}
	for _, cut := range [][]byte{nil, sealed[:len(sealed)-1], sealed[:len(sealed)/2], append(bytes.Clone(sealed), 0)} {
		write(t, at.image, cut)
		_, err := s.Get(t.Context(), id)
		refuses(t, err, "damaged")
	}
	if err := os.Remove(at.image); err != nil {
		t.Fatal(err)
	}
	_, err := s.Get(t.Context(), id)
	refuses(t, err, "missing")
	write(t, at.image, sealed)
	wants(t, s, id, 1)
}

func TestFilesThatOthersCanReadOrWriteAreRefused(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("needs permission bits, which Windows does not have")
	}
	id := sessionID(t, "s")
	for _, name := range []string{"record", "image", "key", "folder"} {
		dir := t.TempDir()
		s := New(dir, "").Sessions()
		cycle(t, s, id, 0)
		at := sessionPaths(dir, id)
		path := map[string]string{"record": at.record, "image": at.image, "key": filepath.Join(dir, "seal.key"), "folder": filepath.Join(dir, sessionsName)}[name]
		if err := os.Chmod(path, 0o777); err != nil {
			t.Fatal(err)
		}
		_, err := New(dir, "").Sessions().Get(t.Context(), id)
		if fault.CodeOf(err) != fault.UsageStore || fault.HintOf(err) == "" {
			t.Errorf("%s: error %v, hint %q", name, err, fault.HintOf(err))
		}
	}
}

func TestTheKeyIsNotMadeAgain(t *testing.T) {
	dir := t.TempDir()
	id := sessionID(t, "s")
	cycle(t, New(dir, "").Sessions(), id, 0)
	if err := os.Remove(filepath.Join(dir, "seal.key")); err != nil {
		t.Fatal(err)
	}
	_, err := New(dir, "").Sessions().Get(t.Context(), id)
	if fault.CodeOf(err) != fault.UsageStore {
		t.Errorf("without the key: %v", err)
	}
	if _, err := ownfile.ReadPrivate(filepath.Join(dir, "seal.key"), 1000); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a key was made for images that it cannot open: %v", err)
	}
}

func TestALockedFolderIsWaitedForUntilTheContextEnds(t *testing.T) {
	dir := t.TempDir()
	id := sessionID(t, "s")
	s := New(dir, "").Sessions()
	cycle(t, s, id, 0)
	err := locked(t.Context(), filepath.Join(dir, sessionsName), func() error {
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		_, err := s.Get(ctx, id)
		return err
	})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("error %v", err)
	}
}
