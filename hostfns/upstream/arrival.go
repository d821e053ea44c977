package upstream

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"io"

	"github.com/wexec/wexec/hostfns"
)

// arrival is a message while it is read. Before it is decoded it is not known which
// call it answers, so it may take what any run that waits has left, and each of
// them counts it as arriving.
type arrival struct {
	of      *answers
	size    int
	waiting map[context.Context]hostfns.Gate // by run
	free    bool                             // a Go host waits too
	noted   int64
}

// errLong is the error of a message that may not have its size.
var errLong = errors.New("the server sent a message that is too long")

// smallMessage is the size of messages that are not counted before they are
// decoded.
const smallMessage = 1 << 20

// grow reports whether the message may have n more bytes.
func (m *arrival) grow(n int) bool {
	if m.size += n; m.size <= smallMessage {
		return true
	}
	if m.waiting == nil {
		m.waiting, m.free = m.of.runs()
	}
	fits := m.free || m.size <= maxListing
	for run, gate := range m.waiting {
		if run.Err() == nil {
			fits = gate.Arriving(int64(m.size)-m.noted) || fits
		}
	}
	m.noted = int64(m.size)
	return fits && m.size <= maxMessage
}

// readAll reads a message to its end.
func (m *arrival) readAll(in io.Reader) ([]byte, error) {
	var all pieces
	part := make([]byte, 64<<10)
	for {
		n, err := in.Read(part)
		if !m.grow(n) {
			return nil, errLong
		}
		if all.add(part[:n]); err == io.EOF {
			return all.join(), nil
		}
		if err != nil {
			return nil, err
		}
	}
}

// readLine reads a line with its end. A line that may not grow is read to its end,
// and is errLong.
func (m *arrival) readLine(r *bufio.Reader) ([]byte, error) {
	var all pieces
	long := false
	for {
		part, err := r.ReadSlice('\n')
		if long = long || !m.grow(len(part)); long {
			all = nil
		} else {
			all.add(part)
		}
		switch {
		case err == bufio.ErrBufferFull:
		case long && err == nil:
			return nil, errLong
		default:
			return all.join(), err
		}
	}
}

// keep leaves the message counted for the run of a call until the call ends. The
// lock of answers is held.
func (m *arrival) keep(call int64) {
	gate := m.of.gates[call]
	if gate == nil || m.waiting[gate.Lifetime()] == nil {
		return
	}
	delete(m.waiting, gate.Lifetime())
	m.of.kept[call] = m.noted
}

// end is called when the message was decoded or dropped. A run that ended meanwhile
// keeps it in its account.
func (m *arrival) end() {
	for run, gate := range m.waiting {
		if run.Err() == nil {
			gate.Arriving(-m.noted)
		}
	}
	*m = arrival{of: m.of}
}

// runs returns a gate of each run that waits, and whether a Go host waits.
func (a *answers) runs() (all map[context.Context]hostfns.Gate, free bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	all = map[context.Context]hostfns.Gate{}
	for _, gate := range a.gates {
		if gate == nil {
			free = true
			continue
		}
		all[gate.Lifetime()] = gate
	}
	return all, free
}

// pieces are the bytes of a message. A slice that grows would take several times
// their size.
type pieces [][]byte

const pieceSize = 256 << 10

func (p *pieces) add(data []byte) {
	for len(data) > 0 {
		last := len(*p) - 1
		if last < 0 || len((*p)[last]) == cap((*p)[last]) {
			size := pieceSize
			if last < 0 { // most messages are short
				size = len(data)
			}
			*p = append(*p, make([]byte, 0, size))
			last++
		}
		piece := &(*p)[last]
		n := min(len(data), cap(*piece)-len(*piece))
		*piece, data = append(*piece, data[:n]...), data[n:]
	}
}

// join returns all bytes.
func (p pieces) join() []byte {
	if len(p) == 1 {
		return p[0]
	}
	return bytes.Join(p, nil)
}
