package main

import (
	"os"
	"strings"
	"testing"
)

func TestMoneyIsThatOfTheTokensAtTheListPrices(t *testing.T) {
	c := comparison(t)
	o := outcomeOf("a job", 0, 0, 0.98)
	o.plain = side{definitions: 400_000, read: 500_000, written: 100_000, calls: 3}
	o.program = side{definitions: 600, read: 400, written: 200}
	text := c.money(countsOf([]outcome{o}))
	m, err := c.prices.Model("")
	if err != nil {
		t.Fatal(err)
	}
	want := "| a job | " + amount(m.Cost(900_000, 100_000)) + " | " + amount(m.Cost(1000, 200)) + " |"
	if !strings.Contains(text, want) || !strings.Contains(text, c.prices.Date) {
		t.Errorf("the section lacks %q:\n%s", want, text)
	}
	chosen, err := models(c.prices)
	if err != nil || len(chosen) != 3 || chosen[0].Maker == chosen[1].Maker || chosen[1].Maker == chosen[2].Maker || chosen[0].Maker == chosen[2].Maker {
		t.Errorf("%v %v", chosen, err)
	}
	document := c.document([]outcome{o}, nil)
	if !strings.Contains(document, text) {
		t.Error("the document has no money")
	}
	again, err := c.repriced(document)
	if err != nil || again != document {
		t.Errorf("the money changes without a change of prices: %v\n%s", err, again)
	}
	without := document[:strings.Index(document, moneyTitle)] + document[strings.Index(document, "\n## The estimate"):]
	if again, err = c.repriced(without); err != nil || again != document {
		t.Errorf("the money is not added: %v", err)
	}
	if _, err := c.repriced("# a page"); err == nil {
		t.Error("a page without counts has money")
	}
}

func TestTheMoneyOnThePageFollowsFromItsTokens(t *testing.T) {
	page, err := os.ReadFile("../../../docs/understand/compare.md")
	if err != nil {
		t.Fatal(err)
	}
	text, err := comparison(t).repriced(string(page))
	if err != nil || text != string(page) {
		t.Errorf("run go run ./internal/tools/compare -prices: %v", err)
	}
}
