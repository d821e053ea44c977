package hostfns

import (
	"strings"

	"github.com/wexec/wexec/audit"
)

// Digests gives the digests of what servers listed, by server, and that of the
// pins that their tools are held to. A server that has not listed its tools is
// missing; one whose tools have changed since is there with an empty digest.
func (t *Table) Digests() (servers map[string]string, pins string) {
	servers = map[string]string{}
	t.mu.Lock()
	for _, name := range t.names {
		switch l := t.listings[name]; {
		case l != nil && l.ready() && l.err == nil:
			servers[name] = l.digest()
		case t.stale[name]:
			servers[name] = ""
		}
	}
	t.mu.Unlock()
	if list := t.pins().List(); len(list) > 0 {
		var b strings.Builder
		for _, p := range list {
			b.WriteString(p.Tool + "\n" + p.SHA256 + "\n")
		}
		pins = audit.Digest([]byte(b.String()))
	}
	return servers, pins
}

// digest is that of a listing that is ready.
func (l *listing) digest() string {
	l.summed.Do(func() { l.sum = l.cat.Digest() })
	return l.sum
}
