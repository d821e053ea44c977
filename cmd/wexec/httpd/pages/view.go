package pages

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"errors"
	"html/template"
	"io/fs"
	"log/slog"
	"mime"
	"net/http"
	"net/url"
	"path"
	"strings"
	"sync"
	"time"

	"github.com/wexec/wexec/fault"
	"github.com/wexec/wexec/service"
	"github.com/wexec/wexec/store"
)

// Options configure [Mount]. All but Secure are required.
type Options struct {
	Service *service.Service
	Logger  *slog.Logger
	// Admit returns whose token a request has.
	Admit func(w http.ResponseWriter, r *http.Request, token string) (service.Principal, error)
	// Status is the HTTP status of an error.
	Status func(error) int
	// About notes in the access log which run a request is about.
	About func(r *http.Request, run string)
	// Secure says that browsers reach the server over TLS in any case.
	Secure bool
	// Ending is closed when the server stops: then streams end.
	Ending <-chan struct{}
}

// Pages serves the pages of a service.
type Pages struct {
	Options
	usage usageCache
}

// contents is the content security policy of each page.
const contents = "default-src 'self'; object-src 'none'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'"

// maxForm bounds the bodies of forms.
const maxForm = 64 << 10

// view is a request for a page.
type view struct {
	w   http.ResponseWriter
	r   *http.Request
	who service.Principal
}

// serve answers a request of a person who is signed in.
func (p *Pages) serve(w http.ResponseWriter, r *http.Request, scope store.Scope, answer func(*view) error) {
	head(w)
	who, err := p.Admit(w, r, tokenOf(r))
	v := &view{w: w, r: r, who: who}
	if err != nil {
		p.signInPage(w, r, err)
		return
	}
	if !who.Has(scope) {
		err = fault.New(fault.DeniedScope, "your token does not have the scope %s", scope).WithHint("sign in with a token that has it")
	} else {
		r.Body = http.MaxBytesReader(w, r.Body, maxForm)
		_ = http.NewResponseController(w).SetReadDeadline(time.Now().Add(readTimeout))
		err = answer(v)
	}
	if err == nil {
		return
	}
	if r.Context().Err() != nil {
		panic(http.ErrAbortHandler) // the client has gone
	}
	status, message, hint := p.Status(err), err.Error(), fault.HintOf(err)
	switch code := fault.CodeOf(err); {
	case errors.Is(err, errForm):
		status = http.StatusBadRequest
	case code == fault.StoreUnavailable:
		message, hint = "The store does not answer. The log of the server has the reason.", "Try again in some seconds."
	case code.Class() == fault.ClassInternal:
		message, hint = "The server failed to answer. Its log has the reason.", ""
	}
	if status >= http.StatusInternalServerError {
		p.Logger.Error("a page failed", "error", err)
	}
	p.write(v, status, "error", page{Title: http.StatusText(status), Data: struct{ Message, Hint string }{message, hint}})
}

const readTimeout = 30 * time.Second

// errForm is a form that the page did not make.
var errForm = errors.New("the form cannot be read")

// head sets what each answer has.
func head(w http.ResponseWriter) {
	h := w.Header()
	h.Set("Content-Security-Policy", contents)
	h.Set("Referrer-Policy", "same-origin")
	h.Set("Cross-Origin-Opener-Policy", "same-origin")
	h.Set("X-Frame-Options", "DENY")
	h.Set("Cache-Control", "no-store")
}

// page is what a template gets.
type page struct {
	Title string
	At    string // the path in the navigation
	Live  string // where the page learns that there is something new
	Who   service.Principal
	CSS   string
	JS    string
	Next  string
	Data  any
}

// May reports whether the person who is signed in has a scope.
func (p page) May(scope string) bool { return p.Who.Has(store.Scope(scope)) }

// MayReveal reports whether values are shown to the person.
func (p page) MayReveal() bool { return p.Who.Type == store.TypePerson && p.May("reveal") }

// write renders a page.
func (p *Pages) write(v *view, status int, name string, pg page) {
	pg.Who, pg.CSS, pg.JS = v.who, assetURL("page.css"), assetURL("page.js")
	var b bytes.Buffer
	if err := templates().ExecuteTemplate(&b, name, pg); err != nil {
		p.Logger.Error("cannot render a page", "page", name, "error", err)
		http.Error(v.w, "the server failed to answer; its log has the reason", http.StatusInternalServerError)
		return
	}
	v.w.Header().Set("Content-Type", "text/html; charset=utf-8")
	send(v.w, v.r, status, b.Bytes())
}

// minSent is what is worth compressing.
const minSent = 1400

// send sends a body, compressed if the browser takes that.
func send(w http.ResponseWriter, r *http.Request, status int, body []byte) {
	w.Header().Add("Vary", "Accept-Encoding")
	if len(body) < minSent || !strings.Contains(r.Header.Get("Accept-Encoding"), "gzip") {
		w.WriteHeader(status)
		_, _ = w.Write(body)
		return
	}
	w.Header().Set("Content-Encoding", "gzip")
	w.WriteHeader(status)
	z := gzip.NewWriter(w)
	_, _ = z.Write(body)
	_ = z.Close()
}

// show renders a page that was found.
func (p *Pages) show(v *view, name string, pg page) error {
	p.write(v, http.StatusOK, name, pg)
	return nil
}

//go:embed assets
var assets embed.FS

// templates are parsed when the first page is shown.
var templates = sync.OnceValue(func() *template.Template {
	return template.Must(template.New("").Funcs(functions).ParseFS(assets, "assets/*.html"))
})

// digests has the version of each asset, which is a part of its address.
var digests = sync.OnceValue(func() map[string]string {
	all := map[string]string{}
	for _, name := range []string{"page.css", "page.js"} {
		data, err := fs.ReadFile(assets, "assets/"+name)
		if err != nil {
			panic(err) // embedded
		}
		all[name] = digestOf(data)[:16]
	}
	return all
})

// digestOf is the SHA-256 of data in hexadecimal digits.
func digestOf(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}

func assetURL(name string) string { return "/assets/" + name + "?v=" + digests()[name] }

// serveAsset serves the style and the script of the pages. They need no token: the page
// for signing in has them.
func serveAsset(w http.ResponseWriter, r *http.Request) {
	name := r.PathValue("name")
	version, ok := digests()[name]
	if !ok {
		http.NotFound(w, r)
		return
	}
	if r.URL.Query().Get("v") == version {
		w.Header().Set("Cache-Control", "public, max-age=31536000, immutable")
	}
	data, err := fs.ReadFile(assets, "assets/"+name)
	if err != nil {
		panic(err) // embedded
	}
	w.Header().Set("Content-Type", mime.TypeByExtension(path.Ext(name)))
	send(w, r, http.StatusOK, data)
}

// cookie is the name of the cookie with the token. Over TLS its prefix binds it to this
// host and to TLS.
func (p *Pages) cookie(r *http.Request) (name string, secure bool) {
	if p.Secure || r.TLS != nil {
		return securePrefix + cookieName, true
	}
	return cookieName, false
}

const (
	cookieName   = "wexec"
	securePrefix = "__Host-"
)

// tokenOf returns the token of a request: that of the header, or else of the cookie. A
// cookie without its prefix does not count over TLS, where another host of the domain
// may have set it.
func tokenOf(r *http.Request) string {
	if kind, token, ok := strings.Cut(r.Header.Get("Authorization"), " "); ok && strings.EqualFold(kind, "bearer") {
		return strings.TrimSpace(token)
	}
	names := []string{securePrefix + cookieName}
	if r.TLS == nil {
		names = append(names, cookieName)
	}
	for _, name := range names {
		if c, err := r.Cookie(name); err == nil {
			return c.Value
		}
	}
	return ""
}

// signIn takes the token of a person and sets the cookie.
func (p *Pages) signIn(w http.ResponseWriter, r *http.Request) {
	head(w)
	r.Body = http.MaxBytesReader(w, r.Body, maxForm)
	if err := r.ParseForm(); err != nil {
		p.signInPage(w, r, errForm)
		return
	}
	token := strings.TrimSpace(r.PostForm.Get("token"))
	if _, err := p.Admit(w, r, token); err != nil {
		p.signInPage(w, r, err)
		return
	}
	name, secure := p.cookie(r)
	http.SetCookie(w, &http.Cookie{Name: name, Value: token, Path: "/", HttpOnly: true, Secure: secure, SameSite: http.SameSiteStrictMode})
	http.Redirect(w, r, local(r.PostForm.Get("next")), http.StatusSeeOther)
}

// signOut removes the cookie.
func (p *Pages) signOut(w http.ResponseWriter, r *http.Request) {
	head(w)
	name, secure := p.cookie(r)
	http.SetCookie(w, &http.Cookie{Name: name, Path: "/", MaxAge: -1, HttpOnly: true, Secure: secure, SameSite: http.SameSiteStrictMode})
	http.Redirect(w, r, "/", http.StatusSeeOther)
}

// signInPage asks for a token, where another page was requested.
func (p *Pages) signInPage(w http.ResponseWriter, r *http.Request, err error) {
	data := struct{ Message string }{}
	status := p.Status(err)
	switch {
	case errors.Is(err, errForm):
		status, data.Message = http.StatusBadRequest, "The form could not be read."
	case status >= http.StatusInternalServerError:
		p.Logger.Error("cannot sign in", "error", err)
		data.Message = "The server cannot check tokens now. Its log has the reason."
	case r.Method == http.MethodPost && r.URL.Path == "/signin", tokenOf(r) != "":
		data.Message = err.Error()
	}
	next := r.URL.RequestURI()
	if r.Method != http.MethodGet {
		next = local(r.PostFormValue("next"))
	}
	p.write(&view{w: w, r: r}, status, "signin", page{Title: "Sign in", Next: next, Data: data})
}

// local returns a path of this server, or "/": nothing that a link brings leads to
// another host.
func local(next string) string {
	u, err := url.Parse(next)
	if err != nil || u.Scheme != "" || u.Host != "" || u.User != nil || !strings.HasPrefix(next, "/") || strings.HasPrefix(next, "//") || strings.Contains(next, `\`) {
		return "/"
	}
	return next
}

// redirect leads the browser from a form to a page.
func redirect(v *view, to string) error {
	http.Redirect(v.w, v.r, to, http.StatusSeeOther)
	return nil
}
