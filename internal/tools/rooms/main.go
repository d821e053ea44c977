// Rooms prints, for each package, its files, lines and arrows between files, and
// how many of those run back up in the best order of the files. Usage:
//
//	go run ./internal/tools/rooms [-v] [-C dir] [package ...]
//
// With -v it prints the order and each arrow back up.
package main

import (
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/wexec/wexec/internal/tools/filegraph"
)

func main() {
	verbose := flag.Bool("v", false, "print the order of the files and each arrow back up")
	dir := flag.String("C", ".", "measure the module in `dir`")
	flag.Parse()
	patterns := flag.Args()
	if len(patterns) == 0 {
		patterns = []string{"./..."}
	}
	packages, err := filegraph.Load(*dir, patterns...)
	if err != nil {
		fmt.Fprintln(os.Stderr, "rooms:", err)
		os.Exit(1)
	}
	slices.SortFunc(packages, func(a, b filegraph.Package) int { return strings.Compare(a.Path, b.Path) })
	table(packages)
	if *verbose {
		details(packages)
	}
}

func table(packages []filegraph.Package) {
	w := tabwriter.NewWriter(os.Stdout, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(w, "files\tlines\tlargest\tarrows\tback up\tcyclic\t  package")
	var files, lines, arrows, backUp, cyclic int
	for _, p := range packages {
		fmt.Fprintf(w, "%d\t%d\t%d\t%d\t%d\t%d\t  %s\n", p.Files, p.Lines, p.Largest, len(p.Arrows), len(p.BackUp), p.Cyclic, p.Path)
		files += p.Files
		lines += p.Lines
		arrows += len(p.Arrows)
		backUp += len(p.BackUp)
		cyclic += p.Cyclic
	}
	fmt.Fprintf(w, "%d\t%d\t\t%d\t%d\t%d\t  in all\n", files, lines, arrows, backUp, cyclic)
	w.Flush()
}

func details(packages []filegraph.Package) {
	for _, p := range packages {
		fmt.Printf("\n%s, foundations first: %s\n", p.Path, strings.Join(p.Order, " "))
		for _, a := range p.BackUp {
			fmt.Printf("  %s uses of %s: %s\n", a.From, a.To, strings.Join(a.Names, " "))
		}
	}
}
