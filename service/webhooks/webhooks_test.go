package webhooks

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/wexec/wexec/fault"
)

func secret() (string, error) { return "a secret of more than 16 bytes", nil }

func TestAWebhookReachesWhatTheOperatorNames(t *testing.T) {
	const here = "https://hooks.internal/x"
	for _, c := range []struct {
		url, address string
		private      []string
		anywhere     bool
		allowed      bool
	}{
		{here, "93.184.216.34:443", nil, false, true},
		{here, "[2606:2800:220:1::1]:443", nil, false, true},
		{here, "127.0.0.1:443", nil, false, false},
		{here, "10.1.2.3:443", nil, false, false},
		{here, "[::ffff:10.1.2.3]:443", nil, false, false},
		{here, "[fd00::1]:443", nil, false, false},
		{here, "[::1]:443", nil, false, false},
		{here, "169.254.169.254:443", nil, false, false},
		{here, "93.184.216.34:8443", nil, false, false}, // not the port of the address
		{here, "10.1.2.3:443", []string{"Hooks.Internal:443"}, false, true},
		{here, "127.0.0.1:443", []string{"hooks.internal:443"}, false, true},
		{here, "10.1.2.3:443", []string{"hooks.internal:8443"}, false, false},
		{here, "10.1.2.3:443", []string{"other.internal:443"}, false, false},
		{here, "169.254.169.254:443", []string{"hooks.internal:443"}, false, false}, // credentials of a cloud
		{here, "10.1.2.3:443", nil, true, true},
		{here, "169.254.169.254:443", nil, true, false},
		{"http://[::1]:3000/", "[::1]:3000", []string{"[::1]:3000"}, false, true},
	} {
		h, err := New(Config{URL: c.url, Secret: secret, Private: c.private, Anywhere: c.anywhere})
		if err != nil {
			t.Fatal(err)
		}
		err = mayReach(context.WithValue(t.Context(), hookKey{}, h), "tcp", c.address, nil)
		if (err == nil) != c.allowed || err != nil && !errors.Is(err, fault.DeniedNetwork) {
			t.Errorf("%s at %s with %q: %v", c.url, c.address, c.private, err)
		}
	}
	if err := mayReach(t.Context(), "tcp", "93.184.216.34:443", nil); err == nil {
		t.Error("a connection without a webhook is allowed")
	}
}

func TestAWebhookThatCannotBeUsedIsRefused(t *testing.T) {
	const good = "https://a.example/x"
	for _, c := range []struct{ url, secret, link, want string }{
		{good, "a secret of more than 16 bytes", "https://wexec.example.com/", ""},
		{good, "whsec_MDEyMzQ1Njc4OWFiY2RlZg==", "", ""},
		{"", "a secret of more than 16 bytes", "", "must be the https address"},
		{"http://a.example/hunter2", "a secret of more than 16 bytes", "", "must be https"},
		{"ftp://a.example/hunter2", "a secret of more than 16 bytes", "", "must be the https address"},
		{"https://me:hunter2@a.example/", "a secret of more than 16 bytes", "", "without a user"},
		{"https://a.example/\r\nX-Other: hunter2", "a secret of more than 16 bytes", "", "must be the https address"},
		{"https:///hunter2", "a secret of more than 16 bytes", "", "must be the https address"},
		{good, "hunter2", "", "fewer than 16 bytes"},
		{good, "whsec_aHVudGVyMg==", "", "fewer than 16 bytes"},
		{good, "whsec_hunter2-hunter2-hunter2", "", "not base64"},
		{good, "a secret of more than 16 bytes", "ftp://wexec.example.com", "link"},
		{good, "a secret of more than 16 bytes", "/approvals", "link"},
	} {
		_, err := New(Config{URL: c.url, Link: c.link, Secret: func() (string, error) { return c.secret, nil }})
		if (err == nil) != (c.want == "") || err != nil && (!strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "hunter2")) {
			t.Errorf("%+v: %v", c, err)
		}
	}
}

// The example of Standard Webhooks.
func TestASignatureIsThatOfStandardWebhooks(t *testing.T) {
	h, err := New(Config{URL: "https://a.example/", Secret: func() (string, error) { return "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw", nil }})
	if err != nil {
		t.Fatal(err)
	}
	key, err := h.key()
	if err != nil {
		t.Fatal(err)
	}
	got := Signature(key, "msg_p5jXN8AQM9LWM0D4loKWxJek", time.Unix(1614265330, 0), []byte(`{"test": 2432232314}`))
	if want := "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="; got != want {
		t.Errorf("%s, want %s", got, want)
	}
}

func TestRetryAfterIsADelayOrATime(t *testing.T) {
	now := time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)
	for text, want := range map[string]time.Duration{"": 0, "30": 30 * time.Second, "-1": 0, "soon": 0, "99999999999999": 0,
		"Fri, 01 May 2026 12:01:00 GMT": time.Minute} {
		if got := retryAfter(text, now); got != want {
			t.Errorf("%q: %s, want %s", text, got, want)
		}
	}
}
