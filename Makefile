# make            builds the command and runs the commits job with it
# make test       the tests
# make check      everything that must hold before a change lands
# The rest, longer: arm64 bench bench-check bench-peers compare conformance soak guests fuzz dist recording

GO      ?= go
VERSION ?= $(shell git describe --tags --always --dirty 2>/dev/null || echo devel)
LDFLAGS  = -s -w -X main.version=$(VERSION)
# leaves out what the flag library writes manuals with, which each start pays for
TAGS     = urfave_cli_no_docs
export CGO_ENABLED = 0
# everywhere, so that nothing is compiled twice
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

# What depends on the processor, on an arm64 that qemu makes.
.PHONY: arm64
arm64:
	@./tests/arm64.sh

.PHONY: guests
guests:
	@./wasm-modules/build.sh

.PHONY: bench
bench:
	$(GO) run ./internal/tools/bench

# BASE is the commit to compare with, ROUNDS how often both take their turn
.PHONY: bench-check
bench-check:
	$(GO) run ./internal/tools/budgets -base $(or $(BASE),HEAD~1) -rounds $(or $(ROUNDS),5)

# ROUNDS says how often each peer is measured
.PHONY: bench-peers
bench-peers:
	@./internal/tools/peers/install.sh
	$(GO) run ./internal/tools/peers -rounds $(or $(ROUNDS),3)

# Every language, limit, fault and cancel at once, some 100,000 runs in ten
# minutes on two cores, written down in docs/understand/proof.md. SPAN says how long: make soak SPAN=2m
.PHONY: soak
soak:
	$(GO) run ./internal/tools/proof -of soak -keep '^  |runs of' -- env WEXEC_SOAK=$(or $(SPAN),1h) $(GO) test -count=1 -timeout 0 -run 'TestSoak$$' -v ./engine

.PHONY: compare
compare:
	$(GO) run ./internal/tools/compare

.PHONY: fuzz
fuzz:
	@./tests/fuzz.sh 10s

# Archives for every platform, their sums, and what is inside them, in dist/.
.PHONY: dist
dist:
	$(GO) run ./cmd/release -version $(VERSION) -out dist
	cd dist && sha256sum -c --quiet SHA256SUMS

# The moving picture of the README, from a real run.
.PHONY: recording
recording: build
	$(GO) run ./internal/tools/recording

.PHONY: conformance
conformance: build
	@$(GO) run ./internal/tools/proof -of conformance -keep '^== |^✓|^Total|tests of .* modules|Baseline check|^ok$$' -- ./tests/conformance.sh

.PHONY: clean
clean:
	rm -rf bin dist
