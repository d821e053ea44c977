package audit

import (
	"bytes"
	"crypto/ed25519"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"
)

// anchored are the heads of an anchor by segment.
type anchored struct {
	heads  map[string][]head
	newest head
	count  int
	bad    []string
}

func parseHeads(data []byte, keys []ed25519.PublicKey) (*anchored, error) {
	a := &anchored{heads: map[string][]head{}}
	return a, a.parse(data, keys, 0)
}

// parse reads JSON values: heads, reports, and what contains them.
func (a *anchored) parse(data []byte, keys []ed25519.PublicKey, depth int) error {
	const maxDepth = 4
	for dec := json.NewDecoder(bytes.NewReader(data)); ; {
		var value json.RawMessage
		err := dec.Decode(&value)
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("not a head: %w", err)
		}
		if depth > maxDepth {
			return errHead
		}
		var one struct {
			head
			Heads    json.RawMessage `json:"heads"`
			Segments []struct {      // of a report
				Name    string    `json:"name"`
				Records uint64    `json:"records"`
				Head    string    `json:"head"`
				Time    time.Time `json:"time"`
			} `json:"segments"`
		}
		var text string
		var list []json.RawMessage
		switch {
		case value[0] == '[' && json.Unmarshal(value, &list) == nil:
			for i := 0; i < len(list) && err == nil; i++ {
				err = a.parse(list[i], keys, depth+1)
			}
		case value[0] == '"' && json.Unmarshal(value, &text) == nil:
			err = a.parse([]byte(text), keys, depth+1)
		case value[0] != '{' || json.Unmarshal(value, &one) != nil:
			err = errHead
		case one.Segments != nil: // a report, which a person kept
			for _, s := range one.Segments {
				a.add(head{Segment: s.Name, Seq: s.Records, Hash: s.Head, Time: s.Time})
			}
		case one.Heads != nil:
			err = a.parse(one.Heads, keys, depth+1)
		default:
			err = a.check(one.head, keys)
		}
		if err != nil {
			return err
		}
	}
}

// check adds a head of an anchor.
func (a *anchored) check(h head, keys []ed25519.PublicKey) error {
	text, err := json.Marshal(h) // as it was signed: an anchor may have ordered the members in another way
	if err == nil {
		h, err = parseHead(text)
	}
	if err != nil {
		return fmt.Errorf("%w, or its signature is not valid", errHead)
	}
	if len(keys) > 0 && !signedBy(h, keys) {
		a.bad = append(a.bad, fmt.Sprintf("the anchor has a head of record %d of %s that is not signed by a known key", h.Seq, h.Segment))
		return nil
	}
	a.add(h)
	return nil
}

func (a *anchored) add(h head) {
	a.count++
	a.heads[h.Segment] = append(a.heads[h.Segment], h)
	if a.newest.Segment == "" || h.Time.After(a.newest.Time) {
		a.newest = h
	}
}

func signedBy(h head, keys []ed25519.PublicKey) bool {
	return slices.ContainsFunc(keys, func(k ed25519.PublicKey) bool { return hex.EncodeToString(k) == h.Key })
}
