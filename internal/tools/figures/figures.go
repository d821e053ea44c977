// Package figures compares measured figures with the documents that show them.
package figures

import (
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"
)

// day is the date that a part of a document was written on.
var day = regexp.MustCompile(`\d{4}-\d\d-\d\d`)

// Today stands for the date in figures: the day on which they changed.
const Today = "DATE"

// Compare compares the part of a document that a command writes with what a test
// measured. The part is between two comments: "what follows is written by:
// COMMAND" and "what COMMAND wrote ends here". With update, Compare writes it.
// Dates are not compared.
func Compare(t testing.TB, document, command, measured string, update bool) {
	t.Helper()
	data, err := os.ReadFile(document)
	if err != nil {
		t.Fatal(err)
	}
	begin, end := fmt.Sprintf("<!-- what follows is written by: %s -->\n", command), fmt.Sprintf("<!-- what %s wrote ends here -->", command)
	before, rest, found := strings.Cut(string(data), begin)
	shown, after, ended := strings.Cut(rest, end)
	if !found || !ended {
		t.Fatalf("%s has no part that is written by: %s", document, command)
	}
	if day.ReplaceAllLiteralString(shown, Today) == measured {
		return
	}
	if !update {
		t.Errorf("%s shows\n%s\nbut the test measured\n%s\nrun: %s", document, shown, measured, command)
		return
	}
	measured = strings.ReplaceAll(measured, Today, time.Now().UTC().Format(time.DateOnly))
	if err := os.WriteFile(document, []byte(before+begin+measured+end+after), 0o644); err != nil {
		t.Fatal(err)
	}
}
