package service

import (
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"sync"

	"github.com/wexec/wexec/catalogue"
	"github.com/wexec/wexec/engine"
	"github.com/wexec/wexec/fault"
	"github.com/wexec/wexec/hostfns"
	"github.com/wexec/wexec/internal/prices"
	"github.com/wexec/wexec/policy"
)

// PricesFile is the file in the data folder that replaces the public prices.
const PricesFile = "prices.yaml"

// maxPrices bounds the size of that file.
const maxPrices = 1 << 20

// OwnDefinitions is about how many tokens the definitions of the MCP server's own
// tools have. A model reads them to write programs.
const OwnDefinitions = 730

// pricing tells what runs cost.
type pricing struct {
	mu          sync.Mutex
	list        *prices.List
	definitions map[*catalogue.Catalogue]int64 // tokens of the definitions of its tools
}

// maxDefinitions bounds the catalogues whose definitions are counted.
const maxDefinitions = 64

// read reads the prices of a data folder.
func (p *pricing) read(data string) error {
	path := filepath.Join(data, PricesFile)
	list, err := prices.Public()
	info, statErr := os.Stat(path)
	switch {
	case errors.Is(statErr, fs.ErrNotExist):
	case statErr != nil:
		err = fault.New(fault.UsageConfig, "read the prices: %w", statErr)
	case !info.Mode().IsRegular() || info.Size() > maxPrices:
		err = fault.New(fault.UsageConfig, "%s is not a file of at most %d bytes", path, maxPrices)
	default:
		var text []byte
		if text, err = os.ReadFile(path); err != nil {
			err = fault.New(fault.UsageConfig, "read the prices: %w", err)
		} else {
			list, err = prices.Parse(path, text)
		}
	}
	if err != nil {
		return err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.list = list
	return nil
}

// current returns the prices.
func (p *pricing) current() *prices.List {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.list
}

// check refuses a model without a price. "" is the default model.
func (p *pricing) check(model string) error {
	_, err := p.current().Model(model)
	return err
}

// CheckModel refuses a model that has no price in a data folder. "" is the default model.
func CheckModel(data, model string) error {
	var p pricing
	err := p.read(data)
	if err == nil {
		err = p.check(model)
	}
	if err != nil {
		return fault.New(fault.UsageToken, "%w", err).WithHint("%s", fault.HintOf(err))
	}
	return nil
}

// cost returns what a run cost at the prices of a model, and what the same calls would
// have cost without a program; nil if the model has no price any more. With a program
// the model reads our definitions and the result, and writes the program. Without
// one it reads the definitions of all tools and every answer.
func (p *pricing) cost(model string, written int64, table *hostfns.Table, u engine.Usage) *engine.Cost {
	list := p.current()
	m, err := list.Model(model)
	if err != nil {
		return nil
	}
	c := &engine.Cost{Currency: list.Currency, Model: m.Name, Program: amount(m.Cost(OwnDefinitions+u.TokensOut, written))}
	if u.ToolCalls > 0 && table != nil {
		c.Plain = amount(m.Cost(p.defined(table)+u.TokensInTools, 0))
	}
	return c
}

// amount is an amount in the currency.
func amount(millionths int64) float64 { return float64(millionths) / 1e6 }

// DefinitionTokens estimates the tokens of the definition of a tool as models read it.
func DefinitionTokens(tool catalogue.Tool) int64 {
	text, err := json.Marshal(map[string]any{"name": tool.ID(), "description": tool.Description, "input_schema": tool.InputSchema})
	if err != nil { // the schema is not JSON
		return 0
	}
	return engine.EstimateTokens(text)
}

// defined returns the tokens of the definitions of the tools that a table offers, as
// far as servers have listed them.
func (p *pricing) defined(table *hostfns.Table) (n int64) {
	known, _ := table.Known()
	offered := table.Offered(known)
	p.mu.Lock()
	n, ok := p.definitions[offered]
	p.mu.Unlock()
	if ok {
		return n
	}
	for _, tool := range offered.Tools() {
		n += DefinitionTokens(tool)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.definitions == nil || len(p.definitions) >= maxDefinitions {
		p.definitions = map[*catalogue.Catalogue]int64{}
	}
	p.definitions[offered] = n
	return n
}

// within lowers the limits of a run to the fuel that its accounts have left for this
// day.
func within(l policy.Limits, fuel int64) policy.Limits {
	if fuel < l.OrDefaults().Fuel {
		l.Fuel = fuel
	}
	return l
}

// spentUp says that a run which used all of the fuel that its accounts had left is
// over a quota, where the limit of the run would have allowed more.
func spentUp(res *engine.Result, err error, asked policy.Limits, fuel int64) (*engine.Result, error) {
	if res == nil || res.Error == nil || res.Error.Code != fault.LimitFuel || asked.OrDefaults().Fuel <= fuel {
		return res, err
	}
	over := fault.New(fault.LimitQuota, "the run used the last fuel that a quota allows on this day").
		WithHint("wait until midnight UTC, or ask an administrator for a higher quota")
	place := *res.Error
	res.Error = errorOf(over)
	res.Error.File, res.Error.Line, res.Error.Column, res.Error.Excerpt, res.Error.Stack = place.File, place.Line, place.Column, place.Excerpt, place.Stack
	return res, over
}
