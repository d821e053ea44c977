package httpd

import (
	"encoding/json"
	"net/http"
	"time"

	"github.com/wexec/wexec/audit"
	"github.com/wexec/wexec/service"
)

// verified is what was found in the chain of a tenant that this server keeps, and in the
// store.
type verified struct {
	OK       bool                  `json:"ok"`
	Records  int                   `json:"records"`
	Segments []audit.SegmentReport `json:"segments"`
	Problems []audit.Problem       `json:"problems"`
	Sealed   []chain               `json:"sealed"`
}

// chain is what was found in the closed segments of a chain that are in the store.
type chain struct {
	ID       string                `json:"chain"`
	Records  int                   `json:"records"`
	Segments []audit.SegmentReport `json:"segments"`
	Problems []audit.Problem       `json:"problems"`
}

func verifyAudit(s *Server, c *call, _ none) (verified, error) {
	r, kept, err := s.service.VerifyAudit(c.context(), c.who)
	out := verified{r.OK(), r.Records, append([]audit.SegmentReport{}, r.Segments...), append([]audit.Problem{}, r.Problems...), []chain{}}
	for _, k := range kept {
		out.OK = out.OK && k.OK()
		out.Sealed = append(out.Sealed, chain{k.ID, k.Records, append([]audit.SegmentReport{}, k.Segments...), append([]audit.Problem{}, k.Problems...)})
	}
	return out, err
}

type exportInput struct {
	Run   string    `query:"run" doc:"records of this run"`
	Since time.Time `query:"since" doc:"records of this time or later"`
	Until time.Time `query:"until" doc:"records before this time"`
}

// exportAudit sends the records of the chain, a line for each.
func exportAudit(s *Server, c *call) error {
	query := c.r.URL.Query()
	f := service.AuditFilter{Run: query.Get("run")}
	for name, to := range map[string]*time.Time{"since": &f.Since, "until": &f.Until} {
		text := query.Get(name)
		if text == "" {
			continue
		}
		at, err := time.Parse(time.RFC3339, text)
		if err != nil {
			return invalid("%s: must be a time of RFC 3339, such as 2026-05-01T12:00:00Z", name)
		}
		*to = at
	}
	flow := http.NewResponseController(c.w)
	begun := false
	lines := json.NewEncoder(c.w)
	for record, err := range s.service.Audit(c.context(), c.who, f) {
		if err != nil {
			if begun { // the client sees that the answer is cut off
				panic(http.ErrAbortHandler)
			}
			return err
		}
		if !begun {
			begun = true
			c.w.Header().Set("Content-Type", c.route.media)
			c.w.Header().Set("Cache-Control", "no-store")
		}
		_ = flow.SetWriteDeadline(time.Now().Add(writeTimeout))
		if lines.Encode(record) != nil {
			return nil // the client has gone
		}
	}
	if !begun {
		c.w.Header().Set("Content-Type", c.route.media)
	}
	return nil
}
