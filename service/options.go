// Package service is what the doors of a server share: tenants, the tokens of their
// clients, and runs that go on without their caller.
//
// A [Service] executes runs under leases of a store, so that a run which a process
// has lost ends with an error and never runs twice. What it stores and answers has
// tokens where personal data was.
//
// A person can be deleted. The values of a run's tokens are a sealed row, and an HMAC
// of each leads to the run; texts are searched for marks of the value: its length, a
// rolling hash and an HMAC. So the record of a deletion has no value and applies again
// to a store that is restored from an older backup. A run is removed as a whole.
package service

import (
	"log/slog"

	"go.opentelemetry.io/otel/trace"

	"github.com/wexec/wexec/config"
	"github.com/wexec/wexec/store"
)

// Options configure a [Service]. Store, Data and Env are required.
type Options struct {
	Store   *store.Store
	Data    string // folder of the server: tenants/NAME has the files of a tenant
	Env     *config.Environment
	Version string
	Logger  *slog.Logger         // nil discards
	Tracing trace.TracerProvider // see [engine.Config]
	// Running is how many runs this process has at once; further ones wait in the
	// store for any process. Zero is 256.
	Running int
	// Address is that of the server, such as http://127.0.0.1:8080. Links to its pages
	// have it where a tenant sets no other.
	Address string
	// Keys seal what lasts. Nil opens those of WEXEC_SEAL_KEY or of seal.key in Data.
	Keys *Keys
	// Blobs keeps the content of artifacts: a folder, or s3://BUCKET/PREFIX. Empty
	// is the folder blobs in Data.
	Blobs string
}

// defaultRunning is how many runs a process has at once unless told.
const defaultRunning = 256
