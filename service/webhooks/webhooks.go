// Package webhooks sends what happens to approvals to the webhooks of tenants.
//
// An event is a row of the store, and sending it is work of the store's queue: any
// server of the store sends it, and a restart loses no event. A tenant has one work in
// the queue, whose lease keeps its events in order. An event that was sent by a server
// that then died is sent again, with the same id.
package webhooks

import (
	"cmp"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/wexec/wexec/fault"
	"github.com/wexec/wexec/policy"
)

// Config is the webhook of a tenant as the settings have it.
type Config struct {
	URL    string
	Link   string                 // address of the server's pages
	Secret func() (string, error) // it is read for each event and not kept
	// Anywhere permits addresses that are not public, and http.
	Anywhere bool
	// Private permits these hosts, as HOST:PORT, what Anywhere permits all.
	Private []string
}

// Hook is the webhook of a tenant.
type Hook struct {
	url    *url.URL
	link   string
	secret func() (string, error)
	reach  *policy.Policy // which addresses the host may have
}

// New checks the webhook of a tenant. Errors do not repeat the URL, which may contain
// a secret.
func New(c Config) (*Hook, error) {
	u, err := url.Parse(c.URL)
	if err != nil || u.Host == "" || u.User != nil || u.Scheme != "https" && u.Scheme != "http" {
		return nil, fault.New(fault.UsageConfig, "url must be the https address of a host, without a user")
	}
	port := cmp.Or(u.Port(), map[string]string{"http": "80", "https": "443"}[u.Scheme])
	private := c.Anywhere || slices.ContainsFunc(c.Private, func(host string) bool { return strings.EqualFold(host, joined(u.Hostname(), port)) })
	if u.Scheme == "http" && !private {
		return nil, fault.New(fault.UsageConfig, "url must be https").WithHint("let the operator add the host to private_hosts of the tenant")
	}
	if l, err := url.Parse(c.Link); err != nil || c.Link != "" && (l.Host == "" || l.Scheme != "https" && l.Scheme != "http") {
		return nil, fault.New(fault.UsageConfig, "link must be the address of this server, such as https://wexec.example.com")
	}
	allow := `{host: "*", ports: [%[1]s]}` // what is public
	if private {
		allow = `{host: 0.0.0.0/0, ports: [%[1]s]}, {host: "::/0", ports: [%[1]s]}`
	}
	reach, err := policy.Parse("the webhook", fmt.Appendf(nil, "version: 1\nnetwork: {allow: ["+allow+"], deny: [metadata]}\n", port))
	if err != nil {
		return nil, err
	}
	h := &Hook{url: u, link: strings.TrimSuffix(c.Link, "/"), secret: c.Secret, reach: reach}
	_, err = h.key()
	return h, err
}

// joined is a host and its port as settings name them.
func joined(host, port string) string {
	if strings.Contains(host, ":") {
		host = "[" + host + "]"
	}
	return host + ":" + port
}

// Bounds of a key.
const (
	minKey       = 16
	secretPrefix = "whsec_" // of a secret in base64
)

// key is what signs events: the bytes of the secret, or what it has in base64.
func (h *Hook) key() ([]byte, error) {
	secret, err := h.secret()
	if err != nil {
		return nil, err
	}
	key := []byte(secret)
	if encoded, ok := strings.CutPrefix(secret, secretPrefix); ok {
		if key, err = base64.StdEncoding.DecodeString(encoded); err != nil {
			return nil, fault.New(fault.UsageConfig, "the secret is not base64 after %s", secretPrefix)
		}
	}
	if len(key) < minKey {
		return nil, fault.New(fault.UsageConfig, "the secret has fewer than %d bytes", minKey).WithHint("make one with  openssl rand -hex 32")
	}
	return key, nil
}

// Signature returns the header Webhook-Signature of an event, by the scheme of
// Standard Webhooks: "v1," and the HMAC-SHA256 of id, time and body in base64.
func Signature(key []byte, id string, at time.Time, body []byte) string {
	mac := hmac.New(sha256.New, key)
	fmt.Fprintf(mac, "%s.%d.%s", id, at.Unix(), body)
	return "v1," + base64.StdEncoding.EncodeToString(mac.Sum(nil))
}

// hookKey is the key of the hook in the context of a request.
type hookKey struct{}

// mayReach decides about an address that a request is about to connect to. The name of
// the host was resolved, so a name cannot lead to another address than the one decided.
func mayReach(ctx context.Context, _, address string, _ syscall.RawConn) error {
	h, ok := ctx.Value(hookKey{}).(*Hook)
	at, err := netip.ParseAddrPort(address)
	if !ok || err != nil {
		return fault.New(fault.DeniedNetwork, "a webhook cannot connect to this address")
	}
	d := h.reach.DecideNetwork(policy.NetRequest{Host: h.url.Hostname(), Method: http.MethodPost, Port: int(at.Port()), IP: at.Addr().Unmap()})
	if d.Effect != policy.Allow {
		return fault.New(fault.DeniedNetwork, "the address of the host %s is not public", h.url.Hostname()).
			WithHint("let the operator add the host to private_hosts of the tenant")
	}
	return nil
}
