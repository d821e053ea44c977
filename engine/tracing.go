package engine

import (
	"context"

	"go.opentelemetry.io/otel/trace"
	"go.opentelemetry.io/otel/trace/noop"

	"github.com/wexec/wexec/fault"
	"github.com/wexec/wexec/internal/telemetry"
)

// tracer makes the spans of runs and guests. Those of calls and approvals are made
// where these happen, as children of the span in their context.
func (c Config) tracer() trace.Tracer {
	if c.Tracing == nil {
		return noop.NewTracerProvider().Tracer(telemetry.Scope)
	}
	return c.Tracing.Tracer(telemetry.Scope)
}

// startSpan starts the span of the run.
func (j *job) startSpan(ctx context.Context) (context.Context, trace.Span) {
	kind := trace.SpanKindInternal
	if trace.SpanContextFromContext(ctx).IsRemote() {
		kind = trace.SpanKindServer
	}
	return j.e.tracer.Start(ctx, telemetry.Run, trace.WithSpanKind(kind))
}

// endSpan ends the span of the run.
func (j *job) endSpan(span trace.Span) {
	var code fault.Code
	if j.res.Error != nil {
		code = j.res.Error.Code
	}
	if span.IsRecording() {
		u := j.res.Usage
		span.SetAttributes(telemetry.RunID.String(j.res.RunID), telemetry.Status.String(string(j.res.Status)), telemetry.Cache.String(j.res.Cache),
			telemetry.Fuel.Int64(u.Fuel), telemetry.MemoryPeak.Int64(u.MemoryPeak), telemetry.ToolCalls.Int(u.ToolCalls), telemetry.ToolBytes.Int64(u.ToolBytes),
			telemetry.TokensOut.Int64(u.TokensOut), telemetry.TokensTools.Int64(u.TokensInTools))
		if name, err := Language(j.req.Language); err == nil { // else it is any text
			span.SetAttributes(telemetry.Language.String(name))
		}
	}
	telemetry.End(span, code)
}

// inGuest calls f in the span of a guest.
func (j *job) inGuest(ctx context.Context, f func(context.Context) error) error {
	ctx, span := j.e.tracer.Start(ctx, telemetry.Guest)
	err := f(ctx)
	if span.IsRecording() && j.host != nil {
		span.SetAttributes(telemetry.Fuel.Int64(j.host.Fuel()))
	}
	var code fault.Code
	switch {
	case err != nil:
		code = fault.CodeOf(err)
	case j.fault != nil:
		code = j.fault.Code
	case j.guestErr != nil:
		code = j.guestErr.Code
	}
	telemetry.End(span, code)
	return err
}
