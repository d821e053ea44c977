package httpd

import (
	"crypto/sha256"
	"encoding/hex"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/wexec/wexec/store"
)

// shownArtifact is what clients read of an artifact.
type shownArtifact struct {
	Artifact, Name, Type, Expires, Run string
	Bytes                              int64
}

// upload puts content and returns its artifact and its path.
func (a *api) upload(token, query, media, content string) (kept shownArtifact, path string) {
	a.t.Helper()
	a.call(token, "POST", "/v1/artifacts?"+query, content, "Content-Type", media).is(201, &kept)
	return kept, "/v1/artifacts/" + strings.TrimPrefix(kept.Artifact, "sha256:")
}

func TestAnArtifactIsUploadedAndReadInRanges(t *testing.T) {
	a := newAPI(t, nil)
	content := strings.Repeat("0123456789", 1_000_000) // more than the body of other routes
	kept, path := a.upload("agent", "name=n%C3%A9.html&keep=1h", "text/html", content)
	sum := sha256.Sum256([]byte(content))
	if kept.Artifact != "sha256:"+hex.EncodeToString(sum[:]) || kept.Name != "né.html" || kept.Type != "text/html" || kept.Bytes != 10_000_000 || kept.Expires == "" {
		t.Errorf("%+v", kept)
	}
	whole := a.call("agent", "GET", path, "").is(200)
	if string(whole.body) != content {
		t.Errorf("read %d bytes", len(whole.body))
	}
	for name, want := range map[string]string{"Content-Type": "text/html", "Content-Disposition": "attachment; filename*=utf-8''n%C3%A9.html", "X-Content-Type-Options": "nosniff",
		"Content-Security-Policy": "sandbox; default-src 'none'", "Accept-Ranges": "bytes"} {
		if got := whole.header.Get(name); got != want {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
	if part := a.call("agent", "GET", path, "", "Range", "bytes=9000005-9000008").is(206); string(part.body) != "5678" || part.header.Get("Content-Range") != "bytes 9000005-9000008/10000000" {
		t.Errorf("%q %v", part.body, part.header)
	}
	a.call("agent", "GET", path, "", "Range", "bytes=10000000-").problem(416, "usage.flag")
	a.call("agent", "GET", path, "", "If-None-Match", whole.header.Get("ETag")).is(304)
	var page struct {
		Artifacts []shownArtifact
		Next      string
	}
	_, other := a.upload("admin", "", "", "second")
	a.call("reader", "GET", "/v1/artifacts?limit=1", "").is(200, &page)
	if len(page.Artifacts) != 1 || page.Next == "" || !strings.HasSuffix(other, strings.TrimPrefix(page.Artifacts[0].Artifact, "sha256:")) {
		t.Errorf("%+v", page)
	}
	a.call("reader", "GET", "/v1/artifacts?cursor="+page.Next, "").is(200, &page)
	if len(page.Artifacts) != 1 || page.Artifacts[0] != kept {
		t.Errorf("%+v", page)
	}
	a.call("other", "GET", path, "").problem(404, "usage.file")
	a.call("other", "DELETE", path, "").problem(404, "usage.file")
	a.call("agent", "DELETE", path, "").is(200)
	a.call("agent", "GET", path, "").problem(404, "usage.file")
	for _, bad := range []string{"x", "sha256:x", strings.Repeat("A", 64)} {
		a.call("agent", "GET", "/v1/artifacts/"+bad, "").problem(404, "usage.file")
	}
	a.call("agent", "POST", "/v1/artifacts?keep=0", "x").problem(400, "usage.flag")
	a.call("agent", "POST", "/v1/artifacts", "x", "Content-Type", "text").problem(400, "usage.flag")
	a.call("agent", "POST", "/v1/artifacts?name=a%0Ab", "x").problem(400, "usage.flag")
}

func TestTheQuotaOfArtifactsIsKept(t *testing.T) {
	a := newAPI(t, files{"tenants/other/wexec.yaml": "quotas: {artifacts: 1KiB}\n"})
	a.upload("other", "", "", strings.Repeat("x", 1000))
	a.call("other", "POST", "/v1/artifacts", strings.Repeat("y", 25)).problem(413, "limit.artifact")
	a.upload("other", "", "", strings.Repeat("y", 24))
}

// A client reads personal data that another one uploaded as tokens, unless its token
// has the scope reveal.
func TestClientsReadTokensInTheArtifactsOfOthers(t *testing.T) {
	a := newAPI(t, nil)
	secret, _, err := a.service.CreateToken(t.Context(), store.Token{Tenant: "default", Name: "dpo", Type: store.TypePerson, Scopes: []store.Scope{store.ScopeRead, store.ScopeReveal}})
	if err != nil {
		t.Fatal(err)
	}
	a.tokens["revealer"] = secret
	content := "name,mail\n" + strings.Repeat("x,y\n", 30_000) + "Ann,ann.lee@example.com\n"
	for _, media := range []string{"text/csv", "application/octet-stream"} {
		_, path := a.upload("agent", "name=a", media, content+media)
		for token, want := range map[string]string{"agent": "ann.lee@example.com", "revealer": "ann.lee@example.com", "reader": "[EMAIL_1]", "admin": "[EMAIL_1]"} {
			got := a.call(token, "GET", path, "", "Range", "bytes=0-").body
			if !strings.Contains(string(got), want) || strings.Contains(string(got), "ann.lee") != strings.Contains(want, "ann.lee") {
				t.Errorf("%s reads %q, want %s", token, got[max(0, len(got)-60):], want)
			}
		}
	}
	_, path := a.upload("agent", "", "image/png", content+"\xff") // not a text
	a.call("reader", "GET", path, "").is(200)
}

// A body that takes long is read as long as it goes on.
func TestABodyMayArriveInParts(t *testing.T) {
	a := newAPI(t, nil)
	from, to := io.Pipe()
	go func() {
		for range 100 {
			_, _ = to.Write(make([]byte, 100_000))
		}
		_ = to.Close()
	}()
	req, err := http.NewRequestWithContext(t.Context(), "POST", a.url+"/v1/artifacts", from)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+a.tokens["agent"])
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	if res.StatusCode != 201 {
		t.Errorf("answered %s", res.Status)
	}
	until(t, "no bytes are counted", func() bool { return a.server.bodies.Load() == 0 })
}
