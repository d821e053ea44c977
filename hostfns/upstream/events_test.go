package upstream

import (
	"bufio"
	"bytes"
	"io"
	"testing"
)

// FuzzEvents reads bodies as one message and as a stream of events. Both end, and
// give the library little more than they got.
func FuzzEvents(f *testing.F) {
	for _, s := range []string{"", "data: {}\n\n", "event: message\ndata: {\ndata: }\n\ndata", `{"jsonrpc":"2.0","id":1,"result":{}}`, "id: 1\r\n\r\n\x00"} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		for _, r := range []io.Reader{
			&messageReader{answers: &answers{}, in: bytes.NewReader(body)},
			&eventReader{answers: &answers{}, in: bufio.NewReader(bytes.NewReader(body))},
		} {
			out, err := io.ReadAll(r)
			if err != nil {
				t.Fatal(err)
			}
			if len(out) > 2*len(body)+1<<10 {
				t.Errorf("%d bytes of %d", len(out), len(body))
			}
		}
	})
}

func TestAMessageThatNoCallWaitsForIsShort(t *testing.T) {
	m := &arrival{of: &answers{}}
	if !m.grow(maxListing) || m.grow(1) {
		t.Errorf("it may have more or less than %d bytes", maxListing)
	}
}
