package main

import (
	"fmt"
	"os"
	"regexp"
	"strconv"
	"strings"

	"github.com/wexec/wexec/internal/prices"
)

// counts are the tokens of a job, both ways: what a model reads and writes.
type counts struct {
	name           string
	plain, program tokens
}

type tokens struct{ read, written int }

func countsOf(all []outcome) (out []counts) {
	of := func(s side) tokens { return tokens{s.definitions + s.read, s.written} }
	for _, o := range all {
		out = append(out, counts{o.job.name, of(o.plain), of(o.program)})
	}
	return out
}

// models are the default model and the first model of each other maker, three in all.
func models(list *prices.List) ([]prices.Model, error) {
	first, err := list.Model("")
	all := []prices.Model{first}
	for _, m := range list.Models {
		known := false
		for _, k := range all {
			known = known || k.Maker == m.Maker
		}
		if !known && len(all) < 3 {
			all = append(all, m)
		}
	}
	return all, err
}

// moneyTitle begins the section about money.
const moneyTitle = "\n## Money\n"

// money formats the section about money.
func (c *compare) money(jobs []counts) string {
	chosen, err := models(c.prices)
	if err != nil {
		return "\n" + err.Error() + "\n"
	}
	var b, line strings.Builder
	fmt.Fprintf(&b, "%s\nWhat one request costs by plain calls and by a program, in %s, at the list prices of %s ([prices.yaml](../../internal/prices/prices.yaml)): definitions and answers are read, calls and the program are written.\n\n| job |",
		moneyTitle, c.prices.Currency, c.prices.Date)
	for _, m := range chosen {
		fmt.Fprintf(&b, " %s, plain | program |", m.Name)
		line.WriteString("---:|---:|")
	}
	b.WriteString("\n|---|" + line.String() + "\n")
	for _, j := range jobs {
		fmt.Fprintf(&b, "| %s |", j.name)
		for _, m := range chosen {
			for _, t := range []tokens{j.plain, j.program} {
				fmt.Fprintf(&b, " %s |", amount(m.Cost(int64(t.read), int64(t.written))))
			}
		}
		b.WriteString("\n")
	}
	b.WriteString("\nTokens are counted once, as above. Caches and batches make both sides cheaper; turns that send the conversation again, and the surcharge of some models for long prompts, make plain calls dearer.\n")
	return b.String()
}

// amount formats millionths of a currency.
func amount(millionths int64) string {
	if millionths >= 100_000 {
		return fmt.Sprintf("%.2f", float64(millionths)/1e6)
	}
	return fmt.Sprintf("%.4f", float64(millionths)/1e6)
}

// countLine is a line of the table with the tokens of both sides.
var countLine = regexp.MustCompile(`(?m)^\| ([^|]+) \| [^|]+: [0-9,]+ calls \| ([0-9,]+) \| ([0-9,]+) \| ([0-9,]+) \| ([0-9,]+) \| ([0-9,]+) \| ([0-9,]+) \|$`)

// recorded reads the tokens of the jobs from a document.
func recorded(document string) (all []counts, err error) {
	for _, m := range countLine.FindAllStringSubmatch(document, -1) {
		var n [6]int
		for i := range n {
			if n[i], err = strconv.Atoi(strings.ReplaceAll(m[2+i], ",", "")); err != nil {
				return nil, err
			}
		}
		all = append(all, counts{m[1], tokens{n[0] + n[2], n[1]}, tokens{n[3] + n[5], n[4]}})
	}
	if len(all) == 0 {
		return nil, fmt.Errorf("the document has no token counts")
	}
	return all, nil
}

// repriced returns a document with the money of its token counts.
func (c *compare) repriced(document string) (string, error) {
	jobs, err := recorded(document)
	if err != nil {
		return "", err
	}
	before, rest, found := strings.Cut(document, moneyTitle)
	var next int
	if found {
		next = strings.Index(rest, "\n## ")
	} else if next = strings.Index(document, "\n## The estimate"); next >= 0 {
		before, rest = document[:next], document[next:]
		next = 0
	}
	if next < 0 {
		return "", fmt.Errorf("the document has no section after the token counts")
	}
	return before + c.money(jobs) + rest[next:], nil
}

// priced calculates the money in a file again.
func priced(path string, list *prices.List) error {
	data, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	text, err := (&compare{prices: list}).repriced(string(data))
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	return os.WriteFile(path, []byte(text), 0o644)
}
