package pages

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net/http"
	"strconv"
	"time"

	"github.com/wexec/wexec/fault"
	"github.com/wexec/wexec/store"
)

// Times of streams.
const (
	lookEvery = time.Second
	keepAlive = 15 * time.Second
	writeTime = 30 * time.Second
)

// stream is an event stream that tells a page that there is something new. The page
// then reads itself again, so a stream has no contents.
type stream struct {
	v    *view
	flow *http.ResponseController
}

// open begins a stream.
func open(v *view) *stream {
	h := v.w.Header()
	h.Set("Content-Type", "text/event-stream")
	h.Set("X-Accel-Buffering", "no")
	s := &stream{v, http.NewResponseController(v.w)}
	_ = s.flow.SetReadDeadline(time.Time{})
	return s
}

// send sends an event, or a comment if the name is empty, and reports whether the page
// still listens.
func (s *stream) send(name, id string) bool {
	text := ": waiting\n\n"
	if name != "" {
		text = fmt.Sprintf("id: %s\nevent: %s\ndata: {}\n\n", id, name)
	}
	_ = s.flow.SetWriteDeadline(time.Now().Add(writeTime))
	_, err := s.v.w.Write([]byte(text))
	return err == nil && s.flow.Flush() == nil
}

// live tells a page about new runs and questions of the tenant.
func (p *Pages) live(v *view) error {
	known, err := p.version(v)
	if err != nil {
		return err
	}
	s := open(v)
	if last := v.r.Header.Get("Last-Event-ID"); !s.send(map[bool]string{true: "change", false: "hello"}[last != "" && last != known], known) {
		return nil
	}
	look := time.NewTicker(lookEvery)
	defer look.Stop()
	for said := time.Now(); ; {
		select {
		case <-look.C:
		case <-p.Ending:
			return nil
		case <-v.r.Context().Done():
			return nil
		}
		// A revoked token gets no further news.
		if _, err := p.Service.Authenticate(v.r.Context(), tokenOf(v.r)); err != nil {
			return nil
		}
		found, err := p.version(v)
		name := ""
		switch {
		case err != nil:
			return nil // the page connects again, and learns why
		case found != known:
			known, name = found, "change"
		case time.Since(said) < keepAlive:
			continue
		}
		if said = time.Now(); !s.send(name, known) {
			return nil
		}
	}
}

// version changes when the runs or the questions of a tenant do.
func (p *Pages) version(v *view) (string, error) {
	runs, _, err := p.Service.List(v.r.Context(), v.who, store.Filter{Limit: longList})
	if err != nil {
		return "", err
	}
	asked, _, err := p.Service.Approvals(v.r.Context(), v.who, store.ApprovalFilter{State: store.AnswerWaiting, Limit: longList})
	if err != nil {
		return "", err
	}
	sum := sha256.New()
	fmt.Fprintln(sum, p.usage.changes(v.who.Tenant))
	for _, r := range runs {
		fmt.Fprintln(sum, r.RunID, r.State, r.Status)
	}
	for _, a := range asked {
		fmt.Fprintln(sum, a.ID)
	}
	return hex.EncodeToString(sum.Sum(nil)[:8]), nil
}

// liveRun tells the page of a run about its events.
func (p *Pages) liveRun(v *view) error {
	id := v.r.PathValue("id")
	run, err := p.Service.Get(v.r.Context(), v.who, id)
	if err != nil {
		return err
	}
	var after int64
	if last := v.r.Header.Get("Last-Event-ID"); last != "" {
		if after, err = strconv.ParseInt(last, 10, 64); err != nil || after < 0 {
			return fault.New(fault.UsageFlag, "Last-Event-ID: must be the number of an event")
		}
	}
	p.About(v.r, run.RunID)
	s := open(v)
	for {
		until, stop := pause(p.Ending)
		events, end, err := p.Service.Events(v.r.Context(), v.who, id, after, until)
		stop()
		if err != nil {
			return nil
		}
		if _, err := p.Service.Authenticate(v.r.Context(), tokenOf(v.r)); err != nil {
			return nil
		}
		name := ""
		if len(events) > 0 {
			after, name = events[len(events)-1].Number, "change"
		}
		if end {
			name = "end"
		}
		if !s.send(name, strconv.FormatInt(after, 10)) || end {
			return nil
		}
		select {
		case <-p.Ending:
			return nil
		default:
		}
	}
}

// pause returns a channel that is closed after a time or when the server ends.
func pause(ending <-chan struct{}) (until <-chan struct{}, stop func()) {
	done, stopped := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		timer := time.NewTimer(keepAlive)
		defer timer.Stop()
		select {
		case <-timer.C:
		case <-ending:
		case <-stopped:
		}
	}()
	return done, func() { close(stopped) }
}
