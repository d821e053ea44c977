package httpd

import (
	"context"
	"net"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"
)

// TestManyClientsOfOneAddressAreAnswered has 64 clients connect at the same moment, as
// behind one address of a network without a proxy.
func TestManyClientsOfOneAddressAreAnswered(t *testing.T) {
	a := newAPI(t, nil)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	served := make(chan error, 1)
	go func() { served <- a.server.Serve(ctx, l, nil, time.Minute) }()
	start := make(chan struct{})
	var clients sync.WaitGroup
	for range 64 {
		clients.Go(func() {
			client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
			req, err := http.NewRequestWithContext(t.Context(), "GET", "http://"+l.Addr().String()+"/v1/runs", nil)
			if err != nil {
				t.Error(err)
				return
			}
			req.Header.Set("Authorization", "Bearer "+a.tokens["reader"])
			<-start
			res, err := client.Do(req)
			if err != nil {
				t.Error(err)
				return
			}
			defer res.Body.Close()
			if res.StatusCode != http.StatusOK {
				t.Errorf("status %d", res.StatusCode)
			}
		})
	}
	close(start)
	clients.Wait()
	stop()
	if err := <-served; err != nil {
		t.Error(err)
	}
}

// deadlined notes the deadline that a handler sets for its answer.
type deadlined struct {
	*httptest.ResponseRecorder
	at time.Time
}

func (d *deadlined) SetWriteDeadline(at time.Time) error {
	d.at = at
	return nil
}

// TestAnAnswerWaitsForItsReaderForABoundedTime sends answers and problems: a client
// that does not read must not hold their memory.
func TestAnAnswerWaitsForItsReaderForABoundedTime(t *testing.T) {
	a := newAPI(t, nil)
	for _, token := range []string{a.tokens["reader"], "unknown"} {
		w := &deadlined{ResponseRecorder: httptest.NewRecorder()}
		r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/v1/runs", nil)
		r.Header.Set("Authorization", "Bearer "+token)
		began := time.Now()
		a.server.ServeHTTP(w, r)
		if wait := w.at.Sub(began); wait <= 0 || wait > 2*writeTimeout {
			t.Errorf("status %d: the answer waits %s", w.Code, wait)
		}
	}
}
