// Package otlp sends the spans of a command to a receiver of OpenTelemetry, as the
// standard variables of the environment say.
//
// The transport is here and not that of OpenTelemetry, which links gRPC to speak HTTP:
// 2.1 MB more, and 140 KB that every start of the command would allocate.
package otlp

import (
	"context"
	"log/slog"
	"strings"
	"time"

	"go.opentelemetry.io/otel/exporters/otlp/otlptrace"
	"go.opentelemetry.io/otel/sdk/resource"
	sdk "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"

	"github.com/wexec/wexec/config"
	"github.com/wexec/wexec/internal/telemetry"
)

// flushTime is how long the end of a command waits until the receiver has its spans.
const flushTime = 2 * time.Second

// Start returns a provider whose spans are sent in the background, and a function that
// sends the last ones. The provider is nil, and nothing was done, unless the environment
// names a receiver. A receiver that cannot be used is logged: it fails no run.
func Start(env *config.Environment, version string, logger *slog.Logger) (provider trace.TracerProvider, stop func()) {
	off := func() {}
	if disabled, _ := env.Lookup("OTEL_SDK_DISABLED"); strings.EqualFold(disabled, "true") {
		return nil, off
	}
	if exporter, _ := env.Lookup("OTEL_TRACES_EXPORTER"); exporter != "" && exporter != "otlp" {
		return nil, off
	}
	s, err := newSender(env, version, logger)
	if err != nil {
		logger.Warn("no spans are sent", "error", err)
		return nil, off
	}
	if s == nil {
		return nil, off
	}
	of := resource.NewSchemaless(telemetry.ServiceName.String("wexec"), telemetry.ServiceVersion.String(version))
	if merged, err := resource.Merge(of, resource.Environment()); err == nil {
		of = merged
	}
	// A full queue drops spans: a run never waits for the receiver.
	made := sdk.NewTracerProvider(sdk.WithResource(of), sdk.WithBatcher(otlptrace.NewUnstarted(s)))
	return made, func() {
		s.ending.Store(true)
		ctx, cancel := context.WithTimeout(context.Background(), flushTime)
		defer cancel()
		_ = made.Shutdown(ctx) // the sender has logged why
		s.client.CloseIdleConnections()
	}
}
