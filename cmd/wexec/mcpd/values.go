package mcpd

import (
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/wexec/wexec/internal/text"
)

const (
	maxValues  = 64 << 20 // bytes of kept values of all clients
	valuesRoot = "wexec://values/"
)

// values are values and outputs that were too large for an answer. The zero value
// is empty.
type values struct {
	mu   sync.Mutex
	list []value // the oldest first
	size int
}

type value struct {
	owner, uri, mime string
	data             []byte
	until            time.Time
}

// put keeps data of a run and returns a link to it. The oldest values are dropped
// if there are too many.
func (vs *values) put(r *run, name, mime string, data []byte) *mcp.ResourceLink {
	uri := valuesRoot + r.id + "/" + name
	size := int64(len(data))
	vs.mu.Lock()
	defer vs.mu.Unlock()
	now := time.Now()
	vs.dropIf(func(v value) bool { return now.After(v.until) || v.owner == r.owner && v.uri == uri })
	vs.list = append(vs.list, value{r.owner, uri, mime, data, now.Add(keepFor)})
	vs.size += len(data)
	for vs.size > maxValues && len(vs.list) > 1 {
		vs.size -= len(vs.list[0].data)
		vs.list = vs.list[1:]
	}
	return &mcp.ResourceLink{URI: uri, Name: name, MIMEType: mime, Size: &size}
}

// get returns a value of an owner.
func (vs *values) get(owner, uri string) (value, bool) {
	vs.mu.Lock()
	defer vs.mu.Unlock()
	at := slices.IndexFunc(vs.list, func(v value) bool { return v.uri == uri && v.owner == owner && time.Now().Before(v.until) })
	if at < 0 {
		return value{}, false
	}
	return vs.list[at], true
}

// drop drops the values of an owner.
func (vs *values) drop(owner string) {
	vs.mu.Lock()
	defer vs.mu.Unlock()
	vs.dropIf(func(v value) bool { return v.owner == owner })
}

func (vs *values) dropIf(match func(value) bool) {
	vs.list = slices.DeleteFunc(vs.list, func(v value) bool {
		if match(v) {
			vs.size -= len(v.data)
			return true
		}
		return false
	})
}

// clip returns the start of s in at most n bytes, and the size of s if it is
// longer.
func clip(s string, n int) string {
	if len(s) <= n {
		return s
	}
	return fmt.Sprintf("%s (%d bytes in all)", text.Clip(s, n), len(s))
}
