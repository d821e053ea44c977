package otlp

import (
	"bytes"
	"cmp"
	"compress/gzip"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/url"
	"os"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	otlp "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"

	"github.com/wexec/wexec/config"
)

// sender sends batches of spans as OTLP over HTTP. It implements otlptrace.Client.
type sender struct {
	client   *http.Client
	endpoint string
	header   http.Header
	gzip     bool
	timeout  time.Duration // of a batch, with what is sent again
	log      *slog.Logger
	ending   atomic.Bool // nothing is sent again
	failing  atomic.Bool // the last batch was not received
}

// newSender reads the environment. It is nil if that names no receiver.
func newSender(env *config.Environment, version string, logger *slog.Logger) (*sender, error) {
	get := func(name string) string { // the variable of traces, or that of everything
		traces, _ := env.Lookup("OTEL_EXPORTER_OTLP_TRACES_" + name)
		all, _ := env.Lookup("OTEL_EXPORTER_OTLP_" + name)
		return strings.TrimSpace(cmp.Or(traces, all))
	}
	endpoint := get("ENDPOINT")
	if endpoint == "" {
		return nil, nil
	}
	u, err := url.Parse(endpoint)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return nil, errors.New("OTEL_EXPORTER_OTLP_ENDPOINT is not the http or https address of a receiver")
	}
	if traces, _ := env.Lookup("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT"); traces == "" {
		u = u.JoinPath("v1", "traces")
	}
	if protocol := get("PROTOCOL"); protocol != "" && protocol != "http/protobuf" {
		return nil, fmt.Errorf("OTEL_EXPORTER_OTLP_PROTOCOL is %.40q, and only http/protobuf is supported", protocol)
	}
	s := &sender{endpoint: u.String(), gzip: get("COMPRESSION") == "gzip", timeout: 10 * time.Second, log: logger,
		header: http.Header{"Content-Type": {"application/x-protobuf"}, "User-Agent": {"wexec/" + version}}}
	if s.gzip {
		s.header.Set("Content-Encoding", "gzip")
	}
	if ms, err := strconv.Atoi(get("TIMEOUT")); err == nil && ms > 0 {
		s.timeout = time.Duration(ms) * time.Millisecond
	}
	for pair := range strings.SplitSeq(get("HEADERS"), ",") {
		name, value, ok := strings.Cut(pair, "=")
		if value, err := url.PathUnescape(strings.TrimSpace(value)); ok && err == nil {
			s.header.Set(strings.TrimSpace(name), value)
		}
	}
	security, err := certificates(get)
	if err != nil {
		return nil, err
	}
	transport := http.DefaultTransport.(*http.Transport).Clone()
	transport.TLSClientConfig = security
	// The headers can hold a key, which is for the receiver only.
	s.client = &http.Client{Transport: transport, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	return s, nil
}

// certificates returns what connections to the receiver trust and present.
func certificates(get func(string) string) (*tls.Config, error) {
	c := &tls.Config{MinVersion: tls.VersionTLS12}
	if file := get("CERTIFICATE"); file != "" {
		data, err := os.ReadFile(file)
		if err != nil {
			return nil, fmt.Errorf("read OTEL_EXPORTER_OTLP_CERTIFICATE: %w", err)
		}
		if c.RootCAs = x509.NewCertPool(); !c.RootCAs.AppendCertsFromPEM(data) {
			return nil, fmt.Errorf("read OTEL_EXPORTER_OTLP_CERTIFICATE: %s has no certificate", file)
		}
	}
	if cert, key := get("CLIENT_CERTIFICATE"), get("CLIENT_KEY"); cert != "" && key != "" {
		pair, err := tls.LoadX509KeyPair(cert, key)
		if err != nil {
			return nil, fmt.Errorf("read OTEL_EXPORTER_OTLP_CLIENT_CERTIFICATE: %w", err)
		}
		c.Certificates = []tls.Certificate{pair}
	}
	return c, nil
}

// Start implements otlptrace.Client.
func (s *sender) Start(context.Context) error { return nil }

// Stop implements otlptrace.Client.
func (s *sender) Stop(context.Context) error { return nil }

// firstRetry is the wait before a batch is sent again. Each wait is twice the one
// before.
const firstRetry = 500 * time.Millisecond

// UploadTraces implements otlptrace.Client. A batch that the receiver does not take in
// time is dropped, and the first of them logged.
func (s *sender) UploadTraces(ctx context.Context, spans []*otlp.ResourceSpans) error {
	ctx, cancel := context.WithTimeout(ctx, s.timeout)
	defer cancel()
	body, err := s.encode(spans)
	for wait, again := firstRetry, err == nil; again; wait *= 2 {
		if again, err = s.post(ctx, body); !again || s.ending.Load() {
			break
		}
		select {
		case <-time.After(wait):
		case <-ctx.Done():
			again = false
		}
	}
	if failing := err != nil; s.failing.Swap(failing) != failing {
		if failing {
			s.log.Warn("the receiver of OpenTelemetry does not take spans, which are dropped", "error", err)
		} else {
			s.log.Info("the receiver of OpenTelemetry takes spans again")
		}
	}
	return nil // the library would log it again
}

// encode returns the body of a request. It has the form of ExportTraceServiceRequest,
// whose package links gRPC.
func (s *sender) encode(spans []*otlp.ResourceSpans) ([]byte, error) {
	data, err := proto.Marshal(&otlp.TracesData{ResourceSpans: spans})
	if err != nil || !s.gzip {
		return data, err
	}
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	if _, err = w.Write(data); err == nil {
		err = w.Close()
	}
	return b.Bytes(), err
}

// post sends a batch once. again reports whether the receiver may take it later.
func (s *sender) post(ctx context.Context, body []byte) (again bool, err error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, s.endpoint, bytes.NewReader(body))
	if err != nil {
		return false, err
	}
	req.Header = s.header.Clone()
	resp, err := s.client.Do(req)
	if err != nil {
		if refused := (*url.Error)(nil); errors.As(err, &refused) {
			err = refused.Err // without the address, which can hold a key
		}
		return ctx.Err() == nil, err
	}
	defer resp.Body.Close()
	_, _ = io.Copy(io.Discard, io.LimitReader(resp.Body, 64<<10))
	switch resp.StatusCode {
	case http.StatusOK, http.StatusAccepted, http.StatusNoContent:
		return false, nil
	case http.StatusTooManyRequests, http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		again = true
	}
	return again, fmt.Errorf("it answers %s", resp.Status)
}
