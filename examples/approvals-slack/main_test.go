package main

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/wexec/wexec/service/webhooks"
)

const key = "a secret of more than 16 bytes"

const asked = `{"id":"evt_1","number":1,"type":"approval.asked","link":"https://wexec.example.com/approvals?id=q_1","data":{"id":"q_1","tool":"mail.send",
	"message":"mail to <!channel> [EMAIL_1]","actor":"bot","args":{"to":"[EMAIL_1]"},"state":"waiting","expires":"2026-05-01T12:00:00Z"}}`

// send sends an event that is signed as wexec signs it.
func send(t *testing.T, url, body string, at time.Time, change func(http.Header)) int {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Webhook-Id", "evt_1")
	req.Header.Set("Webhook-Timestamp", strconv.FormatInt(at.Unix(), 10))
	req.Header.Set("Webhook-Signature", webhooks.Signature([]byte(key), "evt_1", at, []byte(body)))
	change(req.Header)
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	_ = res.Body.Close()
	return res.StatusCode
}

func TestAnEventBecomesAMessage(t *testing.T) {
	type block struct {
		Type string
		Text struct{ Type, Text string }

		Elements []struct{ Type, URL string }
	}
	var got struct {
		Text   string
		Blocks []block
	}
	var posts atomic.Int64
	var down atomic.Bool
	slack := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if down.Load() {
			w.WriteHeader(http.StatusServiceUnavailable)
			return
		}
		posts.Add(1)
		data, _ := io.ReadAll(r.Body)
		if err := json.Unmarshal(data, &got); err != nil || r.Header.Get("Content-Type") != "application/json" || r.URL.Path != "/services/x" {
			t.Errorf("%s %s: %v", r.URL, data, err)
		}
	}))
	defer slack.Close()
	web := httptest.NewServer(newReceiver([]byte(key), slack.URL+"/services/x"))
	defer web.Close()
	same := func(http.Header) {}
	now := time.Now()
	for name, refused := range map[string]func() int{
		"another body": func() int {
			return send(t, web.URL, asked, now, func(h http.Header) {
				h.Set("Webhook-Signature", webhooks.Signature([]byte(key), "evt_1", now, []byte("{}")))
			})
		},
		"another id":   func() int { return send(t, web.URL, asked, now, func(h http.Header) { h.Set("Webhook-Id", "evt_2") }) },
		"no signature": func() int { return send(t, web.URL, asked, now, func(h http.Header) { h.Del("Webhook-Signature") }) },
		"an old event": func() int { return send(t, web.URL, asked, now.Add(-time.Hour), same) },
	} {
		if status := refused(); status != http.StatusUnauthorized || posts.Load() != 0 {
			t.Errorf("%s: status %d, %d messages", name, status, posts.Load())
		}
	}
	down.Store(true)
	if status := send(t, web.URL, asked, now, same); status != http.StatusBadGateway {
		t.Errorf("status %d while Slack is down", status)
	}
	down.Store(false)
	for range 2 { // it is sent twice, and posted once
		if status := send(t, web.URL, asked, now, same); status != http.StatusOK {
			t.Errorf("status %d", status)
		}
	}
	if posts.Load() != 1 || got.Text != "Approve mail.send?" || len(got.Blocks) < 4 || got.Blocks[0].Type != "header" {
		t.Fatalf("%d messages: %+v", posts.Load(), got)
	}
	button := got.Blocks[len(got.Blocks)-1]
	if button.Type != "actions" || len(button.Elements) != 1 || button.Elements[0].URL != "https://wexec.example.com/approvals?id=q_1" {
		t.Errorf("%+v", button)
	}
	for _, b := range got.Blocks {
		if b.Text.Text != "" && b.Text.Type != "plain_text" {
			t.Errorf("a program's text can have links and mentions: %+v", b)
		}
	}
}

func TestAMessageKeepsTheBoundsOfSlack(t *testing.T) {
	var e event
	e.Type, e.Data.Tool, e.Data.Message = "approval.asked", strings.Repeat("t", 500), strings.Repeat("é", 5000)
	data, err := json.Marshal(message(e))
	if err != nil || len(data) > 8000 || !strings.Contains(string(data), "…") {
		t.Errorf("%d bytes, %v", len(data), err)
	}
}
