package httpd

import (
	"bufio"
	"fmt"
	"net/http"
	"strings"
)

type event struct {
	id   int64
	kind string
	data []byte
}

// events reads the event stream of a run to its end.
func (a *api) events(token, run, last string) (all []event) {
	a.t.Helper()
	req, _ := http.NewRequestWithContext(a.t.Context(), "GET", a.url+"/v1/runs/"+run+"/events", nil)
	req.Header.Set("Authorization", "Bearer "+a.tokens[token])
	if last != "" {
		req.Header.Set("Last-Event-ID", last)
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil || res.StatusCode != 200 || res.Header.Get("Content-Type") != "text/event-stream" {
		a.t.Fatal(res, err)
	}
	defer res.Body.Close()
	var e event
	for lines := bufio.NewScanner(res.Body); lines.Scan(); {
		switch name, value, _ := strings.Cut(lines.Text(), ": "); name {
		case "id":
			_, _ = fmt.Sscan(value, &e.id)
		case "event":
			e.kind = value
		case "data":
			e.data = []byte(value)
			all = append(all, e)
		}
	}
	return all
}
