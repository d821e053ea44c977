// Wexec runs code that agents wrote, in a sandbox, next to the tools the agent
// may use.
package main

import (
	"context"
	"os"

	"github.com/wexec/wexec/cmd/wexec/cli"
)

// version is set when a release is built.
var version = "devel"

func main() {
	os.Exit(cli.Main(context.Background(), os.Args, version))
}
