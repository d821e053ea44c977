// Go drives the peers that are written in Go. It is a separate module, so the main
// module does not depend on them.
package main

import (
	"fmt"
	"os"
	"time"

	"github.com/dop251/goja"
	"modernc.org/quickjs"

	"github.com/wexec/wexec/internal/tools/peers/drive"
)

func main() {
	if err := drive.Main(os.Stdin, os.Stdout, open); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func open(spec drive.Spec) (drive.Peer, error) {
	answers := map[string]string{}
	for name, file := range spec.Answers {
		data, err := os.ReadFile(file)
		if err != nil {
			return nil, err
		}
		answers[name] = string(data)
	}
	call := func(name, _ string) string { return answers[name] }
	switch spec.Peer {
	case "goja":
		return gojaPeer(call), nil
	case "modernc.org/quickjs":
		return quickjsPeer(call), nil
	}
	return nil, fmt.Errorf("unknown peer %s", spec.Peer)
}

type gojaPeer func(name, args string) string

func (p gojaPeer) Fresh(bool) (drive.Sandbox, error) {
	vm := goja.New()
	return gojaBox{vm}, vm.Set("hostCall", (func(name, args string) string)(p))
}

type gojaBox struct{ vm *goja.Runtime }

func (b gojaBox) Run(program string) (string, time.Duration, error) {
	v, err := b.vm.RunString(program)
	if err != nil {
		return "", 0, err
	}
	return v.String(), 0, nil
}

func (gojaBox) Close() error { return nil }

type quickjsPeer func(name, args string) string

func (p quickjsPeer) Fresh(bool) (drive.Sandbox, error) {
	vm, err := quickjs.NewVM()
	if err != nil {
		return nil, err
	}
	return quickjsBox{vm}, vm.RegisterFunc("hostCall", (func(name, args string) string)(p), false)
}

type quickjsBox struct{ vm *quickjs.VM }

func (b quickjsBox) Run(program string) (string, time.Duration, error) {
	v, err := b.vm.Eval(program, quickjs.EvalGlobal)
	return fmt.Sprint(v), 0, err
}

func (b quickjsBox) Close() error { return b.vm.Close() }
