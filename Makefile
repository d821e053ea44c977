# make            builds the command and runs the commits job with it
# make test       the tests
# make check      all checks that a change must pass
# Longer: arm64 bench bench-check bench-peers compare conformance soak soak-serve guests fuzz fuzz-hour store-kills serve-kills run-kills park-programs dist recording screenshots

GO      ?= go
VERSION ?= $(shell git describe --tags --always --dirty 2>/dev/null || echo devel)
LDFLAGS  = -s -w -X main.version=$(VERSION)
# excludes the manual generator of the flag library, which slows every start
TAGS     = urfave_cli_no_docs
export CGO_ENABLED = 0
# the same flags everywhere share the build cache
export GOFLAGS := $(shell $(GO) env GOFLAGS) -trimpath

.PHONY: all
all: build
	@./examples/commits/run.sh

.PHONY: build
build: bin/wexec bin/demo-server

.PHONY: bin/wexec bin/demo-server
bin/wexec:
	$(GO) build -tags $(TAGS) -ldflags '$(LDFLAGS)' -o $@ ./cmd/wexec
bin/demo-server:
	$(GO) build -o $@ ./examples/demo-server

.PHONY: test
test: build
	$(GO) test -short ./...

.PHONY: check
check:
	@./tests/check.sh

# Architecture-dependent tests on arm64, in qemu.
.PHONY: arm64
arm64:
	@./tests/arm64.sh

.PHONY: guests
guests:
	@./wasm-modules/build.sh

.PHONY: bench
bench:
	$(GO) run ./internal/tools/bench

# BASE is the commit to compare with.
.PHONY: bench-check
bench-check:
	$(GO) run ./internal/tools/budgets -base $(or $(BASE),HEAD~1)

# ROUNDS is the number of measurements of each peer.
.PHONY: bench-peers
bench-peers:
	@./internal/tools/peers/install.sh
	$(GO) run ./internal/tools/peers -rounds $(or $(ROUNDS),3)

# All languages, limits, failures and cancellations at the same time, about 100,000
# runs in ten minutes on two cores. The output goes to docs/understand/proof.md.
# SPAN is the duration: make soak SPAN=2m
.PHONY: soak
soak:
	$(GO) run ./internal/tools/proof -of soak -keep '^  |runs of' -- env WEXEC_SOAK=$(or $(SPAN),1h) $(GO) test -count=1 -timeout 0 -run 'TestSoak$$' -v ./engine

# 200,000 requests of every kind from 64 clients of wexec serve, the output goes to
# docs/understand/proof.md.
.PHONY: soak-serve
soak-serve:
	$(GO) run ./internal/tools/proof -of soak-serve -keep 'requests|after a fifth|in the end|runs acknowledged' -- env WEXEC_SOAK=$(or $(SPAN),3h) $(GO) test -count=1 -timeout 0 -run 'TestSoak$$' -v ./cmd/wexec/httpd

.PHONY: compare
compare:
	$(GO) run ./internal/tools/compare

.PHONY: fuzz
fuzz:
	@./tests/fuzz.sh 10s

# Schemas, revealing, and what servers send, an hour in all on two processors:
# the output goes to docs/understand/proof.md. SPAN is the time of each target.
.PHONY: fuzz-hour
fuzz-hour:
	@$(GO) run ./internal/tools/proof -of fuzz-hour -- ./tests/fuzz.sh $(or $(SPAN),15m) '(FuzzCompileAndCheck|FuzzRevealUndoesTokenize|FuzzLines|FuzzAnswers|FuzzListedTools|FuzzTargets|FuzzEvents|FuzzPluginCallsOfWASI)$$'

.PHONY: store-kills
store-kills:
	@$(GO) run ./internal/tools/proof -of store-kills -keep 'runs accepted|^    ---' -- env WEXEC_STORE_KILLS=$(or $(KILLS),200) $(GO) test -count=1 -timeout 30m -run Killed -v ./store

# The same for busy servers of wexec serve on both stores.
.PHONY: serve-kills
serve-kills:
	@$(GO) run ./internal/tools/proof -of serve-kills -keep 'kills; ' -- env WEXEC_SERVE_KILLS=$(or $(KILLS),200) $(GO) test -count=1 -timeout 60m -run AKilledServer -v ./tests/doors

# Runs that go on in the next server, on both stores.
.PHONY: run-kills
run-kills:
	@$(GO) run ./internal/tools/proof -of run-kills -keep 'kills; ' -- env WEXEC_RUN_KILLS=$(or $(KILLS),150) $(GO) test -count=1 -timeout 90m -run GoesOnAfterItsServer -v ./tests/doors

# Random programs that go on after each record of their journal.
.PHONY: park-programs
park-programs:
	@$(GO) run ./internal/tools/proof -of park-programs -keep 'programs; ' -- env WEXEC_PARK_PROGRAMS=$(or $(PROGRAMS),2000) $(GO) test -count=1 -timeout 60m -run GoesOnFromEachOfItsRecords -v ./engine

# Archives for every platform and packages for Debian, with checksums and lists of
# contents, in dist/.
.PHONY: dist
dist:
	$(GO) run ./cmd/release -version $(VERSION) -out dist
	cd dist && sha256sum -c --quiet SHA256SUMS

# The animation in the README, filmed from a real run.
.PHONY: recording
recording: build
	$(GO) run ./internal/tools/recording

# The pictures of the pages in docs/pages, made by a browser from a seeded store.
.PHONY: screenshots
screenshots:
	@mkdir -p docs/pages
	WEXEC_SCREENSHOTS=$(CURDIR)/docs/pages $(GO) test -count=1 -run '^TestScreenshots$$' ./cmd/wexec/httpd

# Each part writes a section of docs/understand/proof.md.
conformance_parts = conformance-python conformance-javascript conformance-mcp
.PHONY: conformance $(conformance_parts)
conformance: $(conformance_parts)
$(conformance_parts): conformance-%: build
	@$(GO) run ./internal/tools/proof -of $@ -keep '^== |^✓|^Total|tests of .* modules|files of test262|tests of the web platform|Baseline check|^ok$$' -- ./tests/conformance.sh $*

.PHONY: clean
clean:
	rm -rf bin dist
