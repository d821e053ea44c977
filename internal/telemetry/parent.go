package telemetry

import (
	"context"

	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"
)

// Header is the name of the header of HTTP requests, and of the field in _meta of MCP
// requests, that has the span in which a request is made, as W3C Trace Context
// describes it. The header tracestate is not read or written, since it may hold any
// text.
const Header = "traceparent"

// WithParent returns a context whose spans are part of the trace that a header names.
// A header that is not valid changes nothing.
func WithParent(ctx context.Context, header string) context.Context {
	if header == "" {
		return ctx
	}
	return propagation.TraceContext{}.Extract(ctx, propagation.MapCarrier{Header: header})
}

// Parent returns the header that names the span of a context, or "" if it has none.
func Parent(ctx context.Context) string {
	if !trace.SpanContextFromContext(ctx).IsValid() {
		return ""
	}
	carrier := propagation.MapCarrier{}
	propagation.TraceContext{}.Inject(ctx, carrier)
	return carrier[Header]
}
