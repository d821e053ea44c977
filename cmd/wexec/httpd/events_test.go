package httpd

import (
	"bufio"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"
)

// TestAPauseOfAStreamDoesNotEndIt asks for events when it is already time for a comment:
// a slow store must not turn that into an error, which would end the stream.
func TestAPauseOfAStreamDoesNotEndIt(t *testing.T) {
	a := newAPI(t, nil)
	var run shownRun
	a.call("agent", "POST", "/v1/runs?wait=0", `{"language":"js","code":"await new Promise(r => setTimeout(r, 60000))"}`).is(202, &run)
	token, err := a.service.Authenticate(t.Context(), a.tokens["reader"])
	if err != nil {
		t.Fatal(err)
	}
	passed := make(chan struct{})
	close(passed)
	for range 20 {
		if _, end, err := a.service.Events(t.Context(), token, run.RunID, 1000, passed); err != nil || end {
			t.Fatal(end, err)
		}
	}
	a.call("agent", "POST", "/v1/runs/"+run.RunID+"/cancel", "").is(200)
}

// flow is an answer that remembers the deadline of its connection.
type flow struct {
	*httptest.ResponseRecorder
	write time.Time
}

func (f *flow) SetWriteDeadline(t time.Time) error { f.write = t; return nil }

// TestARequestAfterAStreamHasTimeToBeAnswered uses a connection again after the deadline
// of the stream on it has passed.
func TestARequestAfterAStreamHasTimeToBeAnswered(t *testing.T) {
	a := newAPI(t, nil)
	conn := &flow{httptest.NewRecorder(), time.Now().Add(-time.Hour)}
	a.server.ServeHTTP(conn, httptest.NewRequestWithContext(t.Context(), "GET", "/v1/openapi.json", nil))
	if !conn.write.IsZero() {
		t.Errorf("the answer is written with the deadline %v", conn.write)
	}
}

type event struct {
	id   int64
	kind string
	data []byte
}

// events reads the event stream of a run to its end.
func (a *api) events(token, run, last string) (all []event) {
	a.t.Helper()
	req, _ := http.NewRequestWithContext(a.t.Context(), "GET", a.url+"/v1/runs/"+run+"/events", nil)
	req.Header.Set("Authorization", "Bearer "+a.tokens[token])
	if last != "" {
		req.Header.Set("Last-Event-ID", last)
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil || res.StatusCode != 200 || res.Header.Get("Content-Type") != "text/event-stream" {
		a.t.Fatal(res, err)
	}
	defer res.Body.Close()
	var e event
	for lines := bufio.NewScanner(res.Body); lines.Scan(); {
		switch name, value, _ := strings.Cut(lines.Text(), ": "); name {
		case "id":
			_, _ = fmt.Sscan(value, &e.id)
		case "event":
			e.kind = value
		case "data":
			e.data = []byte(value)
			all = append(all, e)
		}
	}
	return all
}
