package embeddings

import (
	"context"
	"encoding/json"
	"fmt"
	"hash/fnv"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/wexec/wexec/catalogue"
	"github.com/wexec/wexec/fault"
)

// endpoint makes vectors of the meanings it knows: words that mean the same
// have the same number.
type endpoint struct {
	*httptest.Server
	requests, texts atomic.Int64
	mu              sync.Mutex
	answer          func(w http.ResponseWriter) bool // true: it has answered
	seen            []string
}

var meanings = map[string]string{"automobile": "car", "vehicle": "car", "vehicles": "car", "cars": "car", "hire": "rent", "book": "rent", "rental": "rent", "lease": "rent"}

func meaningOf(text string) []float32 {
	v := make([]float32, 64)
	for _, w := range catalogue.Words(text) {
		if m := meanings[w]; m != "" {
			w = m
		}
		h := fnv.New32a()
		_, _ = h.Write([]byte(w))
		v[h.Sum32()%64]++
	}
	return v
}

func newEndpoint(t *testing.T) *endpoint {
	e := &endpoint{}
	e.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		e.requests.Add(1)
		e.mu.Lock()
		answer := e.answer
		e.mu.Unlock()
		if answer != nil && answer(w) {
			return
		}
		var in struct {
			Model string
			Input []string
		}
		if err := json.NewDecoder(r.Body).Decode(&in); err != nil || in.Model != "tiny" || r.URL.Path != "/v1/embeddings" || r.Header.Get("Authorization") != "Bearer sesame" {
			http.Error(w, "no", http.StatusBadRequest)
			return
		}
		e.texts.Add(int64(len(in.Input)))
		e.mu.Lock()
		e.seen = append(e.seen, in.Input...)
		e.mu.Unlock()
		type one struct {
			Index     int       `json:"index"`
			Embedding []float32 `json:"embedding"`
		}
		out := struct {
			Data []one `json:"data"`
		}{}
		for i := range in.Input { // the other way round: the order is not promised
			n := len(in.Input) - 1 - i
			out.Data = append(out.Data, one{n, meaningOf(in.Input[n])})
		}
		_ = json.NewEncoder(w).Encode(out)
	}))
	t.Cleanup(e.Close)
	return e
}

func (e *endpoint) say(answer func(w http.ResponseWriter) bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.answer = answer
}

func (e *endpoint) index(t *testing.T, dir string, log io.Writer) *Index {
	t.Helper()
	x, err := New(Options{URL: e.URL + "/v1", Model: "tiny", Dir: dir, Timeout: time.Minute, Rest: time.Hour,
		Key: func(context.Context) (string, error) { return "sesame", nil }, Logger: slog.New(slog.NewTextHandler(log, nil))})
	if err != nil {
		t.Fatal(err)
	}
	return x
}

// near returns the nearness of tools to a question.
func near(t *testing.T, x *Index, tools []catalogue.Tool, question string) (map[string]float64, error) {
	rate, err := x.Near(t.Context(), tools, question)
	if err != nil || rate == nil {
		return nil, err
	}
	return rate(), nil
}

func garage(n int) []catalogue.Tool {
	all := []catalogue.Tool{{Server: "garage", Name: "lease_vehicle", Description: "Lease one of the vehicles"}}
	for i := range n {
		all = append(all, catalogue.Tool{Server: "garage", Name: fmt.Sprintf("count_part_%d", i), Description: fmt.Sprintf("Count the parts on shelf %d", i)})
	}
	return all
}

func TestMeaningFindsWhatWordsDoNot(t *testing.T) {
	e := newEndpoint(t)
	near, err := near(t, e.index(t, t.TempDir(), io.Discard), garage(150), "rent a car")
	if err != nil || len(near) != 151 {
		t.Fatalf("%d, %v", len(near), err)
	}
	for id, v := range near {
		if id != "garage.lease_vehicle" && v >= near["garage.lease_vehicle"] {
			t.Errorf("%s is as near as the right one: %f", id, v)
		}
	}
}

func TestVectorsAreKeptByTheirText(t *testing.T) {
	e, dir := newEndpoint(t), t.TempDir()
	tools := garage(100)
	if _, err := near(t, e.index(t, dir, io.Discard), tools, "rent a car"); err != nil {
		t.Fatal(err)
	}
	if n := e.texts.Load(); n != 102 {
		t.Fatalf("%d texts were sent", n)
	}
	again := e.index(t, dir, io.Discard)
	tools[3].Description = "Counts otherwise"
	for range 3 {
		if _, err := near(t, again, tools, "rent a car"); err != nil {
			t.Fatal(err)
		}
	}
	if n := e.texts.Load(); n != 104 {
		t.Errorf("%d texts were sent: the question once and the changed tool were needed", n-102)
	}
	files, _ := filepath.Glob(filepath.Join(dir, "*"))
	if len(files) != 1 {
		t.Fatalf("files %v", files)
	}
	whole, err := os.ReadFile(files[0])
	if err != nil {
		t.Fatal(err)
	}
	for name, data := range map[string][]byte{"cut short": whole[:len(whole)-7], "no head": []byte("something else"), "empty": nil, "a wrong size": append([]byte(storeHead), 255, 255, 255, 255)} {
		if err := os.WriteFile(files[0], data, 0o600); err != nil {
			t.Fatal(err)
		}
		if near, err := near(t, e.index(t, dir, io.Discard), tools, "rent a car"); err != nil || len(near) != 101 {
			t.Errorf("%s: %d, %v", name, len(near), err)
		}
		before := e.texts.Load()
		if near, err := near(t, e.index(t, dir, io.Discard), tools, "rent a car"); err != nil || len(near) != 101 || e.texts.Load() != before+1 {
			t.Errorf("%s is not repaired: %d, %v, %d texts", name, len(near), err, e.texts.Load()-before)
		}
	}
}

func TestAnEndpointThatFailsCostsAWarning(t *testing.T) {
	for name, answer := range map[string]func(w http.ResponseWriter) bool{
		"an error": func(w http.ResponseWriter) bool { http.Error(w, "busy", http.StatusServiceUnavailable); return true },
		"no JSON":  func(w http.ResponseWriter) bool { _, _ = io.WriteString(w, "hello"); return true },
		"too few":  func(w http.ResponseWriter) bool { _, _ = io.WriteString(w, `{"data":[]}`); return true },
		"empty": func(w http.ResponseWriter) bool {
			_, _ = io.WriteString(w, `{"data":[{"index":0,"embedding":[]}]}`)
			return true
		},
		"another's": func(w http.ResponseWriter) bool {
			_, _ = io.WriteString(w, `{"data":[{"index":7,"embedding":[1]}]}`)
			return true
		},
		"the key": func(w http.ResponseWriter) bool {
			conn, _, err := http.NewResponseController(w).Hijack()
			if err == nil {
				_, _ = io.WriteString(conn, "HTTP/1.1 401 Not with ses%61me\r\nContent-Length: 0\r\n\r\n")
				err = conn.Close()
			}
			return err == nil
		},
		"a redirect": func(w http.ResponseWriter) bool {
			w.Header().Set("Location", "https://example.org/")
			w.WriteHeader(http.StatusFound)
			return true
		},
		"out of range": func(w http.ResponseWriter) bool {
			_, _ = io.WriteString(w, `{"data":[{"index":0,"embedding":[1e999]}]}`)
			return true
		},
	} {
		e := newEndpoint(t)
		e.say(answer)
		var log strings.Builder
		x := e.index(t, "", &log)
		for range 5 {
			if near, err := near(t, x, garage(3), "rent a car"); err == nil || near != nil {
				t.Errorf("%s: %v", name, near)
			}
		}
		if n := e.requests.Load(); n != 1 {
			t.Errorf("%s: asked %d times in a row", name, n)
		}
		if strings.Count(log.String(), "level=WARN") != 1 || strings.Contains(log.String(), "sesame") || strings.Contains(log.String(), "ses%") {
			t.Errorf("%s: the log says %s", name, log.String())
		}
		// After a rest it is asked again.
		e.say(nil)
		x.o.Rest = time.Nanosecond
		if near, err := near(t, x, garage(3), "rent a car"); err != nil || len(near) != 4 {
			t.Errorf("%s: after a rest %v, %v", name, near, err)
		}
	}
}

func TestASlowEndpointIsNotWaitedFor(t *testing.T) {
	e := newEndpoint(t)
	hold := make(chan struct{})
	t.Cleanup(func() { close(hold) })
	e.say(func(http.ResponseWriter) bool { <-hold; return false })
	x := e.index(t, "", io.Discard)
	x.o.Timeout = 50 * time.Millisecond
	begun := time.Now()
	if _, err := near(t, x, garage(3), "rent a car"); err == nil || time.Since(begun) > 30*time.Second {
		t.Errorf("%v after %v", err, time.Since(begun))
	}
}

func TestVectorsThatComeLateServeTheNextQuestion(t *testing.T) {
	e := newEndpoint(t)
	hold, first := make(chan struct{}), atomic.Bool{}
	e.say(func(http.ResponseWriter) bool {
		if first.CompareAndSwap(false, true) {
			return false // the question
		}
		<-hold
		return false
	})
	var log strings.Builder
	x := e.index(t, "", &log)
	x.o.Timeout = 60 * time.Millisecond
	if _, err := near(t, x, garage(3), "rent a car"); err == nil {
		t.Fatal("there were no vectors")
	}
	if log.Len() > 0 {
		t.Errorf("a late answer is not a failure: %s", log.String())
	}
	close(hold)
	x.o.Timeout = 2 * time.Second
	if near, err := near(t, x, garage(3), "rent a car"); err != nil || len(near) != 4 {
		t.Errorf("%v, %v", near, err)
	}
}

func TestKeysStayWithTheirHost(t *testing.T) {
	key := func(context.Context) (string, error) { return "sesame", nil }
	for url, ok := range map[string]bool{
		"https://api.example.org/v1": true, "http://127.0.0.1:8080/v1": true, "http://localhost/v1/embeddings": true, "http://[::1]:1/v1": true,
		"http://api.example.org/v1": false, "api.example.org": false, "file:///etc/passwd": false, "": false, "https://me:it@example.org": false,
	} {
		x, err := New(Options{URL: url, Model: "m", Key: key})
		if ok != (err == nil) || err != nil && fault.CodeOf(err) != fault.UsageConfig {
			t.Errorf("%q: %v", url, err)
		}
		if err == nil && !strings.HasSuffix(x.endpoint, "/embeddings") {
			t.Errorf("%q asks %s", url, x.endpoint)
		}
	}
	if _, err := New(Options{URL: "https://example.org/v1"}); fault.CodeOf(err) != fault.UsageConfig {
		t.Errorf("without a model: %v", err)
	}
}

func FuzzAnswersOfAnEndpoint(f *testing.F) {
	for _, s := range []string{`{"data":[{"index":0,"embedding":[1,2]},{"index":1,"embedding":[1]}]}`, `{"data":null}`, `[]`} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		list, err := vectors(data, 2)
		if err == nil && (len(list) != 2 || len(list[0]) != len(list[1]) || len(list[0]) == 0) {
			t.Fatalf("%v", list)
		}
	})
}
