package mcpd

import (
	"container/list"
	"context"
	"fmt"
	"iter"
	"slices"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// Bounds of the events that are kept of all clients.
const (
	maxEvents  = 16 << 20 // bytes
	eventShare = 128      // bytes of an event in addition to its data
)

// events keeps the last events of HTTP streams, so that a client whose connection
// was cut receives the rest with Last-Event-ID. It implements [mcp.EventStore].
// The library's own store keeps an entry for every call of a session.
type events struct {
	mu      sync.Mutex
	streams map[streamID]*list.Element
	order   list.List // of *stream, the one that was opened first at the front
	size    int
}

type streamID struct{ session, stream string }

// stream is the events of one stream from an index on.
type stream struct {
	id    streamID
	first int
	data  [][]byte
}

// Open implements [mcp.EventStore].
func (es *events) Open(_ context.Context, session, id string) error {
	es.mu.Lock()
	defer es.mu.Unlock()
	es.open(streamID{session, id})
	return nil
}

func (es *events) open(id streamID) *stream {
	if e, ok := es.streams[id]; ok {
		return e.Value.(*stream)
	}
	if es.streams == nil {
		es.streams = map[streamID]*list.Element{}
	}
	s := &stream{id: id}
	es.streams[id] = es.order.PushBack(s)
	es.size += eventShare
	return s
}

// Append implements [mcp.EventStore]. The oldest streams are dropped if there are
// too many events, and then the first events of the only one.
func (es *events) Append(_ context.Context, session, id string, data []byte) error {
	es.mu.Lock()
	defer es.mu.Unlock()
	s := es.open(streamID{session, id})
	s.data = append(s.data, slices.Clone(data))
	es.size += len(data) + eventShare
	for es.size > maxEvents && es.order.Len() > 1 {
		oldest := es.order.Front()
		if oldest.Value == s {
			es.order.MoveToBack(oldest)
			continue
		}
		es.drop(oldest)
	}
	for es.size > maxEvents && len(s.data) > 0 {
		es.size -= len(s.data[0]) + eventShare
		s.data, s.first = slices.Delete(s.data, 0, 1), s.first+1
	}
	return nil
}

// drop removes a stream.
func (es *events) drop(e *list.Element) {
	s := es.order.Remove(e).(*stream)
	delete(es.streams, s.id)
	es.size -= eventShare
	for _, data := range s.data {
		es.size -= len(data) + eventShare
	}
}

// After implements [mcp.EventStore].
func (es *events) After(_ context.Context, session, id string, index int) iter.Seq2[[]byte, error] {
	data, err := es.after(streamID{session, id}, index)
	return func(yield func([]byte, error) bool) {
		if err != nil {
			yield(nil, err)
			return
		}
		for _, d := range data {
			if !yield(d, nil) {
				return
			}
		}
	}
}

func (es *events) after(id streamID, index int) ([][]byte, error) {
	es.mu.Lock()
	defer es.mu.Unlock()
	e, ok := es.streams[id]
	if !ok {
		return nil, fmt.Errorf("the events of the stream are no longer kept: %w", mcp.ErrEventsPurged)
	}
	s := e.Value.(*stream)
	switch from := index + 1 - s.first; {
	case from < 0:
		return nil, fmt.Errorf("the first events of the stream are no longer kept: %w", mcp.ErrEventsPurged)
	case from >= len(s.data):
		return nil, nil
	default:
		return slices.Clone(s.data[from:]), nil
	}
}

// SessionClosed implements [mcp.EventStore].
func (es *events) SessionClosed(_ context.Context, session string) error {
	es.mu.Lock()
	defer es.mu.Unlock()
	for id, e := range es.streams {
		if id.session == session {
			es.drop(e)
		}
	}
	return nil
}
