package seal

import (
	"bytes"
	"encoding/base64"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"

	"github.com/wexec/wexec/fault"
)

// keyOf returns a key as a key file has it.
func keyOf(c byte) string {
	return base64.StdEncoding.EncodeToString(bytes.Repeat([]byte{c}, keySize))
}

func TestAnOldKeyUnwrapsAndTheFirstWraps(t *testing.T) {
	before := testKeys(t, keyOf('a'))
	box, key := sealed(t, before, content(10), 10)
	both := testKeys(t, keyOf('b'), keyOf('a'))
	if got, err := opened(box, key, both, purpose); err != nil || !bytes.Equal(got, content(10)) {
		t.Fatalf("got %q, %v", got, err)
	}
	if both.Current(key) || !before.Current(key) {
		t.Error("the key of the file is of the wrong age")
	}
	fresh := must(Rewrap(t.Context(), both, key, purpose))(t)
	if !both.Current(fresh) {
		t.Error("a rewrapped key is not current")
	}
	after := testKeys(t, keyOf('b'))
	if got, err := opened(box, fresh, after, purpose); err != nil || !bytes.Equal(got, content(10)) {
		t.Errorf("got %q, %v", got, err)
	}
	_, err := opened(box, key, after, purpose)
	if !errors.Is(err, ErrNoKey) || !errors.Is(err, fault.StoreUnavailable) || fault.HintOf(err) == "" {
		t.Errorf("without its key: %v", err)
	}
	if _, err := Rewrap(t.Context(), both, key, "another"); !errors.Is(err, ErrDamaged) {
		t.Errorf("a key is rewrapped for another purpose: %v", err)
	}
}

func TestAnyChangeOfAWrappedKeyIsRefused(t *testing.T) {
	k := testKeys(t)
	wrapped := must(k.Wrap(t.Context(), make([]byte, keySize), purpose))(t)
	for i := range wrapped {
		changed := bytes.Clone(wrapped)
		changed[i] ^= 0x80
		if _, err := k.Unwrap(t.Context(), changed, purpose); err == nil || fault.CodeOf(err) != fault.StoreUnavailable {
			t.Errorf("byte %d changed: %v", i, err)
		}
	}
}

func TestKeyFilesAreReadStrictly(t *testing.T) {
	for text, want := range map[string]int{
		keyOf('a'): 1,
		"# comment\n\n" + keyOf('a') + " # newest\r\n": 1,
		keyOf('a') + "\n" + keyOf('b') + "\n":          2,
		keyOf('a') + " " + keyOf('b'):                  2,
		"":                                             0,
		"# nothing\n":                                  0,
		"secret":                                       0,
		keyOf('a') + "\nc2VjcmV0\n":                    0,
		keyOf('a')[:40]:                                0,
		strings.TrimRight(keyOf('a'), "="):             0,
		base64.StdEncoding.EncodeToString([]byte("xx")): 0,
	} {
		k, err := ParseKeys(text)
		if want > 0 {
			if err != nil || len(k.all) != want {
				t.Errorf("%q: %v, %v", text, k, err)
			}
			continue
		}
		if fault.CodeOf(err) != fault.UsageStore || fault.HintOf(err) == "" {
			t.Errorf("%q: %v", text, err)
			continue
		}
		for _, secret := range []string{"secret", "c2VjcmV0", keyOf('a')[:40]} {
			if strings.Contains(err.Error(), secret) {
				t.Errorf("%q: the message %q has a key", text, err)
			}
		}
	}
}

func TestAKeyFileIsCreatedOnce(t *testing.T) {
	path := filepath.Join(t.TempDir(), "data", "seal.key")
	if _, err := Load(path, ""); !errors.Is(err, fs.ErrNotExist) || fault.CodeOf(err) != fault.UsageStore {
		t.Fatalf("a missing file: %v", err)
	}
	var all [8]*Keys
	var done sync.WaitGroup
	for i := range all {
		done.Go(func() { all[i], _ = LoadOrCreate(path, "") })
	}
	done.Wait()
	box, key := sealed(t, must(LoadOrCreate(path, ""))(t), content(10), 10)
	for i, k := range all {
		if k == nil {
			t.Fatalf("process %d got no keys", i)
		}
		must(opened(box, key, k, purpose))(t)
	}
	entries := must(os.ReadDir(filepath.Dir(path)))(t)
	if len(entries) != 1 {
		t.Errorf("the folder has %v", entries)
	}
	if info := must(os.Stat(path))(t); runtime.GOOS != "windows" && info.Mode() != 0o600 {
		t.Errorf("the file has mode %v", info.Mode())
	}
}

func TestAKeyFileThatOthersCanReadIsRefused(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("needs permission bits")
	}
	for name, change := range map[string]func(t *testing.T, path string) error{
		"the group reads": func(_ *testing.T, path string) error { return os.Chmod(path, 0o640) },
		"others read":     func(_ *testing.T, path string) error { return os.Chmod(path, 0o604) },
		"others write":    func(_ *testing.T, path string) error { return os.Chmod(path, 0o602) },
		"a link": func(_ *testing.T, path string) error {
			return errors.Join(os.Rename(path, path+"2"), os.Symlink(path+"2", path))
		},
		"a folder":           func(_ *testing.T, path string) error { return errors.Join(os.Remove(path), os.Mkdir(path, 0o700)) },
		"no file but a pipe": makePipe,
		"others' folder":     func(_ *testing.T, path string) error { return os.Chmod(filepath.Dir(path), 0o777) },
		"too large":          func(_ *testing.T, path string) error { return os.Truncate(path, maxKeyFile+1) },
		"of another user": func(t *testing.T, path string) error {
			if os.Geteuid() != 0 {
				t.Skip("needs root, to give a file to another user")
			}
			return os.Chown(path, 65534, 65534)
		},
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "data", "seal.key")
			must(LoadOrCreate(path, ""))(t)
			if err := change(t, path); err != nil {
				t.Fatal(err)
			}
			for _, load := range []func(path, text string) (*Keys, error){Load, LoadOrCreate} {
				if _, err := load(path, ""); fault.CodeOf(err) != fault.UsageStore || fault.HintOf(err) == "" {
					t.Errorf("error is %v, hint %q", err, fault.HintOf(err))
				}
			}
		})
	}
}

func TestTheVariableReplacesTheFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "data", "seal.key")
	k := must(LoadOrCreate(path, keyOf('a')+" "+keyOf('b')))(t)
	if len(k.all) != 2 {
		t.Errorf("there are %d keys", len(k.all))
	}
	if _, err := os.Stat(filepath.Dir(path)); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a folder was created: %v", err)
	}
	_, err := Load(path, "secret")
	if fault.CodeOf(err) != fault.UsageStore || !strings.Contains(err.Error(), Variable) || strings.Contains(err.Error(), "secret") {
		t.Errorf("error is %v", err)
	}
}
