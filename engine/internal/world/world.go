// Package world is what a run sees outside its sandbox: clock, random bytes,
// standard input, files, environment, and the order in which answers arrive.
// A run gets a [Live] world, which can record what the run sees for the audit,
// or a [Recorded] one, which shows a replay what the recorded run saw.
//
// The methods of a world belong to the goroutine of the guest, except Sleep,
// Now and Elapsed, which any goroutine may call.
package world

import (
	"context"
	"io"
	"maps"
	"slices"
	"time"

	experimentalsys "github.com/tetratelabs/wazero/experimental/sys"

	"github.com/wexec/wexec/audit"
	"github.com/wexec/wexec/fault"
)

// World is what one run sees.
type World interface {
	// Started returns the time at which the run's clock began.
	Started() time.Time
	// Now returns the wall time.
	Now() time.Time
	// Elapsed returns the monotonic time since Started.
	Elapsed() time.Duration
	// Sleep waits for d, or returns the cause of the end of ctx.
	Sleep(ctx context.Context, d time.Duration) error

	// Environment returns what the program is told about its surroundings.
	Environment() Environment
	// Entropy returns the source of random bytes.
	Entropy() io.Reader
	// Seed returns the seed of Entropy as the audit records it.
	Seed() []byte
	// ReadStdin reads the standard input. It may block until ctx ends.
	ReadStdin(ctx context.Context, p []byte) (int, error)
	// Files returns the file system of the run. The argument is that of the
	// run's providers, or nil. A replay that differs from its record calls fail.
	Files(provided experimentalsys.FS, fail func(error)) experimentalsys.FS
	// AnswerOrder returns the order in which the answers of calls are announced.
	// Calls beyond its end are answered as they complete.
	AnswerOrder() []uint64

	// Record makes the world remember what the run sees.
	Record()
	// Seen returns what the run saw since Record. It is nil without Record.
	Seen() *audit.World
	// Verify compares the end of a replay with the recorded one. It returns the
	// recorded end, whose texts the result shows, or the first difference. A live
	// run has nothing to compare with: both are nil.
	Verify(end *audit.End, failure *fault.Error, missing func() (audit.Call, bool)) (*audit.End, *fault.Error)
}

// Environment is what the program is told about its surroundings.
type Environment struct {
	Variables map[string]string
	Servers   []string // identifiers of tool servers
	Offers    []string // features, see the Offer constants
}

// Features that a run may offer. The record of its start names them.
const (
	OfferApp       = "app"       // files of the program's folder, at /app
	OfferPackages  = "packages"  // pure packages, at /packages
	OfferWorkspace = "workspace" // the workspace of the run, at /workspace
	OfferFetch     = "fetch"     // the network
	OfferPII       = "pii"       // personal data is replaced by tokens
	OfferGranted   = "granted"   // files of the host are granted, or a person may be asked for them
	OfferArtifacts = "artifacts" // a value over the output limit is kept as an artifact
	OfferFiles     = "files"     // a provider of files
)

// Has reports whether a feature is offered.
func (e Environment) Has(offer string) bool { return slices.Contains(e.Offers, offer) }

// Pairs returns the variables as NAME=VALUE, sorted.
func (e Environment) Pairs() []string {
	var pairs []string
	for _, name := range slices.Sorted(maps.Keys(e.Variables)) {
		pairs = append(pairs, name+"="+e.Variables[name])
	}
	return pairs
}
