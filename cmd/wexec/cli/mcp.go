package cli

import (
	"context"
	"crypto/rand"
	"fmt"
	"net"
	"os"
	"runtime"
	"strconv"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/wexec/wexec/cmd/wexec/mcpd"
	"github.com/wexec/wexec/config"
	"github.com/wexec/wexec/fault"
)

func (d *door) mcpCommand() *cli.Command {
	flags := []cli.Flag{
		&cli.StringFlag{Name: "http", Usage: "`ADDR`: serve many clients over HTTP there (127.0.0.1:7350), in place of one over stdio"},
		&cli.StringFlag{Name: "token-file", Usage: "`FILE`: the bearer token of HTTP (default WEXEC_HTTP_TOKEN, else one is made up and shown)", TakesFile: true},
		&cli.StringSliceFlag{Name: "allow-host", Usage: "`NAME`: a host under which HTTP clients reach this server"},
		&cli.StringSliceFlag{Name: "allow-origin", Usage: "`ORIGIN`: a web site whose pages may call (https://app.example.com)"},
		&cli.StringFlag{Name: "oauth-issuer", Usage: "`URL`: take access tokens of this authorization server"},
		&cli.StringFlag{Name: "oauth-resource", Usage: "`URL`: of this server, as access tokens have to name it (default where it listens)"},
		&cli.StringSliceFlag{Name: "oauth-scope", Usage: "`SCOPE`: what access tokens have to grant"},
		&cli.IntFlag{Name: "max-clients", Usage: "`N`: how many HTTP clients at once", Value: 64},
	}
	flags = append(flags, &cli.StringFlag{Name: "project", Category: configuration, Usage: "`DIR`: work as if started there, with its wexec.yaml and policy.yaml", TakesFile: true})
	flags = append(flags, settingFlags()...)
	flags = append(flags, limitFlags()...)
	return &cli.Command{
		Name:        "mcp",
		Usage:       "be an MCP server for agents, over stdio or HTTP",
		Flags:       flags,
		Subcommands: []*cli.Command{d.installCommand(), d.importCommand(), d.loginCommand()},
		Action: func(ctx *cli.Context) error {
			if ctx.Args().Len() > 0 {
				return unknownCommand(ctx, ctx.Command.Subcommands, "mcp ")
			}
			if dir := ctx.String("project"); dir != "" {
				if err := d.workIn(d.path(dir)); err != nil {
					return err
				}
			}
			settings, err := d.settings(ctx)
			if err != nil {
				return err
			}
			host, err := settings.Open(ctx.Context, config.Options{Env: d.inv.Env, Version: d.inv.Version, Logger: d.logger(settings.Log)})
			if err != nil {
				return err
			}
			defer func() { _ = host.Close() }()
			server := mcpd.New(mcpd.Options{
				Engine: host.Engine, Table: host.Table, Limits: settings.Limits, Env: d.inv.Env.Map(), Dir: d.inv.Env.Dir,
				Asker: host.Approvals, Logger: d.logger(settings.Log), Version: d.inv.Version,
			})
			if ctx.IsSet("http") {
				return d.serveHTTP(ctx, server)
			}
			if d.canAsk() {
				d.voice.note("this is an MCP server that speaks JSON-RPC on standard input; a client starts it (Ctrl-C ends it)")
			}
			return server.Stdio(ctx.Context, d.inv.Stdin, d.inv.Stdout)
		},
	}
}

// workIn goes on as if the command had been started in a folder.
func (d *door) workIn(dir string) error {
	if info, err := os.Stat(dir); err != nil || !info.IsDir() {
		return fault.New(fault.UsageFile, "open the project: %s is no folder", dir)
	}
	env := *d.inv.Env
	env.Dir = dir
	d.inv.Env = &env
	return nil
}

// serveHTTP listens and says where, and with which token.
func (d *door) serveHTTP(ctx *cli.Context, server *mcpd.Server) error {
	if !ctx.IsSet("oauth-issuer") && (ctx.IsSet("oauth-resource") || ctx.IsSet("oauth-scope")) {
		return fault.New(fault.UsageFlag, "--oauth-resource and --oauth-scope say nothing without an issuer").WithHint("--oauth-issuer URL")
	}
	token, made, err := d.token(ctx.String("token-file"))
	if err != nil {
		return err
	}
	if made && ctx.IsSet("oauth-issuer") {
		token, made = "", false // people log in; nobody needs one that is made up
	}
	l, err := listen(ctx.Context, ctx.String("http"))
	if err != nil {
		return err
	}
	d.voice.say("MCP over HTTP at http://%s%s", l.Addr(), mcpd.Path)
	if made {
		d.voice.say("every request needs the header  Authorization: Bearer %s", token)
	}
	if tcp, ok := l.Addr().(*net.TCPAddr); ok && !tcp.IP.IsLoopback() {
		d.voice.warn("other machines can reach this address, and HTTP does not hide the token: put TLS in front of it")
		if tcp.IP.IsUnspecified() && len(ctx.StringSlice("allow-host")) == 0 {
			d.voice.hint("name the host that clients use: --allow-host NAME")
		}
	}
	o := mcpd.HTTPOptions{Token: token, Hosts: ctx.StringSlice("allow-host"), Origins: ctx.StringSlice("allow-origin"), Sessions: ctx.Int("max-clients")}
	if ctx.IsSet("oauth-issuer") {
		o.OAuth = &mcpd.OAuth{Issuer: ctx.String("oauth-issuer"), Resource: ctx.String("oauth-resource"), Scopes: ctx.StringSlice("oauth-scope")}
		if o.OAuth.Resource == "" {
			o.OAuth.Resource = "http://" + l.Addr().String() + mcpd.Path
		}
		d.voice.say("every request needs an access token of %s for %s", o.OAuth.Issuer, o.OAuth.Resource)
	}
	return server.HTTP(ctx.Context, l, o)
}

// listen opens an address. One without a host is of this machine only.
func listen(ctx context.Context, address string) (net.Listener, error) {
	if _, err := strconv.ParseUint(address, 10, 16); err == nil {
		address = ":" + address
	}
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		return nil, fault.New(fault.UsageFlag, "--http %s is no address", address).WithHint("write HOST:PORT, or PORT for this machine only")
	}
	if host == "" {
		host = "127.0.0.1"
	}
	l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", net.JoinHostPort(host, port))
	if err != nil {
		return nil, fault.New(fault.UsageFlag, "listen at %s: %w", address, err)
	}
	return l, nil
}

// token is the bearer token of a file, of the environment, or a fresh one.
func (d *door) token(file string) (token string, made bool, err error) {
	if file != "" {
		path := d.path(file)
		data, err := readBounded(path)
		if err != nil {
			return "", false, err
		}
		if info, err := os.Stat(path); err == nil && runtime.GOOS != "windows" && info.Mode().Perm()&0o077 != 0 {
			d.voice.warn("%s can be read by others: chmod 600 %s", file, file)
		}
		return strings.TrimSpace(string(data)), false, nil
	}
	if v, ok := d.inv.Env.Lookup("WEXEC_HTTP_TOKEN"); ok && v != "" {
		return v, false, nil
	}
	return rand.Text(), true, nil
}

func (d *door) promptCommand() *cli.Command {
	return &cli.Command{
		Name: "prompt", Usage: "print a system prompt that teaches a model to write programs",
		Flags: append([]cli.Flag{
			&cli.StringFlag{Name: "model", Usage: "`FAMILY`: " + strings.Join(mcpd.Families(), ", "), Value: "claude"},
			&cli.IntFlag{Name: "budget", Usage: "`N`: how many tokens it may have", Value: 600}}, settingFlags()...),
		Action: func(ctx *cli.Context) error {
			settings, err := d.settings(ctx)
			if err != nil {
				return err
			}
			var servers []string
			for _, s := range settings.Servers {
				servers = append(servers, s.Name)
			}
			text, ok := mcpd.Prompt(ctx.String("model"), servers, ctx.Int("budget"))
			if !ok {
				return fault.New(fault.UsageFlag, "there is no prompt for %q", ctx.String("model")).WithHint("one of %s", strings.Join(mcpd.Families(), ", "))
			}
			if text == "" {
				return fault.New(fault.UsageFlag, "--budget %d is too small for what has to be said", ctx.Int("budget")).WithHint("200 tokens say it without examples, 600 with all")
			}
			_, err = fmt.Fprintln(d.inv.Stdout, text)
			return err
		},
	}
}
