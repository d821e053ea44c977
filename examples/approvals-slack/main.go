// Command approvals-slack receives events about approvals from wexec serve and posts them to
// a channel of Slack. It uses only the standard library.
package main

import (
	"bytes"
	"cmp"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log"
	"net/http"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

func main() {
	key, slack := os.Getenv("WEBHOOK_SECRET"), os.Getenv("SLACK_WEBHOOK_URL")
	if key == "" || slack == "" {
		log.Fatal("set WEBHOOK_SECRET to the secret of the webhook, and SLACK_WEBHOOK_URL to an incoming webhook of Slack")
	}
	server := &http.Server{Addr: cmp.Or(os.Getenv("LISTEN"), "127.0.0.1:3000"), Handler: newReceiver([]byte(key), slack), ReadTimeout: 10 * time.Second}
	log.Printf("waiting for events at http://%s/", server.Addr)
	log.Fatal(server.ListenAndServe())
}

// event is what is read of an event.
type event struct {
	ID   string `json:"id"`
	Type string `json:"type"`
	Link string `json:"link"`
	Data struct {
		Tool    string          `json:"tool"`
		Message string          `json:"message"`
		Actor   string          `json:"actor"`
		Intent  string          `json:"intent"`
		Args    json.RawMessage `json:"args"`
		Expires time.Time       `json:"expires"`
		State   string          `json:"state"`
		By      string          `json:"by"`
		Reason  string          `json:"reason"`
	} `json:"data"`
}

// Bounds of an event: its size, its age, and how many ids are remembered.
const (
	maxBody  = 1 << 20
	maxAge   = 5 * time.Minute
	maxKnown = 1000
)

// receiver receives events. An event may arrive twice, so it remembers ids.
type receiver struct {
	key    []byte
	slack  string
	client *http.Client
	mu     sync.Mutex
	known  []string
}

func newReceiver(key []byte, slack string) *receiver {
	return &receiver{key: key, slack: slack, client: &http.Client{Timeout: 8 * time.Second}}
}

// ServeHTTP answers with an error if the event should be sent again.
func (x *receiver) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody))
	if err != nil {
		http.Error(w, "the event cannot be read", http.StatusBadRequest)
		return
	}
	if err := verify(x.key, r.Header, body, time.Now()); err != nil {
		http.Error(w, err.Error(), http.StatusUnauthorized)
		return
	}
	var e event
	if err := json.Unmarshal(body, &e); err != nil {
		http.Error(w, "the event is not JSON", http.StatusBadRequest)
		return
	}
	x.mu.Lock() // one after another, so that the channel has the order of the events
	defer x.mu.Unlock()
	if slices.Contains(x.known, e.ID) {
		return
	}
	if err := x.post(e); err != nil {
		log.Print(err)
		http.Error(w, "Slack did not take the message", http.StatusBadGateway)
		return
	}
	x.known = append(x.known, e.ID)
	if len(x.known) > maxKnown {
		x.known = x.known[1:]
	}
}

// verify checks the signature of an event, and that it is not an old one.
func verify(key []byte, h http.Header, body []byte, now time.Time) error {
	id, at := h.Get("webhook-id"), h.Get("webhook-timestamp")
	seconds, err := strconv.ParseInt(at, 10, 64)
	if err != nil || now.Sub(time.Unix(seconds, 0)).Abs() > maxAge {
		return errors.New("the time of the event is not the present")
	}
	mac := hmac.New(sha256.New, key)
	fmt.Fprintf(mac, "%s.%s.%s", id, at, body)
	want := "v1," + base64.StdEncoding.EncodeToString(mac.Sum(nil))
	for given := range strings.FieldsSeq(h.Get("webhook-signature")) {
		if hmac.Equal([]byte(given), []byte(want)) {
			return nil
		}
	}
	return errors.New("the signature is not valid")
}

// post posts a message to Slack.
func (x *receiver) post(e event) error {
	data, err := json.Marshal(message(e))
	if err != nil {
		return err
	}
	res, err := x.client.Post(x.slack, "application/json", bytes.NewReader(data))
	if err != nil {
		return errors.New("Slack cannot be reached") // the error has the address, which is a secret
	}
	defer res.Body.Close()
	answer, _ := io.ReadAll(io.LimitReader(res.Body, 200))
	if res.StatusCode != http.StatusOK {
		return fmt.Errorf("Slack answered %s: %s", res.Status, answer)
	}
	return nil
}

// message is an event in Slack's Block Kit. Texts of programs are plain text, so that
// they cannot make links or mention people.
func message(e event) map[string]any {
	title := map[string]string{"approval.asked": "Approve " + e.Data.Tool + "?", "approval.answered": e.Data.Tool + " was " + e.Data.State,
		"approval.expired": e.Data.Tool + ": the question expired"}[e.Type]
	title = cmp.Or(title, e.Type)
	blocks := []any{map[string]any{"type": "header", "text": plain(title, 150)}}
	add := func(label, text string) {
		if text != "" {
			blocks = append(blocks, map[string]any{"type": "section", "text": plain(label+": "+text, 3000)})
		}
	}
	add("Why", e.Data.Message)
	add("Intent", e.Data.Intent)
	add("Agent", e.Data.Actor)
	add("Arguments", string(e.Data.Args))
	add("Answered by", e.Data.By)
	add("Reason", e.Data.Reason)
	if e.Type == "approval.asked" {
		blocks = append(blocks,
			map[string]any{"type": "context", "elements": []any{plain("expires at "+e.Data.Expires.UTC().Format("2006-01-02 15:04 MST"), 200)}},
			map[string]any{"type": "actions", "elements": []any{map[string]any{"type": "button", "text": plain("Open", 75), "url": e.Link}}})
	}
	return map[string]any{"text": escape.Replace(clip(title, 150)), "blocks": blocks}
}

// escape writes what has a meaning in the text of a message.
var escape = strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;")

func plain(text string, most int) map[string]any {
	return map[string]any{"type": "plain_text", "text": clip(text, most), "emoji": false}
}

// clip shortens a text to a number of characters.
func clip(text string, most int) string {
	if chars := []rune(text); len(chars) > most {
		return string(chars[:most-1]) + "…"
	}
	return text
}
