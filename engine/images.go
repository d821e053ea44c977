package engine

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"time"

	"github.com/klauspost/compress/zstd"

	"github.com/wexec/wexec/fault"
	"github.com/wexec/wexec/hostfns"
)

// SessionID names a session: it belongs to an actor of a tenant.
type SessionID struct{ Tenant, Actor, Name string }

// Images keeps the sessions of tenants that have a name, see [Request]. A session is
// awake in one process, or sleeps as an image. An image has a generation, and a
// session that wakes consumes it: an older one is refused. Methods may be called
// concurrently.
type Images interface {
	// Get returns the image of a session that sleeps, or nil if there is no session
	// with the name. One that is awake in another process, or that was lost with it,
	// is usage.session.
	Get(ctx context.Context, id SessionID) (*SessionImage, error)
	// Claim makes this process the one in which a session is awake. It consumes the
	// image of a generation, or creates the session if that is 0: see [SessionExists].
	// If another process was first, it is usage.session.
	Claim(ctx context.Context, id SessionID, language string, generation int64) error
	// Put keeps the image of a session that this process has claimed, which then
	// sleeps. The generation is one more than the claimed one.
	Put(ctx context.Context, id SessionID, image SessionImage) error
	// Delete forgets a session, awake or asleep.
	Delete(ctx context.Context, id SessionID) error
	// List returns the sessions of a tenant, and of one actor unless that is empty.
	List(ctx context.Context, tenant, actor string) ([]SessionInfo, error)
}

// A SessionImage is a session that sleeps: what its program made, the values of its
// tokens, its counters and approvals. Data has personal data: seal it, for the session,
// the generation and nothing else.
type SessionImage struct {
	Language   string
	Generation int64
	Data       []byte
}

// SessionState says whether a session is awake.
type SessionState string

// States of sessions.
const (
	SessionAwake  SessionState = "awake"
	SessionAsleep SessionState = "asleep"
	SessionBusy   SessionState = "busy" // awake, with a run in it
)

// SessionInfo describes a session.
type SessionInfo struct {
	Name     string       `json:"name"`
	Actor    string       `json:"actor,omitempty"`
	Language string       `json:"language"`
	State    SessionState `json:"state"`
	Bytes    int64        `json:"bytes"` // of its memory, or of its image
	Created  time.Time    `json:"created"`
	Used     time.Time    `json:"used"`
}

// imageMagic begins the data of an image. A compressed stream follows: the length of
// the head, the head, and the pages of the memory that differ from the guest's image.
const imageMagic = "wxsession\x01"

// Bounds of an image.
const (
	maxImage      = 512 << 20
	maxImageHead  = 256 << 20
	maxImageFrame = 8 << 20 // memory that decompression needs
)

// imageHead is the part of an image that is not memory.
type imageHead struct {
	SessionID
	Guest      string               `json:"guest"` // digest
	Language   string               `json:"language"`
	Generation int64                `json:"generation"`
	Memory     int64                `json:"memory"` // bytes; 0: nothing ran yet
	Stale      []int32              `json:"stale,omitempty"`
	Policy     string               `json:"policy,omitempty"`
	Runs       []string             `json:"runs,omitempty"` // ids
	Spent      time.Duration        `json:"spent"`
	Uptime     time.Duration        `json:"uptime"`
	Created    time.Time            `json:"created"`
	Shared     hostfns.SessionState `json:"shared"`
}

// refused is the error of an image that is not woken.
func refused(name, format string, args ...any) *fault.Error {
	return fault.New(fault.UsageSession, "wake the session %q: "+format, append([]any{name}, args...)...)
}

// readImage reads the head of an image of a session, and returns what follows it.
func readImage(id SessionID, image *SessionImage) (head imageHead, memory *zstd.Decoder, err error) {
	packed, ok := bytes.CutPrefix(image.Data, []byte(imageMagic))
	if !ok || len(packed) > maxImage {
		return head, nil, refused(id.Name, "its image has another format")
	}
	z, err := zstd.NewReader(bytes.NewReader(packed), zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true), zstd.WithDecoderMaxWindow(maxImageFrame))
	if err != nil {
		return head, nil, refused(id.Name, "%w", err)
	}
	if head, err = readHead(z); err == nil {
		switch {
		case head.SessionID != id:
			err = errors.New("its image is of another session")
		case head.Generation != image.Generation || head.Language != image.Language:
			err = errors.New("its image is of another generation")
		}
	}
	if err != nil {
		z.Close()
		return head, nil, refused(id.Name, "%w", err)
	}
	return head, z, nil
}

func readHead(r io.Reader) (head imageHead, err error) {
	n, err := binary.ReadUvarint(oneByte{r})
	if err != nil || n > maxImageHead {
		return head, errors.New("its image is damaged")
	}
	var text bytes.Buffer // grows with the bytes that arrive, not with the announced length
	if _, err := io.CopyN(&text, r, int64(n)); err != nil {
		return head, errors.New("its image is cut")
	}
	if err := json.Unmarshal(text.Bytes(), &head); err != nil {
		return head, errors.New("its image is damaged")
	}
	if head.Memory < 0 || head.Spent < 0 || head.Uptime < 0 {
		return head, errors.New("its image is damaged")
	}
	return head, nil
}

// oneByte reads byte by byte.
type oneByte struct{ io.Reader }

func (o oneByte) ReadByte() (byte, error) {
	var b [1]byte
	_, err := io.ReadFull(o.Reader, b[:])
	return b[0], err
}

// sessionProblem is why something cannot be done with a session: it does not exist, or
// it is there and in the way.
type sessionProblem struct {
	text string
	is   error // fs.ErrNotExist or fs.ErrExist
}

func (p *sessionProblem) Error() string        { return p.text }
func (p *sessionProblem) Is(target error) bool { return target == p.is }

// UnknownSession returns the error of a session that does not exist. It is
// [fs.ErrNotExist].
func UnknownSession(name string) error {
	return fault.New(fault.UsageSession, "%w", &sessionProblem{fmt.Sprintf("the session %q does not exist", name), fs.ErrNotExist})
}

// SessionExists returns the error of a session that is to be created and exists. It is
// [fs.ErrExist].
func SessionExists(name string) error { return inTheWay("the session %q exists already", name) }

// inTheWay is the error of a session that is busy or exists. It is [fs.ErrExist].
func inTheWay(format, name string) *fault.Error {
	return fault.New(fault.UsageSession, "%w", &sessionProblem{fmt.Sprintf(format, name), fs.ErrExist})
}
