package audit

import (
	"bytes"
	"crypto/ed25519"
	"crypto/x509"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"encoding/pem"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/wexec/wexec/fault"
)

// head is the state of a segment at the time it was written. The head file has
// two slots that are written alternately, so that a process killed during a
// write leaves the other one intact.
type head struct {
	Segment string    `json:"segment"`
	After   string    `json:"after,omitempty"`
	Prev    string    `json:"prev,omitempty"` // hash before the first record
	Seq     uint64    `json:"seq"`
	Hash    string    `json:"hash"`
	Size    int64     `json:"size"`
	Closed  bool      `json:"closed,omitempty"`
	Time    time.Time `json:"time"`
	Key     string    `json:"key,omitempty"` // Ed25519 public key, in hex
	Sig     string    `json:"sig,omitempty"` // signature of the text before this member
}

// mark is a position in a chain.
type mark struct {
	segment int
	seq     uint64
}

func (m mark) reaches(n mark) bool {
	return m.segment > n.segment || (m.segment == n.segment && m.seq >= n.seq)
}

// tail identifies the last record. It follows the two slots of the head file, is
// written after each record, and is not signed. It reveals a segment that was
// cut after the newest head.
type tail struct {
	seq  uint64
	hash string
}

// tailSize is the size of a tail: its number in 20 digits, a space, its hash, and
// a line end.
const tailSize = 20 + 1 + 64 + 1

// encodeTail encodes a tail into buf.
func encodeTail(buf []byte, t tail) []byte {
	buf = append(buf[:0], "00000000000000000000"...)
	var digits [20]byte
	n := strconv.AppendUint(digits[:0], t.seq, 10)
	copy(buf[20-len(n):], n)
	buf = append(buf, ' ')
	buf = append(buf, t.hash...)
	for len(buf) < tailSize-1 {
		buf = append(buf, ' ') // there is no hash before the first record
	}
	return append(buf[:tailSize-1], '\n')
}

// readTail reads the tail. ok is false if there is none.
func readTail(r io.ReaderAt) (t tail, ok bool) {
	var buf [tailSize]byte
	if n, err := r.ReadAt(buf[:], 2*headSlot); n < tailSize && err != nil {
		return tail{}, false
	}
	seq, err := strconv.ParseUint(string(buf[:20]), 10, 64)
	if err != nil || buf[20] != ' ' || buf[tailSize-1] != '\n' {
		return tail{}, false
	}
	return tail{seq, strings.TrimRight(string(buf[21:tailSize-1]), " ")}, true
}

const (
	suffix     = ".jsonl" // of segments
	headSuffix = ".head"

	headSlot = 1024
	sigKey   = `,"sig":"`
)

func headName(segment string) string { return strings.TrimSuffix(segment, suffix) + headSuffix }

// encodeHead encodes one slot: a line of JSON, padded with spaces.
func encodeHead(h head, key ed25519.PrivateKey) []byte {
	if key != nil {
		h.Key = hex.EncodeToString(key.Public().(ed25519.PublicKey))
	}
	text, err := json.Marshal(h)
	if err != nil {
		text = []byte("{}") // unreachable: every field of a head has a JSON form
	}
	if key != nil {
		text = text[:len(text)-1]
		sig := ed25519.Sign(key, text)
		text = append(text, sigKey...)
		text = hex.AppendEncode(text, sig)
		text = append(text, `"}`...)
	}
	slot := bytes.Repeat([]byte{' '}, headSlot)
	copy(slot, text)
	slot[headSlot-1] = '\n'
	return slot
}

// readHead reads the newer of the two slots. next is the slot to write next.
func readHead(r io.ReaderAt) (h head, next int, ok bool) {
	for i := range 2 {
		buf := make([]byte, headSlot)
		if n, err := r.ReadAt(buf, int64(i)*headSlot); n < headSlot && err != nil {
			continue
		}
		one, err := parseHead(buf)
		if err != nil {
			continue
		}
		if !ok || one.Seq > h.Seq || (one.Seq == h.Seq && (one.Closed || one.Time.After(h.Time))) {
			h, next, ok = one, 1-i, true
		}
	}
	return h, next, ok
}

// headOf reads the head and the tail of a segment.
func headOf(dir, name string) (head, tail, bool) {
	f, err := os.Open(filepath.Join(dir, headName(name)))
	if err != nil {
		return head{}, tail{}, false
	}
	defer f.Close()
	h, _, ok := readHead(f)
	last, _ := readTail(f)
	return h, last, ok
}

var errHead = errors.New("not a head")

// parseHead reads one slot. It fails if the signature is not valid.
func parseHead(slot []byte) (head, error) {
	text := bytes.TrimRight(slot, " \n")
	var h head
	dec := json.NewDecoder(bytes.NewReader(text))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&h); err != nil || h.Segment == "" || h.Size < 0 {
		return head{}, errHead
	}
	if h.Key == "" && h.Sig == "" {
		return h, nil
	}
	key, err := hex.DecodeString(h.Key)
	sig, err2 := hex.DecodeString(h.Sig)
	at := bytes.LastIndex(text, []byte(sigKey))
	if err != nil || err2 != nil || len(key) != ed25519.PublicKeySize || at < 0 || !ed25519.Verify(key, text[:at], sig) {
		return head{}, errHead
	}
	return h, nil
}

// ParseKey parses a private Ed25519 key: PKCS #8 in PEM, as written by openssl
// genpkey -algorithm ed25519, or a 32-byte seed in hex or base64.
func ParseKey(data []byte) (ed25519.PrivateKey, error) {
	bad := fault.New(fault.UsageAudit, "not a private Ed25519 key").
		WithHint("create one with: openssl genpkey -algorithm ed25519")
	if block, _ := pem.Decode(data); block != nil {
		key, err := x509.ParsePKCS8PrivateKey(block.Bytes)
		ed, ok := key.(ed25519.PrivateKey)
		if err != nil || !ok {
			return nil, bad
		}
		return ed, nil
	}
	raw, ok := decodeText(data)
	switch {
	case ok && len(raw) == ed25519.SeedSize:
		return ed25519.NewKeyFromSeed(raw), nil
	case ok && len(raw) == ed25519.PrivateKeySize:
		return ed25519.PrivateKey(raw), nil
	}
	return nil, bad
}

// ParsePublicKey parses a public Ed25519 key: PEM, or 32 bytes in hex or base64.
func ParsePublicKey(data []byte) (ed25519.PublicKey, error) {
	bad := fault.New(fault.UsageAudit, "not a public Ed25519 key").
		WithHint("derive it from the private key with: openssl pkey -pubout")
	if block, _ := pem.Decode(data); block != nil {
		key, err := x509.ParsePKIXPublicKey(block.Bytes)
		ed, ok := key.(ed25519.PublicKey)
		if err != nil || !ok {
			return nil, bad
		}
		return ed, nil
	}
	if raw, ok := decodeText(data); ok && len(raw) == ed25519.PublicKeySize {
		return ed25519.PublicKey(raw), nil
	}
	return nil, bad
}

func decodeText(data []byte) ([]byte, bool) {
	text := strings.TrimSpace(string(data))
	if raw, err := hex.DecodeString(text); err == nil {
		return raw, true
	}
	raw, err := base64.StdEncoding.DecodeString(text)
	return raw, err == nil
}
