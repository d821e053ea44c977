package apiclient

import (
	"bufio"
	"context"
	"errors"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/wexec/wexec/store"
)

// The server sends a comment at least every 15 s. A stream that is silent for longer
// than maxSilence is opened again, for as long as maxOutage without an event or an answer.
const (
	maxSilence = 45 * time.Second
	maxOutage  = time.Minute
)

// Events calls each with the events of a run after a number: those that there are, or
// with follow until the run has ended. The last event of a run is of type end, and its
// data are the result. A stream that is cut off is resumed. An error of each ends it.
func (c *Client) Events(ctx context.Context, run string, after int64, follow bool, each func(store.Event) error) error {
	heard := time.Now()
	for wait := firstPause; ; wait *= 2 {
		last := after
		end, err := c.stream(ctx, run, &after, follow, each)
		var t *temporary
		switch {
		case end, err == nil && !follow:
			return nil
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case err != nil && !errors.As(err, &t):
			return err
		}
		if after > last || err == nil {
			heard, wait = time.Now(), firstPause
		} else if time.Since(heard) > maxOutage {
			return t.error
		}
		if err := pause(ctx, min(wait, longestPause)); err != nil {
			return err
		}
	}
}

// stream reads events until the stream ends. It reports whether the run has ended, and
// keeps the number of the last event.
func (c *Client) stream(ctx context.Context, run string, after *int64, follow bool, each func(store.Event) error) (end bool, err error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	res, err := c.send(ctx, request{method: http.MethodGet, path: "/v1/runs/" + url.PathEscape(run) + "/events",
		query: url.Values{"follow": {strconv.FormatBool(follow)}}, last: *after, events: true})
	if err != nil {
		return false, err
	}
	defer res.Body.Close()
	silence := time.AfterFunc(maxSilence, cancel)
	defer silence.Stop()
	lines := bufio.NewScanner(res.Body)
	lines.Buffer(nil, maxAnswer)
	var e store.Event
	var data strings.Builder
	for lines.Scan() {
		silence.Reset(maxSilence)
		name, value, _ := strings.Cut(lines.Text(), ":")
		value = strings.TrimPrefix(value, " ")
		switch {
		case lines.Text() == "": // the event is complete
			if e.Type == "" || e.Number <= *after {
				e = store.Event{}
				data.Reset()
				continue
			}
			e.Data = []byte(data.String())
			if err := each(e); err != nil {
				return false, err
			}
			if *after = e.Number; e.Type == "end" {
				return true, nil
			}
			e = store.Event{}
			data.Reset()
		case name == "id":
			e.Number, _ = strconv.ParseInt(value, 10, 64)
		case name == "event":
			e.Type = value
		case name == "data":
			if data.Len()+len(value) > maxAnswer {
				return false, c.unavailable("an event is larger than %d bytes", maxAnswer)
			}
			data.WriteString(value)
		}
	}
	switch err := lines.Err(); {
	case errors.Is(err, bufio.ErrTooLong):
		return false, c.unavailable("an event is larger than %d bytes", maxAnswer)
	case err != nil:
		return false, &temporary{error: c.unavailable("the events were cut off: %w", err)}
	}
	return false, nil
}
