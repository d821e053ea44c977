// Package telemetry has the names of the spans of wexec and of their attributes, and
// the way from one process to the next.
//
// Names follow OpenTelemetry's semantic conventions for MCP and generative AI where
// these have one. They are all marked as in development, so every name is here. An
// attribute holds the name of a tool of a server, a code, a count or a state, and
// never an argument, a value, or a text that a program, tool or person wrote.
package telemetry

import (
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/trace"

	"github.com/wexec/wexec/fault"
)

// Scope is the name of the instrumentation.
const Scope = "github.com/wexec/wexec"

// Names of spans. A span of a call has the name of the tool after this one, as in
// "tools/call github.get_issue".
const (
	Run      = "run"
	Guest    = "guest"
	Call     = "tools/call"
	Approval = "approval"
)

// Attributes of conventions.
const (
	ServiceName    = attribute.Key("service.name")
	ServiceVersion = attribute.Key("service.version")

	ErrorType = attribute.Key("error.type")      // a code
	Method    = attribute.Key("mcp.method.name") // of a call
	Operation = attribute.Key("gen_ai.operation.name")
	Tool      = attribute.Key("gen_ai.tool.name")
)

// ExecuteTool is the operation of a call.
const ExecuteTool = "execute_tool"

// Attributes of wexec.
const (
	RunID        = attribute.Key("wexec.run.id")
	Language     = attribute.Key("wexec.language")
	Status       = attribute.Key("wexec.status") // of a run
	Cache        = attribute.Key("wexec.cache")  // hit, miss or off
	Fuel         = attribute.Key("wexec.fuel")
	MemoryPeak   = attribute.Key("wexec.memory.peak") // bytes
	ToolCalls    = attribute.Key("wexec.tool_calls")
	ToolBytes    = attribute.Key("wexec.tool_bytes")
	TokensOut    = attribute.Key("wexec.tokens.out")
	TokensTools  = attribute.Key("wexec.tokens.in_tools")
	Server       = attribute.Key("wexec.server")
	CallNumber   = attribute.Key("wexec.call.number") // as in the audit
	Decision     = attribute.Key("wexec.decision")    // allow, ask or deny
	AnswerBytes  = attribute.Key("wexec.answer.bytes")
	ApprovalGave = attribute.Key("wexec.approval.answer") // yes, always, no, nobody or expired
	ApprovalVia  = attribute.Key("wexec.approval.via")
)

// End ends a span. A code other than "" is its error.
func End(span trace.Span, code fault.Code) {
	if code != "" {
		span.SetStatus(codes.Error, string(code))
		span.SetAttributes(ErrorType.String(string(code)))
	}
	span.End()
}
