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
	"strconv"
	"strings"
	"time"

	"github.com/wexec/wexec/fault"
)

// head says how far a segment had come when it was written. It stands beside
// the segment in two places that are written in turn, so that a process killed
// in the middle leaves the other.
type head struct {
	Segment string    `json:"segment"`
	After   string    `json:"after,omitempty"`
	Prev    string    `json:"prev,omitempty"` // of the first record
	Seq     uint64    `json:"seq"`
	Hash    string    `json:"hash"`
	Size    int64     `json:"size"`
	Closed  bool      `json:"closed,omitempty"`
	Time    time.Time `json:"time"`
	Key     string    `json:"key,omitempty"` // Ed25519, public, in hex
	Sig     string    `json:"sig,omitempty"` // over this line up to here
}

// tail says which record was written last. It stands behind the two places of
// the head, is written after each record, and is not signed: it is what a cut
// after the newest head is found by.
type tail struct {
	seq  uint64
	hash string
}

// tailSize is what a tail takes: its number in 20 digits, its hash, and line
// ends between.
const tailSize = 20 + 1 + 64 + 1

// encodeTail writes a tail over buf.
func encodeTail(buf []byte, t tail) []byte {
	buf = append(buf[:0], "00000000000000000000"...)
	var digits [20]byte
	n := strconv.AppendUint(digits[:0], t.seq, 10)
	copy(buf[20-len(n):], n)
	buf = append(buf, ' ')
	buf = append(buf, t.hash...)
	for len(buf) < tailSize-1 {
		buf = append(buf, ' ') // before the first record there is no hash
	}
	return append(buf[:tailSize-1], '\n')
}

// readTail reads the tail; ok is false where there is none.
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
	headSlot = 1024
	sigKey   = `,"sig":"`
)

func headName(segment string) string { return strings.TrimSuffix(segment, suffix) + headSuffix }

// encodeHead writes one place: a line of JSON, filled up with spaces.
func encodeHead(h head, key ed25519.PrivateKey) []byte {
	if key != nil {
		h.Key = hex.EncodeToString(key.Public().(ed25519.PublicKey))
	}
	text, err := json.Marshal(h)
	if err != nil {
		text = []byte("{}") // no field of a head can fail to be written
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

// readHead reads the newer of the two places, and says which one is to be
// written next.
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

var errHead = errors.New("not a head")

// parseHead reads one place. A signature that does not fit makes it none.
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

// ParseKey reads a private Ed25519 key: PKCS #8 in PEM, as openssl genpkey
// -algorithm ed25519 writes it, or its 32-byte seed in hex or base64.
func ParseKey(data []byte) (ed25519.PrivateKey, error) {
	bad := fault.New(fault.UsageAudit, "this is no private Ed25519 key").
		WithHint("make one with: openssl genpkey -algorithm ed25519")
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

// ParsePublicKey reads a public Ed25519 key: PEM, or 32 bytes in hex or base64.
func ParsePublicKey(data []byte) (ed25519.PublicKey, error) {
	bad := fault.New(fault.UsageAudit, "this is no public Ed25519 key").
		WithHint("take it out of the private one with: openssl pkey -pubout")
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
