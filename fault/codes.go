package fault

// The codes. Append only.
const (
	GuestSyntax    Code = "guest.syntax"    // the program could not be parsed
	GuestException Code = "guest.exception" // an exception nobody caught
	GuestExit      Code = "guest.exit"      // the program called exit(n)
	GuestResult    Code = "guest.result"    // the value has no JSON form
	GuestStalled   Code = "guest.stalled"   // the program awaits what can never come

	ToolFailed      Code = "tool.failed"       // the tool answered that it failed
	ToolUnknown     Code = "tool.unknown"      // there is no tool of that name
	ToolInvalidArgs Code = "tool.invalid_args" // the arguments do not fit the tool's schema
	ToolTooLarge    Code = "tool.too_large"    // the answer is over the rule's limit
	ToolTimeout     Code = "tool.timeout"      // the tool took longer than it may

	UsageFlag     Code = "usage.flag"     // a flag, key or request field cannot be used so
	UsageLanguage Code = "usage.language" // the language is unknown or cannot be told
	UsageFile     Code = "usage.file"     // a file cannot be read
	UsageConfig   Code = "usage.config"   // a configuration file is wrong
	UsagePolicy   Code = "usage.policy"   // a policy file is wrong
	UsageAudit    Code = "usage.audit"    // a record cannot be used so
	UsageSession  Code = "usage.session"  // the session is unknown, busy or ended

	DeniedTool     Code = "denied.tool"     // the policy forbids the call
	DeniedNetwork  Code = "denied.network"  // the policy forbids the host
	DeniedFile     Code = "denied.file"     // the policy forbids the file
	DeniedApproval Code = "denied.approval" // a person said no, or nobody was there to ask
	DeniedLanguage Code = "denied.language" // the policy forbids the language
	DeniedPinned   Code = "denied.pinned"   // the tool's definition is not the pinned one

	LimitFuel      Code = "limit.fuel"       // the fuel is used up
	LimitMemory    Code = "limit.memory"     // the memory cap is reached
	LimitTime      Code = "limit.time"       // the deadline has passed
	LimitOutput    Code = "limit.output"     // more output than allowed
	LimitToolCalls Code = "limit.tool_calls" // more tool calls than allowed
	LimitHostBytes Code = "limit.host_bytes" // more bytes through the host than allowed
	LimitRecursion Code = "limit.recursion"  // recursion deeper than allowed
	LimitBusy      Code = "limit.busy"       // too many runs are waiting

	UpstreamUnavailable Code = "upstream.unavailable" // a server cannot be reached or did not start

	Cancelled Code = "cancelled" // the caller gave up

	AuditUnavailable Code = "audit.unavailable" // no record can be written, so nothing is done
	Internal         Code = "internal"          // a fault of wexec itself
)

// classes holds every code once, in the documented order.
var classes = []struct {
	class Class
	codes []Code
}{
	{ClassGuest, []Code{GuestSyntax, GuestException, GuestExit, GuestResult, GuestStalled,
		ToolFailed, ToolUnknown, ToolInvalidArgs, ToolTooLarge}},
	{ClassUsage, []Code{UsageFlag, UsageLanguage, UsageFile, UsageConfig, UsagePolicy, UsageAudit, UsageSession}},
	{ClassDenied, []Code{DeniedTool, DeniedNetwork, DeniedFile, DeniedApproval, DeniedLanguage, DeniedPinned}},
	{ClassLimit, []Code{LimitFuel, LimitMemory, LimitTime, LimitOutput, LimitToolCalls, LimitHostBytes, LimitRecursion, LimitBusy}},
	{ClassUpstream, []Code{UpstreamUnavailable, ToolTimeout}},
	{ClassCancelled, []Code{Cancelled}},
	{ClassInternal, []Code{AuditUnavailable, Internal}},
}

// Codes lists every code in the documented order.
func Codes() []Code {
	var all []Code
	for _, row := range classes {
		all = append(all, row.codes...)
	}
	return all
}

// Class is the class of a code. The empty code is [ClassOK]; a code that is not
// in the list is [ClassInternal].
func (c Code) Class() Class {
	if c == "" {
		return ClassOK
	}
	for _, row := range classes {
		for _, code := range row.codes {
			if code == c {
				return row.class
			}
		}
	}
	return ClassInternal
}
