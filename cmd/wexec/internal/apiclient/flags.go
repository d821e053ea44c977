package apiclient

import (
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/wexec/wexec/cmd/wexec/internal/terminal"
	"github.com/wexec/wexec/config"
	"github.com/wexec/wexec/fault"
)

// Flags are the flags that name a server and its token. address says what holds
// without an address.
func Flags(address string) []cli.Flag {
	return []cli.Flag{
		&cli.StringFlag{Name: "server", Usage: "`URL`: ask the server of wexec serve at this address (" + address + ")"},
		&cli.StringFlag{Name: "token-file", Usage: "`FILE`: the token for the server (default WEXEC_TOKEN_FILE)", TakesFile: true},
		&cli.BoolFlag{Name: "allow-http", Usage: "send the token to another machine without encryption"},
	}
}

// Open returns a client of the server that the flags of a command name, or that address
// names where they do not.
func Open(ctx *cli.Context, env *config.Environment, term *terminal.Printer, address string) (*Client, error) {
	if given := ctx.String("server"); given != "" {
		address = given
	}
	token, err := readToken(ctx.String("token-file"), env, term)
	if err != nil {
		return nil, err
	}
	return New(address, token, ctx.Bool("allow-http"))
}

// Address is that of WEXEC_SERVER, or "".
func Address(env *config.Environment) string {
	address, _ := env.Lookup("WEXEC_SERVER")
	return address
}

// maxToken bounds the file of a token.
const maxToken = 4 << 10

// readToken reads the token in a file that a flag or the environment names. A token
// is in no flag, since other users of a machine can read those.
func readToken(name string, env *config.Environment, term *terminal.Printer) (string, error) {
	if name == "" {
		name, _ = env.Lookup("WEXEC_TOKEN_FILE")
	}
	if name == "" {
		return "", fault.New(fault.UsageFlag, "there is no token for the server").WithHint("set --token-file or WEXEC_TOKEN_FILE to a file with a token")
	}
	path := name
	if !filepath.IsAbs(path) {
		path = filepath.Join(env.Dir, path)
	}
	f, err := os.Open(path)
	if err != nil {
		return "", fault.New(fault.UsageFile, "read the token: %w", err)
	}
	defer f.Close()
	if info, err := f.Stat(); err == nil && info.Mode().IsRegular() && runtime.GOOS != "windows" && info.Mode().Perm()&0o077 != 0 {
		term.Warn("other users can read %s: run chmod 600 %s", name, name)
	}
	data, err := io.ReadAll(io.LimitReader(f, maxToken+1))
	if err != nil {
		return "", fault.New(fault.UsageFile, "read the token: %w", err)
	}
	token := strings.TrimSpace(string(data))
	if token == "" || len(data) > maxToken || strings.ContainsFunc(token, func(r rune) bool { return r <= ' ' || r > '~' }) {
		return "", fault.New(fault.UsageFile, "%s does not have a token", name).WithHint("write the token of wexec token create to it, and nothing else")
	}
	return token, nil
}
