// Package servecmd has the command wexec serve.
package servecmd

import (
	"context"
	"crypto/tls"
	"log/slog"
	"net"
	"net/http"
	"os"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/wexec/wexec/cmd/wexec/httpd"
	"github.com/wexec/wexec/cmd/wexec/internal/otlp"
	"github.com/wexec/wexec/cmd/wexec/internal/terminal"
	"github.com/wexec/wexec/cmd/wexec/mcpd"
	"github.com/wexec/wexec/config"
	"github.com/wexec/wexec/fault"
	"github.com/wexec/wexec/service"
	"github.com/wexec/wexec/store"
)

// grace is how long a server that stops waits for its runs.
const grace = 30 * time.Second

// Commands makes the command of an invocation.
type Commands struct {
	Env     *config.Environment
	Term    *terminal.Printer
	Version string
}

// Serve is wexec serve.
func (c Commands) Serve() *cli.Command {
	return &cli.Command{
		Name:  "serve",
		Usage: "serve runs, approvals and tools to programs and agents over HTTP",
		Description: "The API is under /v1, its OpenAPI document at /v1/openapi.json, and MCP at /mcp. The first start prints\n" +
			"a token. What programs may reach is in the files policy.yaml and mcp.json of tenants/default in the data folder.\n" +
			"SIGTERM ends the server after its runs, SIGHUP reads the files of the tenants again.",
		Flags: []cli.Flag{
			&cli.StringFlag{Name: "listen", Usage: "`ADDR`: the address, HOST:PORT or PORT for this machine only", Value: "127.0.0.1:8080"},
			&cli.StringFlag{Name: "store", Usage: "`URL`: the store, sqlite:FILE or postgres://USER@HOST/DATABASE (default wexec.db in the data folder)"},
			&cli.StringFlag{Name: "data", Usage: "`DIR`: the data folder (default $XDG_DATA_HOME/wexec)", TakesFile: true},
			&cli.StringFlag{Name: "key", Usage: "`FILE`: the seal key, which all servers of a store share (default seal.key in the data folder)", TakesFile: true},
			&cli.StringFlag{Name: "blobs", Usage: "`DIR`: keep the content of artifacts there, or in s3://BUCKET/PREFIX?endpoint=URL (default blobs in the data folder)"},
			&cli.StringFlag{Name: "tls-cert", Usage: "`FILE`: the certificate of the server, with its chain", TakesFile: true},
			&cli.StringFlag{Name: "tls-key", Usage: "`FILE`: the private key of the certificate", TakesFile: true},
			&cli.BoolFlag{Name: "behind-proxy", Usage: "clients come through a proxy that encrypts"},
			&cli.IntFlag{Name: "max-runs", Usage: "`N`: run at most N programs at once; further ones wait in the store", Value: 256},
			&cli.StringFlag{Name: "log", Usage: "`LEVEL`: debug, info, warn or error", Value: "info"},
			&cli.StringFlag{Name: "access-log", Usage: "`FILE`: add a line of JSON for each request, without what clients wrote; /dev/stderr for the terminal", TakesFile: true},
			&cli.BoolFlag{Name: "ready", Usage: "ask the server at --listen whether it takes work, and exit with 0 if it does"},
			&cli.BoolFlag{Name: "check", Usage: "check flags, store and the files of tenants, and exit"},
		},
		Action: c.serve,
	}
}

func (c Commands) serve(ctx *cli.Context) error {
	if ctx.Args().Len() > 0 {
		return fault.New(fault.UsageFlag, "wexec serve takes no arguments, but has %q", ctx.Args().First())
	}
	security, err := c.tls(ctx)
	if err != nil {
		return err
	}
	address, err := addressOf(ctx.String("listen"), security != nil || ctx.Bool("behind-proxy"))
	if err != nil {
		return err
	}
	if ctx.Bool("ready") {
		return askReady(ctx.Context, address, security != nil)
	}
	data, err := c.Env.DataDir(ctx.String("data"))
	if err != nil {
		return err
	}
	if err := os.MkdirAll(data, 0o700); err != nil {
		return fault.New(fault.UsageFile, "make the data folder: %w", err)
	}
	location, err := c.Env.Store(ctx.String("store"), data)
	if err != nil {
		return err
	}
	s, err := store.Open(ctx.Context, location, store.Options{})
	if err != nil {
		return err
	}
	defer func() { _ = s.Close() }()
	logger := terminal.Logger(c.Term, ctx.String("log"))
	tracing, stop := otlp.Start(c.Env, c.Version, logger)
	defer stop()
	content := ctx.String("blobs")
	if !strings.HasPrefix(content, "s3://") {
		content = c.path(content)
	}
	keys, err := service.OpenKeys(ctx.Context, s, c.Env, data, c.path(ctx.String("key")))
	if err != nil {
		return err
	}
	served, err := service.Open(ctx.Context, service.Options{Store: s, Data: data, Blobs: content, Keys: keys, Env: c.Env, Version: c.Version, Logger: logger, Tracing: tracing, Running: ctx.Int("max-runs"), Address: schemeOf(security) + "://" + address})
	if err != nil {
		return err
	}
	defer func() { _ = served.Close() }()
	if ctx.Bool("check") {
		c.Term.Note("the flags, the store and the files of the tenants can be used")
		return nil
	}
	requests, err := c.accessLog(ctx.String("access-log"))
	if err != nil {
		return err
	}
	server, err := httpd.New(httpd.Options{Service: served, Logger: logger, Access: requests, Proxied: ctx.Bool("behind-proxy")})
	if err != nil {
		return err
	}
	listener, err := (&net.ListenConfig{}).Listen(ctx.Context, "tcp", address)
	if err != nil {
		return fault.New(fault.UsageFlag, "listen at %s: %w", address, err)
	}
	scheme := schemeOf(security)
	c.Term.Print("the API is at %s://%s/v1, MCP at %s://%s%s", scheme, listener.Addr(), scheme, listener.Addr(), mcpd.Path)
	if err := c.firstToken(ctx.Context, served, data); err != nil {
		_ = listener.Close()
		return err
	}
	defer reloadAtHangup(ctx.Context, served, logger)()
	return server.Serve(ctx.Context, listener, security, grace)
}

// firstToken makes a token if the store has none, and prints it.
func (c Commands) firstToken(ctx context.Context, s *service.Service, data string) error {
	all, err := s.Store().Tokens(ctx, "")
	if err != nil || len(all) > 0 {
		return err
	}
	secret, _, err := s.CreateToken(ctx, store.Token{Tenant: service.DefaultTenant, Name: "admin", Type: store.TypePerson, Scopes: []store.Scope{store.ScopeAdmin}})
	if err != nil {
		return err
	}
	c.Term.Print("the token of the administrator, which is shown this once:  %s", secret)
	c.Term.Print("programs may call tools after you write policy.yaml and mcp.json in %s", filepath.Join(data, "tenants", service.DefaultTenant))
	return nil
}

// accessLog returns the log of requests in a file, or nil without a name.
func (c Commands) accessLog(name string) (*slog.Logger, error) {
	if name == "" {
		return nil, nil
	}
	f, err := os.OpenFile(c.path(name), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, fault.New(fault.UsageFile, "open the access log: %w", err)
	}
	return slog.New(slog.NewJSONHandler(f, nil)), nil // the process ends with its server
}

// tls returns the certificate of the server, or nil.
func (c Commands) tls(ctx *cli.Context) (*tls.Config, error) {
	cert, key := ctx.String("tls-cert"), ctx.String("tls-key")
	switch {
	case cert == "" && key == "":
		return nil, nil
	case cert == "" || key == "":
		return nil, fault.New(fault.UsageFlag, "--tls-cert and --tls-key belong together")
	}
	pair, err := tls.LoadX509KeyPair(c.path(cert), c.path(key))
	if err != nil {
		return nil, fault.New(fault.UsageFile, "read the certificate: %w", err)
	}
	return &tls.Config{Certificates: []tls.Certificate{pair}, MinVersion: tls.VersionTLS12}, nil
}

// path resolves a path of the command line; "" stays.
func (c Commands) path(name string) string {
	if name == "" || filepath.IsAbs(name) {
		return name
	}
	return filepath.Join(c.Env.Dir, name)
}

func schemeOf(security *tls.Config) string {
	if security != nil {
		return "https"
	}
	return "http"
}

// addressOf completes an address. One that other machines reach must be encrypted.
func addressOf(text string, encrypted bool) (string, error) {
	if _, err := strconv.ParseUint(text, 10, 16); err == nil {
		text = ":" + text
	}
	host, port, err := net.SplitHostPort(text)
	if err != nil {
		return "", fault.New(fault.UsageFlag, "--listen: invalid address %q", text).WithHint("use HOST:PORT, or PORT for this machine only")
	}
	if host == "" {
		host = "127.0.0.1"
	}
	if ip := net.ParseIP(host); !encrypted && host != "localhost" && (ip == nil || !ip.IsLoopback()) {
		return "", fault.New(fault.UsageFlag, "--listen: other machines can reach %s, and their tokens would not be encrypted", net.JoinHostPort(host, port)).
			WithHint("set --tls-cert and --tls-key, or --behind-proxy if a proxy encrypts")
	}
	return net.JoinHostPort(host, port), nil
}

// askReady asks the server at an address of this machine whether it takes work. The
// answer has no secrets, so the certificate need not name the address.
func askReady(ctx context.Context, address string, encrypted bool) error {
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		return err
	}
	if ip := net.ParseIP(host); ip != nil && ip.IsUnspecified() {
		host = "localhost"
	}
	scheme, client := "http", &http.Client{Timeout: 5 * time.Second}
	if encrypted {
		scheme = "https"
		client.Transport = &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}} //nolint:gosec // see above
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, scheme+"://"+net.JoinHostPort(host, port)+"/ready", nil)
	if err != nil {
		return err
	}
	res, err := client.Do(req)
	if err != nil {
		return fault.New(fault.UpstreamUnavailable, "ask the server at %s: %w", address, err)
	}
	defer func() { _ = res.Body.Close() }()
	if res.StatusCode != http.StatusOK {
		return fault.New(fault.UpstreamUnavailable, "the server at %s takes no work: %s", address, res.Status)
	}
	return nil
}

// reloadAtHangup reads the files of the tenants again at SIGHUP, until stop is
// called.
func reloadAtHangup(ctx context.Context, s *service.Service, logger *slog.Logger) (stop func()) {
	hangups := make(chan os.Signal, 1)
	signal.Notify(hangups, syscall.SIGHUP)
	done := make(chan struct{})
	go func() {
		defer close(done)
		for range hangups {
			if err := s.Reload(ctx); err != nil {
				logger.Error("files of tenants cannot be used, their last ones still apply", "error", err)
				continue
			}
			logger.Info("the files of the tenants are read again")
		}
	}()
	return func() {
		signal.Stop(hangups)
		close(hangups)
		<-done
	}
}
