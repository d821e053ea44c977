module github.com/wexec/wexec

go 1.26.0

require (
	cel.dev/cel-go v0.33.2 // conditions of policy rules
	github.com/chromedp/chromedp v0.23.0 // tests: pages in a real browser
	github.com/creack/pty v1.1.24 // tests: pseudo-terminal
	github.com/evanw/esbuild v0.28.2 // the TypeScript compiler, built as a guest
	github.com/extism/go-sdk v1.7.1 // runs guests and plugins
	github.com/goccy/go-yaml v1.19.2 // policy and configuration files, with line and column
	github.com/google/go-cmp v0.7.0 // tests: diffs
	github.com/google/jsonschema-go v0.4.3 // derives input schemas of Go tools from their types
	github.com/klauspost/compress v1.20.3 // zstd for the committed guests
	github.com/modelcontextprotocol/go-sdk v1.8.0 // MCP client and server
	github.com/nyaruka/phonenumbers v1.8.1 // tests and generator: reference for telephone numbers
	github.com/pelletier/go-toml/v2 v2.4.3 // the configuration file of Codex
	github.com/rogpeppe/go-internal v1.16.0 // tests: testscript
	github.com/santhosh-tekuri/jsonschema/v6 v6.0.3 // tests: reference for schema validation
	github.com/tailscale/hujson v0.0.0-20260727124030-b80ff77dac4f // configuration files of MCP clients: JSON with comments
	github.com/tetratelabs/wazero v1.12.0 // the WebAssembly runtime
	github.com/tiktoken-go/tokenizer v0.10.0 // tests and make compare: exact token counts
	github.com/urfave/cli/v2 v2.27.7 // the command line
	go.uber.org/goleak v1.3.0 // tests: goroutine leaks
	golang.org/x/net v0.62.0 // internationalized host names, HTTP header checks
	golang.org/x/oauth2 v0.37.0 // logins to HTTP MCP servers
	golang.org/x/sys v0.49.0 // memory mappings and process groups
	golang.org/x/term v0.47.0 // terminal detection and password input
	golang.org/x/text v0.43.0 // Unicode normalization
	pgregory.net/rapid v1.3.0 // tests: property-based testing
)

require (
	github.com/jackc/pgx/v5 v5.12.0 // PostgreSQL, for the store
	modernc.org/sqlite v1.61.1 // SQLite, for the store
)

require (
	cel.dev/expr v0.25.1 // indirect
	github.com/antlr4-go/antlr/v4 v4.13.1 // indirect
	github.com/cpuguy83/go-md2man/v2 v2.0.7 // indirect
	github.com/dlclark/regexp2/v2 v2.5.1 // indirect
	github.com/dustin/go-humanize v1.1.0 // indirect
	github.com/dylibso/observe-sdk/go v0.0.0-20240819160327-2d926c5d788a // indirect
	github.com/getkin/kin-openapi v0.152.0 // tests: OpenAPI documents, requests and answers
	github.com/gobwas/glob v0.2.3 // indirect
	github.com/google/uuid v1.6.0 // indirect
	github.com/ianlancetaylor/demangle v0.0.0-20240805132620-81f5be970eca // indirect
	github.com/jackc/pgpassfile v1.0.0 // indirect
	github.com/jackc/pgservicefile v0.0.0-20240606120523-5a60cdf6a761 // indirect
	github.com/jackc/puddle/v2 v2.2.3 // indirect
	github.com/mattn/go-isatty v0.0.24 // indirect
	github.com/ncruces/go-strftime v1.1.0 // indirect
	github.com/remyoudompheng/bigfft v0.0.0-20230129092748-24d4a6f8daec // indirect
	github.com/russross/blackfriday/v2 v2.1.0 // indirect
	github.com/segmentio/asm v1.1.3 // indirect
	github.com/segmentio/encoding v0.5.4 // indirect
	github.com/tetratelabs/wabin v0.0.0-20230304001439-f6f874872834 // indirect
	github.com/xrash/smetrics v0.0.0-20240521201337-686a1a2994c1 // indirect
	github.com/yosida95/uritemplate/v3 v3.0.2 // indirect
	go.opentelemetry.io/proto/otlp v1.11.0 // the messages of OTLP
	go.yaml.in/yaml/v3 v3.0.5 // indirect
	golang.org/x/exp v0.0.0-20240823005443-9b4947da3948 // indirect
	golang.org/x/sync v0.24.0 // indirect
	golang.org/x/time v0.15.0 // indirect
	golang.org/x/tools v0.52.0 // indirect
	google.golang.org/genproto/googleapis/api v0.0.0-20260720211330-0afa2a65878a // indirect
	google.golang.org/genproto/googleapis/rpc v0.0.0-20260720211330-0afa2a65878a // indirect
	google.golang.org/protobuf v1.36.12 // the messages of OTLP
	modernc.org/libc v1.79.0 // indirect
	modernc.org/mathutil v1.7.1 // indirect
	modernc.org/memory v1.12.1 // indirect
)

require (
	go.opentelemetry.io/otel v1.47.0 // names and propagation of spans
	go.opentelemetry.io/otel/exporters/otlp/otlptrace v1.47.0 // spans as OTLP; not otlptracehttp, which links gRPC
	go.opentelemetry.io/otel/sdk v1.47.0 // batches of spans, for the command
	go.opentelemetry.io/otel/trace v1.47.0 // spans of runs, guests, calls and approvals
)

require (
	github.com/prometheus/client_model v0.6.3 // tests: reads metrics as Prometheus does
	github.com/prometheus/common v0.73.1 // tests: reads metrics as Prometheus does
)

require (
	github.com/cespare/xxhash/v2 v2.3.0 // indirect
	github.com/chromedp/cdproto v0.159.0 // indirect
	github.com/go-json-experiment/json v0.0.0-20260213210345-44df1a37e875 // indirect
	github.com/go-logr/logr v1.4.4 // indirect
	github.com/go-logr/stdr v1.2.2 // indirect
	github.com/go-openapi/jsonpointer v0.22.5 // indirect
	github.com/go-openapi/swag/jsonname v0.25.5 // indirect
	github.com/gorilla/mux v1.8.0 // indirect
	github.com/munnerz/goautoneg v0.0.0-20191010083416-a7dc8b61c822 // indirect
	github.com/oasdiff/yaml v0.1.1 // indirect
	github.com/oasdiff/yaml3 v0.0.14 // indirect
	github.com/pandatix/go-abnf v0.5.3 // indirect
	go.opentelemetry.io/auto/sdk v1.2.1 // indirect
	go.opentelemetry.io/otel/log v1.47.0 // indirect
	go.opentelemetry.io/otel/metric v1.47.0 // indirect
)
