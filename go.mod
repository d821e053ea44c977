module github.com/wexec/wexec

go 1.26.0

require (
	cel.dev/cel-go v0.33.2 // conditions of policy rules
	github.com/creack/pty v1.1.24 // tests: a pseudo-terminal for progress, prompts and Ctrl-C
	github.com/evanw/esbuild v0.28.2 // the TypeScript compiler, built as a guest
	github.com/extism/go-sdk v1.7.1 // drives every guest and foreign plugin
	github.com/goccy/go-yaml v1.19.2 // policy and configuration files, with line and column
	github.com/google/go-cmp v0.7.0 // tests: readable differences
	github.com/google/jsonschema-go v0.4.3 // schemas of tools: arguments are checked before a call
	github.com/klauspost/compress v1.20.3 // zstd for the committed guests
	github.com/modelcontextprotocol/go-sdk v1.8.0 // MCP, as a client of servers and as a server for agents
	github.com/nyaruka/phonenumbers v1.8.1 // tests and generator: the oracle of the phone table
	github.com/rogpeppe/go-internal v1.16.0 // tests: testscript
	github.com/santhosh-tekuri/jsonschema/v6 v6.0.3 // tests: the oracle of the schema check
	github.com/tetratelabs/wazero v1.12.0 // the WebAssembly runtime
	github.com/tiktoken-go/tokenizer v0.10.0 // tests and comparisons: exact token counts
	github.com/urfave/cli/v2 v2.27.7 // the command line
	go.uber.org/goleak v1.3.0 // tests: no goroutine is left behind
	golang.org/x/net v0.62.0 // names and addresses of hosts in fetch
	golang.org/x/oauth2 v0.35.0 // tokens of HTTP MCP servers
	golang.org/x/sync v0.24.0 // bounded and single flight work
	golang.org/x/sys v0.49.0 // memory mappings and process groups
	golang.org/x/term v0.47.0 // whether a person is at the terminal
	golang.org/x/text v0.43.0 // unicode normal forms of names and personal data
	pgregory.net/rapid v1.3.0 // tests: properties
)

require (
	cel.dev/expr v0.25.1 // indirect
	github.com/antlr4-go/antlr/v4 v4.13.1 // indirect
	github.com/cpuguy83/go-md2man/v2 v2.0.7 // indirect
	github.com/dlclark/regexp2/v2 v2.5.1 // indirect
	github.com/dylibso/observe-sdk/go v0.0.0-20240819160327-2d926c5d788a // indirect
	github.com/gobwas/glob v0.2.3 // indirect
	github.com/ianlancetaylor/demangle v0.0.0-20240805132620-81f5be970eca // indirect
	github.com/kr/text v0.2.0 // indirect
	github.com/russross/blackfriday/v2 v2.1.0 // indirect
	github.com/segmentio/asm v1.1.3 // indirect
	github.com/segmentio/encoding v0.5.4 // indirect
	github.com/tetratelabs/wabin v0.0.0-20230304001439-f6f874872834 // indirect
	github.com/xrash/smetrics v0.0.0-20240521201337-686a1a2994c1 // indirect
	github.com/yosida95/uritemplate/v3 v3.0.2 // indirect
	go.opentelemetry.io/proto/otlp v1.3.1 // indirect
	go.yaml.in/yaml/v3 v3.0.4 // indirect
	golang.org/x/exp v0.0.0-20240823005443-9b4947da3948 // indirect
	golang.org/x/time v0.15.0 // indirect
	golang.org/x/tools v0.51.0 // indirect
	google.golang.org/genproto/googleapis/api v0.0.0-20240826202546-f6391c0de4c7 // indirect
	google.golang.org/genproto/googleapis/rpc v0.0.0-20240826202546-f6391c0de4c7 // indirect
	google.golang.org/protobuf v1.36.11 // indirect
)
