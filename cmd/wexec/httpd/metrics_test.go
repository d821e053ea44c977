package httpd

import (
	"bytes"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"testing"

	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"

	"github.com/wexec/wexec/service/metrics"
)

// scrape reads the metrics as Prometheus does.
func (a *api) scrape() (families map[string]*dto.MetricFamily, text string) {
	a.t.Helper()
	got := a.call("admin", "GET", "/metrics", "").is(200)
	if kind := expfmt.ResponseFormat(got.header).FormatType(); kind != expfmt.TypeTextPlain {
		a.t.Errorf("the format is %v", kind)
	}
	parser := expfmt.NewTextParser(model.LegacyValidation)
	families, err := parser.TextToMetricFamilies(bytes.NewReader(got.body))
	if err != nil {
		a.t.Fatalf("%v\n%s", err, got.body)
	}
	return families, string(got.body)
}

// value is the number of a metric with labels, each as name=value.
func value(families map[string]*dto.MetricFamily, name string, labels ...string) float64 {
next:
	for _, m := range families[name].GetMetric() {
		for i, l := range m.Label {
			if i >= len(labels) || l.GetName()+"="+l.GetValue() != labels[i] {
				continue next
			}
		}
		switch {
		case m.Counter != nil:
			return m.Counter.GetValue()
		case m.Gauge != nil:
			return m.Gauge.GetValue()
		}
		return float64(m.Histogram.GetSampleCount())
	}
	return 0
}

func TestMetricsCountWhatRunsDid(t *testing.T) {
	servers, _ := pinger(t)
	a := newAPI(t, files{"tenants/default/mcp.json": servers, "tenants/default/policy.yaml": "version: 1\ntools: {allow: ['p.*']}\n"})
	empty, _ := a.scrape()
	for _, f := range metrics.Families() {
		if empty[f.Name] != nil && strings.ToLower(empty[f.Name].GetType().String()) != f.Kind {
			t.Errorf("%s is a %s, not a %s", f.Name, empty[f.Name].GetType(), f.Kind)
		}
	}
	a.call("agent", "POST", "/v1/runs", ping).is(200)
	a.call("agent", "POST", "/v1/runs", ping).is(200)
	a.call("agent", "POST", "/v1/runs", `{"language":"py","code":"1/0"}`).is(200)
	a.call("agent", "POST", "/v1/runs", `{"language":"js","code":"try { await callTool('zaphod.beeblebrox', {}) } catch {}; return 1"}`).is(200)
	a.call("other", "POST", "/v1/runs", `{"language":"js","code":"for (;;);","limits":{"fuel":1000000}}`).is(200)
	got, text := a.scrape()
	for labels, want := range map[string]float64{
		"wexec_runs_total language=javascript status=ok": 3, "wexec_runs_total language=python status=error": 1,
		"wexec_runs_total language=javascript status=limit": 1, "wexec_run_seconds": 5,
		"wexec_tool_calls_total server=p outcome=ok": 2, "wexec_tool_calls_total server=other outcome=error": 1,
		"wexec_queue_length": 0, "wexec_approvals_waiting": 0, "wexec_sandboxes state=running": 0,
	} {
		part := strings.Fields(labels)
		if n := value(got, part[0], part[1:]...); n != want {
			t.Errorf("%s is %v, want %v", labels, n, want)
		}
	}
	if value(got, "wexec_fuel_total") < 1_000_000 || value(got, "wexec_sandbox_memory_bytes") <= 0 {
		t.Errorf("%s", text)
	}
	for _, part := range []string{"zaphod", `"default"`, "oz", "bot", "tenant"} {
		if strings.Contains(text, part) {
			t.Errorf("the metrics have %q: %s", part, text)
		}
	}
	if len(got) != len(metrics.Families()) {
		t.Errorf("%d metrics, want %d: %s", len(got), len(metrics.Families()), text)
	}
}

func TestMetricsShowWhatWaits(t *testing.T) {
	servers, _ := pinger(t)
	a := newAPI(t, files{"tenants/default/mcp.json": servers, "tenants/default/policy.yaml": "version: 1\ntools: {ask: ['p.*']}\n"})
	a.call("agent", "POST", "/v1/runs?wait=0", ping).is(202)
	until(t, "the question is in the metrics", func() bool {
		got, _ := a.scrape()
		return value(got, "wexec_approvals_waiting") == 1 && value(got, "wexec_sandboxes", "state=waiting") == 1
	})
}

// log collects the lines of an access log.
type log struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (l *log) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

func (l *log) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

func TestTheAccessLogHasNothingThatClientsWrote(t *testing.T) {
	var written log
	a := newAPI(t, nil)
	a.server.handler = logged(slog.New(slog.NewJSONHandler(&written, nil)), a.server.handler)
	const trace = "4bf92f3577b34da6a3ce929d0e0e4736"
	var run shownRun
	a.call("agent", "POST", "/v1/runs", `{"language":"js","code":"return 'zaphod'"}`, "Traceparent", "00-"+trace+"-00f067aa0ba902b7-01", "X-Zaphod", "zaphod").is(200, &run)
	a.call("agent", "GET", "/v1/runs/"+run.RunID, "").is(200)
	a.call("agent", "GET", "/v1/runs/zaphod", "").is(404)
	a.call("agent", "GET", "/v1/runs?q=zaphod", "").is(200)
	a.call("wx_zaphod", "GET", "/v1/runs", "").is(401)
	a.call("agent", "GET", "/zaphod", "").is(404)
	req, err := http.NewRequestWithContext(t.Context(), "ZAPHOD", a.url+"/v1/runs", nil)
	if err != nil {
		t.Fatal(err)
	}
	if res, err := http.DefaultClient.Do(req); err == nil {
		_ = res.Body.Close()
	}
	type line struct {
		Msg, Method, Route, Token, Run, Trace string
		Status, Bytes                         int
		MS                                    *int
	}
	var lines []line
	until(t, "all requests are logged", func() bool {
		lines = nil
		for text := range strings.Lines(written.String()) {
			var l line
			if err := json.Unmarshal([]byte(text), &l); err != nil {
				t.Fatalf("%v: %s", err, text)
			}
			lines = append(lines, l)
		}
		return len(lines) == 7
	})
	for i, want := range []string{
		"POST /v1/runs 200 " + run.RunID + " " + trace, "GET /v1/runs/{id} 200 " + run.RunID + " ", "GET /v1/runs/{id} 404  ", "GET /v1/runs 200  ",
		"GET /v1/runs 401  ", "GET / 404  ", "other / 405  ",
	} {
		l := lines[i]
		if got := fmt.Sprintf("%s %s %d %s %s", l.Method, l.Route, l.Status, l.Run, l.Trace); got != want || l.Msg != "request" || l.MS == nil || l.Bytes == 0 {
			t.Errorf("line %d is %q, want %q: %+v", i, got, want, l)
		}
		if known := i < 4; (l.Token != "") != known {
			t.Errorf("line %d has the token %q", i, l.Token)
		}
	}
	for _, part := range []string{"zaphod", "wx_"} {
		if strings.Contains(strings.ToLower(written.String()), part) {
			t.Errorf("the log has %q: %s", part, &written)
		}
	}
}
