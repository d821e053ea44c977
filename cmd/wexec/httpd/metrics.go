package httpd

import (
	"net/http"
	"time"

	"github.com/wexec/wexec/engine"
	"github.com/wexec/wexec/fault"
	"github.com/wexec/wexec/service/metrics"
	"github.com/wexec/wexec/store"
)

// serveMetrics answers with the metrics of the server in the text format of Prometheus.
func serveMetrics(s *Server, c *call) error {
	from := s.service.Store()
	queue, err := from.Queue(c.context(), store.KindRun, "")
	if err != nil {
		return err
	}
	now := metrics.Now{Queue: int(queue.Waiting), Memory: s.service.Engine().Memory(), Sandboxes: map[engine.RunState]int{}}
	if !queue.Oldest.IsZero() {
		now.Oldest = max(0, time.Since(queue.Oldest))
	}
	if now.Approvals, err = from.WaitingApprovals(c.context()); err != nil {
		return err
	}
	for _, run := range s.service.Engine().Runs() {
		now.Sandboxes[run.State]++
	}
	c.w.Header().Set("Content-Type", c.route.media)
	c.w.WriteHeader(http.StatusOK)
	if err := s.service.Metrics().Write(c.w, now); err != nil {
		return fault.New(fault.Cancelled, "the client has gone")
	}
	return nil
}
