package fault

// The codes. Append only.
const (
	GuestSyntax    Code = "guest.syntax"    // the program could not be parsed
	GuestException Code = "guest.exception" // uncaught exception
	GuestExit      Code = "guest.exit"      // the program called exit(n)
	GuestResult    Code = "guest.result"    // the value has no JSON form
	GuestStalled   Code = "guest.stalled"   // the program waits for something that cannot happen

	ToolFailed  Code = "tool.failed"  // the tool reported a failure
	ToolUnknown Code = "tool.unknown" // no tool has that name
	// ToolUnknownOutcome: the tool was called before the run was interrupted, and it is
	// not known whether it did its work.
	ToolUnknownOutcome Code = "tool.unknown_outcome"
	ToolInvalidArgs    Code = "tool.invalid_args" // the arguments do not match the schema of the tool
	ToolTooLarge       Code = "tool.too_large"    // the answer exceeds the limit of the rule
	ToolTimeout        Code = "tool.timeout"      // the tool exceeded its timeout

	UsageFlag      Code = "usage.flag"      // invalid flag, key or request field
	UsageLanguage  Code = "usage.language"  // the language is unknown or ambiguous
	UsageFile      Code = "usage.file"      // a file cannot be read
	UsageConfig    Code = "usage.config"    // invalid configuration file
	UsagePolicy    Code = "usage.policy"    // invalid policy file
	UsageAudit     Code = "usage.audit"     // invalid or unusable audit record
	UsageSession   Code = "usage.session"   // the session is unknown, busy or closed
	UsageStore     Code = "usage.store"     // the store cannot be used as asked
	UsageRun       Code = "usage.run"       // the run is unknown, or cannot go on
	UsageToken     Code = "usage.token"     // the token cannot be made as asked
	UsageConflict  Code = "usage.conflict"  // another request excludes this one
	UsageTask      Code = "usage.task"      // the task is unknown, or cannot be made as asked
	UsageWorkspace Code = "usage.workspace" // the workspace is unknown, or cannot be used as asked
	UsageProfile   Code = "usage.profile"   // the profile is unknown

	DeniedTool     Code = "denied.tool"     // the policy forbids the call
	DeniedNetwork  Code = "denied.network"  // the policy forbids the host
	DeniedFile     Code = "denied.file"     // the policy forbids the file
	DeniedApproval Code = "denied.approval" // a person refused, or there was nobody to ask
	DeniedLanguage Code = "denied.language" // the policy forbids the language
	DeniedRisk     Code = "denied.risk"     // the policy forbids programs of the level that the review found
	DeniedToken    Code = "denied.token"    // the token is unknown, expired or revoked
	DeniedScope    Code = "denied.scope"    // the token does not have the scope
	DeniedPinned   Code = "denied.pinned"   // the definition of the tool differs from its pin

	LimitFuel      Code = "limit.fuel"       // out of fuel
	LimitMemory    Code = "limit.memory"     // out of memory
	LimitTime      Code = "limit.time"       // deadline exceeded
	LimitOutput    Code = "limit.output"     // too much output
	LimitToolCalls Code = "limit.tool_calls" // too many tool calls
	LimitHostBytes Code = "limit.host_bytes" // too many bytes through the host
	LimitRecursion Code = "limit.recursion"  // recursion too deep
	LimitBusy      Code = "limit.busy"       // too many runs in the queue
	LimitQuota     Code = "limit.quota"      // a quota of the tenant or the token is used up
	LimitArtifact  Code = "limit.artifact"   // an artifact is too large

	UpstreamUnavailable Code = "upstream.unavailable" // a server is unreachable or did not start

	Cancelled Code = "cancelled" // canceled by the caller

	AuditUnavailable Code = "audit.unavailable" // a record cannot be written, so nothing was done
	StoreUnavailable Code = "store.unavailable" // the store cannot be reached or written
	Internal         Code = "internal"          // a defect of wexec
)

// classes lists every code once, in the documented order.
var classes = []struct {
	class Class
	codes []Code
}{
	{ClassGuest, []Code{GuestSyntax, GuestException, GuestExit, GuestResult, GuestStalled,
		ToolFailed, ToolUnknown, ToolUnknownOutcome, ToolInvalidArgs, ToolTooLarge}},
	{ClassUsage, []Code{UsageFlag, UsageLanguage, UsageFile, UsageConfig, UsagePolicy, UsageAudit, UsageSession, UsageStore, UsageRun, UsageToken, UsageConflict, UsageTask, UsageWorkspace, UsageProfile}},
	{ClassDenied, []Code{DeniedTool, DeniedNetwork, DeniedFile, DeniedApproval, DeniedLanguage, DeniedRisk, DeniedPinned, DeniedToken, DeniedScope}},
	{ClassLimit, []Code{LimitFuel, LimitMemory, LimitTime, LimitOutput, LimitToolCalls, LimitHostBytes, LimitRecursion, LimitBusy, LimitQuota, LimitArtifact}},
	{ClassUpstream, []Code{UpstreamUnavailable, ToolTimeout}},
	{ClassCancelled, []Code{Cancelled}},
	{ClassInternal, []Code{AuditUnavailable, StoreUnavailable, Internal}},
}

// Codes returns every code in the documented order.
func Codes() []Code {
	var all []Code
	for _, row := range classes {
		all = append(all, row.codes...)
	}
	return all
}

// Class returns the class of a code: [ClassOK] for the empty code, [ClassInternal]
// for an unknown one.
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
