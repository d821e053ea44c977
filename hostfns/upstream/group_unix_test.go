//go:build unix

package upstream

import (
	"os"
	"os/user"
	"strings"
	"testing"
)

func TestAServerRunsAsItsUser(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("needs root")
	}
	nobody, err := user.Lookup("nobody")
	if err != nil {
		t.Fatal(err)
	}
	s := Server{Name: "s", Command: "/bin/sh", Args: []string{"-c", `echo "$(id -u) $(id -g) $(id -G) $USER $HOME $(pwd)"`}, User: "nobody", Env: map[string]string{"HOME": "/root", "USER": "root"}}
	p, err := start(s, os.Environ(), platformEnding(), nil)
	if err != nil {
		t.Fatal(err)
	}
	text := make([]byte, 1000)
	n, _ := p.stdout.Read(text)
	go p.reap()
	p.stop()
	want := strings.Join([]string{nobody.Uid, nobody.Gid, nobody.Gid, "nobody", nobody.HomeDir, "/"}, " ") + "\n"
	if got := string(text[:n]); got != want {
		t.Errorf("the server is %q, want %q", got, want)
	}
	s.User = "no-such-user"
	if _, err := start(s, os.Environ(), platformEnding(), nil); err == nil || !strings.Contains(err.Error(), "no-such-user") {
		t.Errorf("a server of an unknown user: %v", err)
	}
}
