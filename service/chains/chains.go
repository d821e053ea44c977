// Package chains keeps closed segments of audit logs in a store, sealed, and checks
// them there. A chain is the log of one folder, which belongs to a process and a tenant.
//
// The content of a segment is sealed for its number in its chain, and an HMAC
// authenticates how many segments the chain has. So with access to the store and
// without the seal key, no segment can be changed, exchanged or left out.
package chains

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"context"
	"crypto/ed25519"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/wexec/wexec/audit"
	"github.com/wexec/wexec/fault"
	"github.com/wexec/wexec/internal/atomicfile"
	"github.com/wexec/wexec/internal/seal"
	"github.com/wexec/wexec/store"
)

// Keys seal segments and authenticate numbers.
type Keys interface {
	seal.Sealer
	// Digest returns the HMAC of parts.
	Digest(parts ...string) string
}

// Archive has the chains of a store.
type Archive struct {
	Store *store.Store
	Keys  Keys
}

// Chain is what was found in a chain.
type Chain struct {
	Tenant string `json:"tenant"`
	ID     string `json:"chain"`
	audit.Report
}

// idFile is the file of a log's folder with the id of its chain.
const idFile = "chain"

// IDOf returns the id of the chain of a folder, or "" if the folder has no chain.
func IDOf(dir string) (string, error) {
	data, err := os.ReadFile(filepath.Join(dir, idFile))
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	if err != nil {
		return "", fault.New(fault.UsageAudit, "read the id of the log: %w", err)
	}
	return strings.TrimSpace(string(data)), nil
}

// makeID gives a folder an id unless it has one.
func makeID(dir string) (string, error) {
	if id, err := IDOf(dir); id != "" || err != nil {
		return id, err
	}
	if err := atomicfile.Create(filepath.Join(dir, idFile), []byte(rand.Text()+"\n")); err != nil && !errors.Is(err, fs.ErrExist) {
		return "", fault.New(fault.AuditUnavailable, "give the log an id: %w", err)
	}
	return IDOf(dir)
}

// Seal adds the closed segments of a log to the store that are not in it yet, and
// returns how many. It may be called again after it was interrupted at any point.
func (a Archive) Seal(ctx context.Context, tenant, dir string) (added int, err error) {
	closed, err := audit.ClosedSegments(dir)
	if err != nil || len(closed) == 0 {
		return 0, err
	}
	id, err := makeID(dir)
	if err != nil {
		return 0, err
	}
	kept, err := a.Store.AuditSegments(ctx, tenant, id)
	if err != nil {
		return 0, err
	}
	known := map[string]bool{}
	for _, g := range kept {
		known[g.Name] = true
	}
	for _, one := range closed {
		if known[one.Name] {
			continue
		}
		if err := a.add(ctx, tenant, id, one); err != nil {
			return added, err
		}
		added++
	}
	return added, nil
}

// add seals a segment and adds it to its chain.
func (a Archive) add(ctx context.Context, tenant, id string, one audit.Closed) error {
	for {
		c := store.AuditChain{Tenant: tenant, ID: id}
		all, err := a.Store.AuditChains(ctx, tenant)
		if err != nil {
			return err
		}
		if i := slices.IndexFunc(all, func(c store.AuditChain) bool { return c.ID == id }); i >= 0 {
			c = all[i]
		}
		g := store.AuditSegment{Seq: c.Sealed + 1, Name: one.Name, Content: rand.Text()}
		if err := a.write(ctx, purpose(tenant, id, g.Seq), one, &g); err != nil {
			return err
		}
		c.MAC = a.mac(tenant, id, g.Seq)
		if ok, err := a.Store.AddAuditSegment(ctx, c, g); ok || err != nil {
			return err
		}
	}
}

// write writes the sealed content of a segment: its head in a line, and its records.
func (a Archive) write(ctx context.Context, purpose string, one audit.Closed, g *store.AuditSegment) (err error) {
	parts := &writer{ctx: ctx, store: a.Store, g: g}
	sealed, err := seal.NewWriter(ctx, parts, a.Keys, purpose)
	if err != nil {
		return err
	}
	packed := gzip.NewWriter(sealed)
	records, err := one.Open()
	if err != nil {
		return err
	}
	defer records.Close()
	if _, err := io.Copy(packed, io.MultiReader(bytes.NewReader(one.Head), strings.NewReader("\n"), records)); err != nil {
		return err
	}
	if err := packed.Close(); err != nil {
		return err
	}
	if err := sealed.Close(); err != nil {
		return err
	}
	g.Wrapped = sealed.Key()
	return parts.flush()
}

func purpose(tenant, id string, seq int64) string {
	return fmt.Sprintf("audit segment %d of chain %s of tenant %s", seq, id, tenant)
}

// mac authenticates how many segments a chain has.
func (a Archive) mac(tenant, id string, sealed int64) string {
	return a.Keys.Digest("audit chain", tenant, id, fmt.Sprint(sealed))
}

// Verify checks the chains of a tenant, or of all tenants if it is "". Heads must be
// signed by one of the keys if there are some.
func (a Archive) Verify(ctx context.Context, tenant string, keys ...ed25519.PublicKey) ([]Chain, error) {
	all, err := a.Store.AuditChains(ctx, tenant)
	if err != nil {
		return nil, err
	}
	found := []Chain{}
	for _, c := range all {
		segments, err := a.Store.AuditSegments(ctx, c.Tenant, c.ID)
		if err != nil {
			return nil, err
		}
		var copies audit.Copies
		var problems []audit.Problem
		next := int64(1)
		for _, g := range segments {
			problems = append(problems, missing(next, g.Seq)...)
			next = g.Seq + 1
			one, err := a.open(ctx, c, g)
			if err != nil {
				problems = append(problems, audit.Problem{Segment: g.Name, Change: audit.Changed, Message: "the sealed segment cannot be read: " + err.Error()})
				continue
			}
			copies = append(copies, one)
		}
		problems = append(problems, missing(next, c.Sealed+1)...)
		if c.MAC != a.mac(c.Tenant, c.ID, c.Sealed) {
			problems = append(problems, audit.Problem{Segment: idFile, Change: audit.Changed, Message: "the number of sealed segments was changed"})
		}
		report := copies.Verify(keys...)
		for _, p := range problems {
			report.Add(p)
		}
		found = append(found, Chain{c.Tenant, c.ID, report})
		if err := context.Cause(ctx); err != nil {
			return nil, err
		}
	}
	return found, nil
}

// missing are the problems of segments that were removed from a chain.
func missing(from, to int64) (all []audit.Problem) {
	for seq := from; seq < to && len(all) < 1000; seq++ {
		all = append(all, audit.Problem{Segment: fmt.Sprintf("sealed segment %d", seq), Change: audit.Removed, Message: "it was removed from the store"})
	}
	return all
}

// open reads the head of a sealed segment.
func (a Archive) open(ctx context.Context, c store.AuditChain, g store.AuditSegment) (audit.Closed, error) {
	one := audit.Closed{Name: g.Name}
	content, err := a.content(ctx, c, g)
	if err != nil {
		return one, err
	}
	if one.Head, err = content.ReadBytes('\n'); err != nil {
		return one, err
	}
	one.Open = func() (io.ReadCloser, error) {
		content, err := a.content(ctx, c, g)
		if err != nil {
			return nil, err
		}
		_, err = content.ReadBytes('\n')
		return io.NopCloser(content), err
	}
	return one, nil
}

// content reads what was sealed.
func (a Archive) content(ctx context.Context, c store.AuditChain, g store.AuditSegment) (*bufio.Reader, error) {
	r, err := seal.NewReader(ctx, &reader{ctx: ctx, store: a.Store, g: g, held: -1}, g.Bytes, a.Keys, g.Wrapped, purpose(c.Tenant, c.ID, g.Seq))
	if err != nil {
		return nil, err
	}
	plain, err := gzip.NewReader(io.NewSectionReader(r, 0, r.Size()))
	if err != nil {
		return nil, err
	}
	return bufio.NewReaderSize(plain, 64<<10), nil
}

// writer writes the parts of a segment.
type writer struct {
	ctx   context.Context
	store *store.Store
	g     *store.AuditSegment
	buf   []byte
	next  int64
}

// Write implements io.Writer.
func (w *writer) Write(p []byte) (int, error) {
	w.g.Bytes += int64(len(p))
	for w.buf = append(w.buf, p...); len(w.buf) >= store.AuditPartSize; {
		if err := w.add(w.buf[:store.AuditPartSize]); err != nil {
			return 0, err
		}
		w.buf = append([]byte(nil), w.buf[store.AuditPartSize:]...)
	}
	return len(p), nil
}

// flush writes the last part.
func (w *writer) flush() error {
	if len(w.buf) == 0 {
		return nil
	}
	return w.add(w.buf)
}

func (w *writer) add(data []byte) error {
	w.next++
	return w.store.AddAuditPart(w.ctx, w.g.Content, w.next-1, data)
}

// reader reads the parts of a segment. It holds one.
type reader struct {
	ctx   context.Context
	store *store.Store
	g     store.AuditSegment
	held  int64
	part  []byte
}

// ReadAt implements io.ReaderAt.
func (r *reader) ReadAt(p []byte, off int64) (n int, err error) {
	for n < len(p) {
		at := off + int64(n)
		number := at / store.AuditPartSize
		if r.held != number {
			r.held = -1
			if r.part, err = r.store.AuditPart(r.ctx, r.g.Content, number); err != nil {
				return n, err
			}
			r.held = number
		}
		within := at - number*store.AuditPartSize
		if within >= int64(len(r.part)) {
			return n, io.EOF
		}
		n += copy(p[n:], r.part[within:])
	}
	return n, nil
}
