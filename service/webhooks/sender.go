package webhooks

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	mathrand "math/rand/v2"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"sync"
	"time"

	"github.com/wexec/wexec/fault"
	"github.com/wexec/wexec/store"
)

// Bounds of sending. After a failure an event is sent again after firstPause, then
// after twice as long each time, at most maxPause, until giveUpAfter.
const (
	firstPause  = time.Second
	maxPause    = 30 * time.Minute
	giveUpAfter = 24 * time.Hour
	sendTimeout = 10 * time.Second // less than store.LeaseTime
	maxResponse = 64 << 10
	maxSending  = 8 // tenants at once
	claimEvery  = time.Second
)

// Sender sends the events of all tenants. All fields are required.
type Sender struct {
	Store   *store.Store
	Logger  *slog.Logger
	Version string
	// Hook returns the webhook of a tenant, or nil.
	Hook func(tenant string) *Hook
	// Show returns an approval as clients of the API see it.
	Show func(store.Approval) (any, error)
}

// event is the body of a request.
type event struct {
	ID        string    `json:"id"`
	Number    int64     `json:"number"`
	Type      string    `json:"type"`
	Timestamp time.Time `json:"timestamp"`
	Tenant    string    `json:"tenant"`
	Link      string    `json:"link"`
	Data      any       `json:"data"`
}

// Run sends events that are due until the context ends. It returns when no request is
// in flight.
func (s *Sender) Run(ctx context.Context) {
	owner := rand.Text()
	client := newClient()
	places := make(chan struct{}, maxSending)
	var sending sync.WaitGroup
	defer sending.Wait()
	ticks := time.NewTicker(claimEvery)
	defer ticks.Stop()
	for {
		select {
		case places <- struct{}{}:
		case <-ctx.Done():
			return
		}
		l, ok, err := s.Store.Claim(ctx, store.KindNotice, owner)
		if ok && err == nil {
			sending.Go(func() {
				defer func() { <-places }()
				if err := s.next(ctx, client, l); err != nil && !errors.Is(err, store.ErrLost) {
					s.Logger.Error("cannot record what was sent to a webhook", "tenant", l.Tenant, "error", err)
				}
			})
			continue
		}
		<-places
		if err != nil && ctx.Err() == nil {
			s.Logger.Error("cannot look for events of webhooks", "error", err)
		}
		select {
		case <-ticks.C:
		case <-ctx.Done():
			return
		}
	}
}

func newClient() *http.Client {
	dialer := &net.Dialer{Timeout: sendTimeout, ControlContext: mayReach}
	return &http.Client{
		Timeout:       sendTimeout,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		Transport: &http.Transport{DialContext: dialer.DialContext, DisableKeepAlives: true, DisableCompression: true, ForceAttemptHTTP2: true,
			TLSHandshakeTimeout: sendTimeout, MaxResponseHeaderBytes: maxResponse},
	}
}

// next sends the next event of a tenant and gives the lease back.
func (s *Sender) next(ctx context.Context, client *http.Client, l store.Lease) error {
	// What was sent is recorded, also by a process that stops.
	recording, cancel := context.WithTimeout(context.WithoutCancel(ctx), store.LeaseTime)
	defer cancel()
	n, ok, err := s.Store.NextNotice(recording, l)
	if err != nil || !ok {
		return err
	}
	pause, err := s.send(ctx, client, n)
	about := []any{"tenant", n.Tenant, "event", n.ID, "type", n.Type, "approval", n.Approval.ID, "attempts", n.Attempts + 1, "error", err}
	switch {
	case err == nil:
	case ctx.Err() != nil:
		return s.Store.Release(recording, l, time.Now())
	case errors.Is(err, errGone), time.Since(n.At) > giveUpAfter:
		s.Logger.Error("gave up sending an event to the webhook", about...)
	default:
		s.Logger.Warn("cannot send an event to the webhook; it is sent again", append(about, "after", pause)...)
		return s.Store.Retry(recording, l, n, time.Now().Add(pause))
	}
	return s.Store.Told(recording, l, n)
}

// errGone means that the receiver wants no more requests for an event.
var errGone = errors.New("the webhook answered 410")

// send sends an event. After an error other than errGone it is sent again after a pause.
func (s *Sender) send(ctx context.Context, client *http.Client, n store.Notice) (pause time.Duration, err error) {
	pause = min(firstPause<<min(n.Attempts, 20), maxPause)
	pause += mathrand.N(pause/4 + 1)
	hook := s.Hook(n.Tenant)
	if hook == nil {
		return pause, errors.New("the tenant has no webhook on this server")
	}
	body, err := s.body(hook, n)
	if err != nil {
		return pause, err
	}
	key, err := hook.key()
	if err != nil {
		return pause, err
	}
	req, err := http.NewRequestWithContext(context.WithValue(ctx, hookKey{}, hook), http.MethodPost, hook.url.String(), bytes.NewReader(body))
	if err != nil {
		return pause, fault.New(fault.UsageConfig, "the address of the webhook is not valid") // not repeated: it may contain a secret
	}
	at := time.Now()
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("User-Agent", "wexec/"+s.Version)
	req.Header.Set("Webhook-Id", n.ID)
	req.Header.Set("Webhook-Timestamp", strconv.FormatInt(at.Unix(), 10))
	req.Header.Set("Webhook-Signature", Signature(key, n.ID, at, body))
	res, err := client.Do(req)
	if err != nil {
		if u, ok := errors.AsType[*url.Error](err); ok {
			err = u.Err // without the address
		}
		return pause, err
	}
	defer res.Body.Close()
	_, _ = io.Copy(io.Discard, io.LimitReader(res.Body, maxResponse))
	switch {
	case res.StatusCode/100 == 2:
		return 0, nil
	case res.StatusCode == http.StatusGone:
		return 0, errGone
	}
	return max(pause, min(retryAfter(res.Header.Get("Retry-After"), at), maxPause)), fmt.Errorf("the webhook answered %d", res.StatusCode)
}

// body returns an event: the approval as it was when the event happened.
func (s *Sender) body(hook *Hook, n store.Notice) ([]byte, error) {
	a := n.Approval
	if n.Type == store.NoticeAsked {
		a.State, a.Answered, a.Actor, a.Via, a.Reason, a.Always = store.AnswerWaiting, time.Time{}, "", "", "", false
	}
	data, err := s.Show(a)
	if err != nil {
		return nil, err
	}
	return json.Marshal(event{ID: n.ID, Number: n.Number, Type: n.Type, Timestamp: n.At, Tenant: n.Tenant,
		Link: hook.link + "/approvals?id=" + url.QueryEscape(a.ID), Data: data})
}

// retryAfter returns how long a receiver asks to wait; zero if it does not say.
func retryAfter(text string, now time.Time) time.Duration {
	if seconds, err := strconv.ParseInt(text, 10, 32); err == nil && seconds > 0 {
		return time.Duration(seconds) * time.Second
	}
	if at, err := http.ParseTime(text); err == nil {
		return at.Sub(now)
	}
	return 0
}
