package attack

import (
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// mutations remove one step of the gate each: source text, its replacement, and the
// attempts of which at least one must then succeed, or the package and the test
// that must then fail.
var mutations = []struct{ step, file, old, new, attempts string }{
	{"denials are ignored", "hostfns/call.go",
		"\tif d.Effect == policy.Deny {\n\t\treturn c.denied(fault.DeniedTool, d.Message, \"\")\n\t}\n", "",
		"tools-js-nil-policy|prelude-js-proxy|policy-js-deny-beats"},
	{"no person is asked", "hostfns/pipeline.go",
		"\t\t(*call).ask,            // ask a person, if the policy says so\n", "",
		"approval-js-no$|approval-js-nobody"},
	{"a no counts as a yes", "hostfns/approval.go", "case !reply.Approved:", "case false:", "approval-js-no$"},
	{"a no is forgotten", "hostfns/approval.go", "\t\tr.session.refuse(same)\n", "", "approval-js-asks-again|grant-js-asks-many-times"},
	{"calls ask the same question at once", "hostfns/approval.go", "if open == nil {", "if open == nil || end == nil {\n\t\t\tend = func() {}",
		"approval-js-asks-again|grant-js-asks-many-times"},
	{"clients see values in a question", "hostfns/provider.go", "q.Message, q.Args = q.coveredMessage, q.coveredArgs", "",
		"approval-js-values"},
	{"decisive arguments do not come first", "hostfns/approvals/lines.go", "cmp.Compare(a.rank, b.rank), ", "",
		"approval-js-long-argument"},
	{"a question shows characters as they are", "hostfns/approvals/lines.go", "s = text.Visible(s)", "",
		"approval-js-invisible"},
	{"arguments are not checked against the schema", "hostfns/pipeline.go",
		"\t\t(*call).checkArguments, // check what the tool gets against its schema\n", "",
		"tools-js-invalid-arguments"},
	{"the policy sees tokens", "hostfns/call.go", "return c.revealed.values, err", "return c.args.values, err",
		"policy-js-argument-token"},
	{"arguments are checked before the decision", "hostfns/pipeline.go",
		"\t\t(*call).decide,         // ask the policy\n", "\t\t(*call).decide,\n\t\t(*call).reveal,\n\t\t(*call).checkArguments,\n",
		"privacy-js-schema"},
	{"faults of the schema show values", "hostfns/arguments.go",
		"if c.hasTokens && c.reveals() {", "if false {",
		"privacy-js-schema"},
	{"messages of the policy see values", "policy/decide.go", "\t\tcall.Reveal = nil\n", "",
		"privacy-js-message"},
	{"answers are not redacted", "hostfns/answer.go", "counts, mode, err = r.redactor.answer(ctx, r, a, c.name)", "counts, mode, err = (*redactor)(nil).answer(ctx, r, a, c.name)",
		"privacy-js-back-by-echo|privacy-js-to-a-tool"},
	{"secrets come back", "hostfns/answer.go", "\tr.table.scrub(a)\n", "",
		"secrets-js-back-by-echo"},
	{"values come back in other forms", "hostfns/answer.go", "if clean := c.values.Bytes(a.Data); !c.values.Empty() &&", "if clean := a.Data; !c.values.Empty() &&",
		"privacy-js-back-in-other-forms"},
	{"errors are shortened before values are found", "hostfns/provider.go", "Message: text.Clean(secrets.Text(err.Error())),", "Message: clean(secrets.Text(err.Error()), maxMessage),",
		"privacy-js-cut-value"},
	{"every tool gets values", "hostfns/arguments.go", "return !c.tool.keeps && c.run.redactor.reveals(c.name) }", "return c.run.redactor != nil }",
		"privacy-js-to-a-tool|privacy-js-by-pieces"},
	{"calls are not counted for the run", "hostfns/pipeline.go", "r.toolCalls.Add(1) > int64(r.limits.ToolCalls) {", "r.toolCalls.Add(1) < 0 {",
		"limits-js-tool-calls"},
	{"bytes are not counted", "hostfns/run.go", "r.bytes.Add(n) <= r.limits.HostBytes {", "r.bytes.Add(n) >= 0 {",
		"limits-js-huge-arguments"},
	{"revealed arguments may be of any length", "hostfns/arguments.go", "if most -= int64(n); most < 0 {", "if most < 0 {",
		"limits-js-reveal-condition"},
	{"revealing is not charged", "hostfns/arguments.go", "\t\treturn r.spend(int64(n))\n", "\t\treturn nil\n",
		"limits-js-reveal-tool"},
	{"searches are free", "hostfns/prelude.go", "Lang: r.facts.Language, Spend: r.charge,", "Lang: r.facts.Language,", "limits-js-search-work"},
	{"declarations as files are free", "hostfns/guest.go", ".Tree(r.charge)", ".Tree(nil)", "limits-js-tree-work"},
	{"the ID of a tool may begin with another server", "hostfns/tools.go", "err = ambiguous(server, tool.Name, servers)", "_ = ambiguous", "tools-js-server-in-server"},
	{"names may have characters that nobody sees", "hostfns/internal/toolmeta/toolmeta.go", " && text.Visible(name) == name &&", " &&", "tools-js-invisible-names"},
	{"checks of arguments are not charged", "hostfns/arguments.go", "return w.call.run.spend(int64(units - spared))", "return nil",
		"limits-js-schema-charged"},
	{"checks of arguments take any work", "hostfns/schema/work.go", "; c.done > most {", "; most < 0 {",
		"limits-js-schema-unique"},
	{"calls are not counted for a rule", "hostfns/session.go", "if l.Calls > 0 && s.byRule[l.Rule] >= l.Calls {", "if l.Calls < 0 {",
		"policy-js-calls-at-once"},
	{"answers may be of any size", "hostfns/answer.go", "if limit := c.decision.Limits.Result(); limit > 0 && size > limit {", "if limit := c.decision.Limits.Result(); limit < 0 {",
		"policy-js-large-answer"},
	{"tools are called without a record of the decision", "hostfns/call.go",
		"\tif err := r.record(audit.Event{Decision: record}); err != nil {\n\t\treturn err\n\t}\n\tc.recorded", "\t_ = record\n\tc.recorded",
		"record"},

	// Bounds that no program can test have tests next to the code: the package and
	// the test.
	{"a cache folder may be open to others", "internal/ownfile/check_unix.go", "const othersWrite = 0o022", "const othersWrite = 0",
		"internal/ownfile TestDirRefusesWhatOthersCanChange"},
	{"folders above the cache may be open to others", "internal/ownfile/ownfile.go", "if err := checkDir(at, info, name == \"\"); err != nil {", "if err := checkDir(at, info, name == \"\"); err != nil && name == \"\" {",
		"internal/ownfile TestDirRefusesWhatOthersCanChange"},
	{"native code of others is executed", "internal/snapshot/code.go", "if f, err = ownfile.Open(path); err != nil {", "if f, err = os.Open(path); err != nil {",
		"internal/snapshot TestCodeThatOthersCanWriteCountsAsMissing"},
	{"results of others are believed", "engine/internal/guestcache/diskcache.go", "data, err := ownfile.Read(path, c.MaxEntry)", "_ = ownfile.Read\n\tdata, err := os.ReadFile(path)",
		"engine/internal/guestcache TestAnEntryOfAnotherUserIsAMiss"},
	{"a shorter log passes", "audit/verify.go", "if newest.Seq > last {", "if false {", "audit TestAnOlderCopyIsNoticed"},
	{"a continued older copy passes", "audit/verify.go", "ok && hash != h.Hash {", "ok && hash == \"\" {", "audit TestAnOlderCopyIsNoticed"},
	{"an empty directory passes", "audit/verify.go", "if slices.Contains(names, segment) {", "if len(heads) > 0 {", "audit TestAnOlderCopyIsNoticed"},
	{"an emptied anchor passes", "audit/verify.go", "if a.count == 0 && r.Records > 0 {", "if a.count < 0 {", "audit TestVerifyTakesTheReportThatAPersonKept"},
	{"a required anchor may fail", "audit/anchor.go", "if k.Required && k.failing != nil {", "if false {", "audit TestARequiredAnchorThatFailsStopsTheLog"},
	{"a schedule goes on without its token", "service/parked.go", "if err == nil && !held {", "if err == nil && !held && held {", "service TestATaskEndsWithItsToken"},
	{"a task is tried without end", "tasks/tasks.go", "!ok && t.Attempt < int64(p.Retry.Attempts) && ", "!ok && ", "tasks TestWhatFollowsAnAttempt"},
	{"a schedule may be of any length", "tasks/schedule.go", "if len(s.Cron) > maxCron || len(s.Zone) > maxCron {", "if len(s.Zone) > maxCron {", "tasks TestPlansThatAreRefused"},
	{"strangers keep their connections", "cmd/wexec/internal/door/door.go", "if victim != nil {", "if victim != nil && victim.Conn == nil {",
		"cmd/wexec/mcpd TestAProxyMayHaveManyPendingConnections"},
	{"refused requests keep their connection", "cmd/wexec/mcpd/http.go", "\t\t\tw.Header().Set(\"Connection\", \"close\") // unless the request is authorized\n", "",
		"cmd/wexec/mcpd TestARefusedRequestEndsItsConnection"},
	{"bodies may be as many as connections", "cmd/wexec/mcpd/http.go", "if h.bodies.Add(size) > maxBodies {", "if h.bodies.Add(size) < 0 {",
		"cmd/wexec/mcpd TestManyBodiesAtOnceAreBounded"},
	{"headers may be long", "cmd/wexec/mcpd/http.go", "MaxHeaderBytes: maxHeader,", "MaxHeaderBytes: 1 << 20,",
		"cmd/wexec/mcpd TestARefusedRequestEndsItsConnection"},
	{"memory of a shortened file is kept", "hostfns/files/memory.go", "case size < int64(cap(n.data))/2:", "case size < 0:",
		"hostfns/files TestMemoryOfATruncatedFileIsReleased"},
	{"descriptors are not counted", "hostfns/files/descriptor.go", "d.open < maxDescriptors && ", "",
		"hostfns/files TestDescriptorsAreBounded"},
	{"listings are not counted", "hostfns/files/descriptor.go", "cost += entryCost + int64(len(e.Name))", "_ = e",
		"hostfns/files TestListingsThatAreHeldOpenCount"},
	{"a hole in a file of the host is free", "hostfns/files/hostfile.go", "if hole := size - info.Size(); hole > 0 {", "if hole := size - info.Size(); hole > 0 && size < 0 {",
		"limits-py-sparse-file"},
	{"protected files can be opened", "hostfns/files/host.go", "if n.info != nil && h.never.has(n.info) {", "if false {",
		"hostfns/files TestProtectedFiles"},
	{"content items are not counted", "hostfns/upstream/unwrap.go", "if len(*c) == maxItems {", "if false {",
		"hostfns/upstream TestAnAnswerOfManySmallItemsIsNotDecoded"},
	{"values of a page of tools are not counted", "hostfns/upstream/stdio.go", "if values++; values > maxListingValues {", "if values++; values < 0 {",
		"hostfns/upstream TestAListingOfHugeSchemasIsRefused"},
	{"a message may have any size", "hostfns/upstream/arrival.go", "return fits && m.size <= maxMessage", "return true",
		"hostfns/upstream TestAMessageThatNoCallWaitsForIsShort"},
	{"diffs of workspaces show values", "service/workspaces/workspaces.go", "\tif c.Reveals {", "\tif c.Reveals || c.Actor != \"\" {",
		"cmd/wexec/httpd TestClientsReadTokensInWorkspaces"},
	{"an agent accepts its own workspace", "service/workspaces/workspaces.go", "if c.Agent && info.Actor == c.Actor {", "if c.Agent && info.Actor == \"\" {",
		"cmd/wexec/httpd TestAWorkspaceIsChangedShownAndAccepted"},
	{"programs use workspaces of other actors", "service/workspaces/workspaces.go", "\tcase info.Actor != c.Actor:", "\tcase info.Actor == \"\":",
		"cmd/wexec/httpd TestWorkspacesAreListedAndMadeOnce"},
	{"a folder of a tenant may be a link to another place", "service/workspaces/workspaces.go", "err == nil && !filepath.IsLocal(rel) {", "err == nil && rel == \"\" {",
		"cmd/wexec/httpd TestAFolderIsUsedAsTheOperatorSays"},
	{"version control can be written in a workspace", "workspace/workspace.go", "if IsVersionControl(part) || ", "if ", "workspace-py-version-control"},
	{"redirects go to other origins", "hostfns/upstream/http.go", "req.URL.Scheme != from.Scheme || req.URL.Host != from.Host {", "false {\n\t\t\t_ = from",
		"hostfns/upstream TestAServerCannotSendOurRequestsElsewhere"},
	{"tables of plugins have any size", "internal/meter/sections.go", "limit = max(limit/int64(m.ownTables), int64(l.Min))", "_ = l.Min",
		"internal/meter TestTablesTogetherAreBounded"},
	{"calls of WASI have any length", "engine/internal/sandbox/wasi.go", "n > b.most {", "n < b.most && false {",
		"engine TestAPluginsCallsOfWASIAreBounded"},
	{"guests have no guards", "engine/internal/sandbox/wasi.go", "return &once{Context: ctx}", "return &once{Context: ctx, used: true}",
		"engine TestTheHostsWorkIsBounded/wasi.random_get:_a_guest,_too_much"},
	{"calls of WASI do not see the deadline", "engine/internal/sandbox/wasi.go", "\th.deadline.check(time.Now())\n\th.checkContext()\n\tfor", "\t_ = time.Now\n\tfor",
		"engine TestTheHostsWorkIsBounded/extism.reset"},
	{"a search is not charged", "catalogue/index.go", "func (b *budget) spend(bytes int64) error {", "func (b *budget) spend(bytes int64) error {\n\tif bytes >= 0 {\n\t\treturn nil\n\t}",
		"hostfns TestASearchIsChargedToItsRun"},
	{"revealing goes on after the end of a call", "hostfns/arguments.go", "if ctx.Err() != nil {\n\t\t\treturn context.Cause(ctx)\n\t\t}\n\t\treturn r.spend(int64(n))", "return r.spend(int64(n))",
		"hostfns TestACallThatIsCancelledRevealsNoMore"},
	{"a waiting read holds a large buffer", "hostfns/internal/streams/streams.go", "make([]byte, min(n, firstRead+s.read))", "make([]byte, n)",
		"hostfns/internal/streams TestAStreamThatWaitsHoldsASmallBuffer"},
	{"one address may hold all connections", "cmd/wexec/internal/door/door.go", "count[c.address] <= d.PerAddress {", "count[c.address] > 0 {",
		"cmd/wexec/mcpd TestAnAddressHasFewPendingConnections"},
}

// TestEachStepOfTheGateIsHeldByAnAttempt builds this test without a step and expects
// an attempt to succeed. With -short it only checks that the source text exists.
func TestEachStepOfTheGateIsHeldByAnAttempt(t *testing.T) {
	top, err := filepath.Abs(filepath.Join("..", ".."))
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range mutations {
		t.Run(strings.ReplaceAll(m.step, " ", "_"), func(t *testing.T) {
			dir := t.TempDir()
			source := filepath.Join(top, filepath.FromSlash(m.file))
			data, err := os.ReadFile(source)
			if err != nil {
				t.Fatal(err)
			}
			if n := strings.Count(string(data), m.old); n != 1 {
				t.Fatalf("the step occurs %d times in %s: update the mutation", n, m.file)
			}
			if testing.Short() {
				return
			}
			changed := filepath.Join(dir, "changed.go")
			overlay, err := json.Marshal(map[string]any{"Replace": map[string]string{source: changed}})
			if err != nil {
				t.Fatal(err)
			}
			list, bin := filepath.Join(dir, "overlay.json"), filepath.Join(dir, "mutated.test")
			if err := errors.Join(os.WriteFile(changed, []byte(strings.Replace(string(data), m.old, m.new, 1)), 0o600),
				os.WriteFile(list, overlay, 0o600)); err != nil {
				t.Fatal(err)
			}
			pkg, test := "tests/attack", "TestNoAttemptSucceeds/all/("+m.attempts+")"
			if m.attempts == "record" {
				test = "TestNothingIsDoneWithoutARecord"
			}
			if other, name, ok := strings.Cut(m.attempts, " "); ok {
				pkg, test = other, name
			}
			pkg = filepath.Join(top, filepath.FromSlash(pkg))
			if out, err := exec.Command("go", "test", "-c", "-overlay", list, "-o", bin, pkg).CombinedOutput(); err != nil {
				t.Fatalf("build without the step: %v\n%s", err, out)
			}
			run := exec.Command(bin, "-test.run", test)
			run.Dir = pkg
			out, err := run.CombinedOutput()
			var failed *exec.ExitError
			if !errors.As(err, &failed) || !strings.Contains(string(out), "--- FAIL") {
				t.Errorf("no attempt succeeds without the step: %v\n%s", err, out)
			}
		})
	}
}
