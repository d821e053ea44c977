package seal

import (
	"bytes"
	"context"
	"crypto/aes"
	"crypto/cipher"
	"crypto/hkdf"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"io/fs"
	"path/filepath"
	"strings"

	"github.com/wexec/wexec/fault"
	"github.com/wexec/wexec/internal/atomicfile"
	"github.com/wexec/wexec/internal/ownfile"
)

// Variable is the environment variable that can hold the keys instead of a file.
const Variable = "WEXEC_SEAL_KEY"

// Keys is the content of a key file: one key or several, in base64 and separated
// by white space. The text after # in a line is a comment. The first key wraps; all
// unwrap. To rotate, put a new key before the others, [Rewrap] what the old ones
// wrapped, and remove them. A key is known by an id that is computed from it.
type Keys struct {
	all []masterKey
}

type masterKey struct {
	id  [idSize]byte
	key []byte
}

const (
	idSize   = 8
	saltSize = 32
	// wrapVersion starts what Wrap returns. The id of the key, the salt and the
	// encrypted key follow.
	wrapVersion = 1
	wrappedSize = 1 + idSize + saltSize + keySize + tagSize
	// maxKeyFile bounds a key file.
	maxKeyFile = 1 << 16
)

// ErrNoKey says that a file was sealed with a key that the key file does not have.
var ErrNoKey = errors.New("the key file does not have the key of this file")

// ParseKeys reads the text of a key file.
func ParseKeys(text string) (*Keys, error) {
	k := &Keys{}
	number := 0
	for line := range strings.Lines(text) {
		number++
		line, _, _ = strings.Cut(line, "#")
		for field := range strings.FieldsSeq(line) {
			key, err := base64.StdEncoding.Strict().DecodeString(field)
			if err != nil || len(key) != keySize { // the message must not have the key
				return nil, usage("line %d is not %d bytes in base64", number, keySize).WithHint("make a key with openssl rand -base64 %d", keySize)
			}
			id, err := hkdf.Expand(sha256.New, key, "wexec seal key id", idSize)
			if err != nil {
				return nil, err
			}
			k.all = append(k.all, masterKey{[idSize]byte(id), key})
		}
	}
	if len(k.all) == 0 {
		return nil, usage("there is no key").WithHint("make a key with openssl rand -base64 %d", keySize)
	}
	return k, nil
}

func usage(format string, args ...any) *fault.Error {
	return fault.New(fault.UsageStore, format, args...).WithOp("read the seal key")
}

// Load returns the keys in text, the value of [Variable], or in a file if it is empty.
// On Unix, no other user may be able to read or replace the file. A missing file is an
// error that is [fs.ErrNotExist].
func Load(path, text string) (*Keys, error) {
	from := Variable
	if text == "" {
		from = path
		if err := ownfile.Dir(filepath.Dir(path)); err != nil {
			return nil, refused(err)
		}
		data, err := ownfile.ReadPrivate(path, maxKeyFile)
		if err != nil {
			return nil, refused(err)
		}
		text = string(data)
	}
	k, err := ParseKeys(text)
	if known, ok := errors.AsType[*fault.Error](err); ok {
		return nil, known.WithOp("read the seal key in " + from)
	}
	return k, err
}

// refused is an error of a key file.
func refused(err error) error {
	if own, ok := errors.AsType[*ownfile.Error](err); ok {
		return usage("%w", err).WithHint("%s", own.Do)
	}
	return usage("%w", err).WithHint("restore the key file, or set %s", Variable)
}

// LoadOrCreate is [Load], and creates a file with one random key if it is missing.
// Of several processes that do so, one creates the file and all use it. Call it only
// if nothing is sealed yet: what another key sealed cannot be read with a new one.
func LoadOrCreate(path, text string) (*Keys, error) {
	k, err := Load(path, text)
	if !errors.Is(err, fs.ErrNotExist) {
		return k, err
	}
	if err := create(path); err != nil && !errors.Is(err, fs.ErrExist) {
		return nil, fault.New(fault.UsageStore, "%w", err).WithOp("create the seal key").WithHint("set a folder that this user can write to")
	}
	return Load(path, text)
}

// create writes a key file unless there is one.
func create(path string) error {
	key := make([]byte, keySize)
	rand.Read(key)
	text := "# The key of the sealed files of wexec. It decrypts them; without it they cannot be read.\n" +
		"# Keep a copy apart from the copies of the data.\n" + base64.StdEncoding.EncodeToString(key) + "\n"
	return atomicfile.Create(path, []byte(text))
}

// Wrap implements [Sealer]. Each call encrypts with a key that is derived from the
// first key and a random salt, so that there is no limit to the number of calls.
func (k *Keys) Wrap(_ context.Context, key []byte, context string) ([]byte, error) {
	m := k.all[0]
	out := append(make([]byte, 0, wrappedSize), wrapVersion)
	out = append(out, m.id[:]...)
	out = out[:len(out)+saltSize]
	rand.Read(out[1+idSize:])
	aead, err := m.derive(out[1+idSize:])
	if err != nil {
		return nil, err
	}
	return aead.Seal(out, make([]byte, aead.NonceSize()), key, wrapContext(context)), nil
}

// Unwrap implements [Sealer].
func (k *Keys) Unwrap(_ context.Context, wrapped []byte, context string) ([]byte, error) {
	if len(wrapped) != wrappedSize || wrapped[0] != wrapVersion {
		return nil, fault.New(fault.StoreUnavailable, "%w: the wrapped key has %d bytes", ErrDamaged, len(wrapped))
	}
	id, rest := wrapped[1:1+idSize], wrapped[1+idSize:]
	for _, m := range k.all {
		if !bytes.Equal(m.id[:], id) {
			continue
		}
		aead, err := m.derive(rest[:saltSize])
		if err != nil {
			return nil, err
		}
		key, err := aead.Open(nil, make([]byte, aead.NonceSize()), rest[saltSize:], wrapContext(context))
		if err != nil {
			return nil, fault.New(fault.StoreUnavailable, "%w: the wrapped key is not authentic", ErrDamaged)
		}
		return key, nil
	}
	return nil, fault.New(fault.StoreUnavailable, "%w: id %s", ErrNoKey, hex.EncodeToString(id)).
		WithHint("add the old key to the end of the key file")
}

// wrapContext is the associated data of a wrapped key.
func wrapContext(context string) []byte { return []byte("wexec seal key\x00" + context) }

// derive returns the cipher for one wrapped key.
func (m masterKey) derive(salt []byte) (cipher.AEAD, error) {
	key, err := hkdf.Key(sha256.New, m.key, salt, "wexec seal wrap", keySize)
	if err != nil {
		return nil, err
	}
	block, err := aes.NewCipher(key)
	if err != nil {
		return nil, err
	}
	return cipher.NewGCM(block)
}

// Current reports whether the first key wrapped a key.
func (k *Keys) Current(wrapped []byte) bool {
	return len(wrapped) == wrappedSize && bytes.Equal(k.all[0].id[:], wrapped[1:1+idSize])
}

// Rewrap wraps the key of a file again, with the present key of s. The file stays
// readable with both until the caller has replaced the old one.
func Rewrap(ctx context.Context, s Sealer, wrapped []byte, purpose string) ([]byte, error) {
	key, err := s.Unwrap(ctx, wrapped, purpose)
	if err != nil {
		return nil, err
	}
	return s.Wrap(ctx, key, purpose)
}
