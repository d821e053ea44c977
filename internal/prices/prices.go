// Package prices knows what the tokens of public language models cost.
package prices

import (
	_ "embed"
	"math"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/wexec/wexec/fault"
	"github.com/wexec/wexec/internal/yamldoc"
)

//go:embed prices.yaml
var public []byte

// Public returns the list prices of public models at the date of this release.
var Public = sync.OnceValues(func() (*List, error) { return Parse("prices.yaml", public) })

// List is the prices of models at a date.
type List struct {
	Currency, Date string
	Default        string // the model of actors whose model is not known
	Models         []Model
}

// Model is a model and its prices.
type Model struct {
	Name, Maker   string
	Input, Output float64 // of a million tokens that it reads, and that it writes
}

// document is a prices.yaml. The tags are those of package yamldoc.
type document struct {
	Currency string               `yaml:"currency" need:"yes" doc:"currency of the prices, such as USD"`
	Date     string               `yaml:"date" need:"yes" doc:"day on which they were valid, such as 2026-01-31"`
	Default  string               `yaml:"default" need:"yes" doc:"model of actors whose model is not known"`
	Models   yamldoc.Map[written] `yaml:"models" need:"yes" doc:"models by name"`
}

// written is a model of a prices.yaml.
type written struct {
	Maker  string `yaml:"maker" doc:"who makes it"`
	Input  price  `yaml:"input" need:"yes" doc:"price of a million tokens that it reads"`
	Output price  `yaml:"output" need:"yes" doc:"price of a million tokens that it writes"`
}

// price is a price of a million tokens.
type price float64

// maxPrice bounds a price.
const maxPrice = 1e6

// UnmarshalText reads a price.
func (p *price) UnmarshalText(text []byte) error {
	n, err := strconv.ParseFloat(string(text), 64)
	if err != nil || !(n >= 0 && n <= maxPrice) {
		return fault.New(fault.UsageConfig, "%.40q is not a price", text).WithHint("write it as 3 or 0.25")
	}
	*p = price(n)
	return nil
}

// Parse reads a prices.yaml and checks it. name is that of the file.
func Parse(name string, data []byte) (*List, error) {
	r := &yamldoc.Reporter{File: name}
	var d document
	yamldoc.Decode(r, data, &d)
	if err := r.Err(fault.UsageConfig); err != nil {
		return nil, err
	}
	l := &List{Currency: d.Currency, Date: d.Date, Default: d.Default}
	for _, m := range d.Models {
		l.Models = append(l.Models, Model{m.Key, m.V.Maker, float64(m.V.Input), float64(m.V.Output)})
	}
	if _, err := time.Parse(time.DateOnly, l.Date); err != nil {
		return nil, fault.New(fault.UsageConfig, "%s: date: %.40q is not a day", name, l.Date).WithHint("write it as 2026-01-31")
	}
	if len(l.Currency) != 3 || strings.Trim(l.Currency, "ABCDEFGHIJKLMNOPQRSTUVWXYZ") != "" {
		return nil, fault.New(fault.UsageConfig, "%s: currency: %.40q is not a currency", name, l.Currency).WithHint("write it as USD")
	}
	if _, err := l.Model(l.Default); err != nil {
		return nil, fault.New(fault.UsageConfig, "%s: default: %w", name, err)
	}
	return l, nil
}

// Model returns a model by its name; "" is the default model.
func (l *List) Model(name string) (Model, error) {
	if name == "" {
		name = l.Default
	}
	i := slices.IndexFunc(l.Models, func(m Model) bool { return m.Name == name })
	if i < 0 {
		var names []string
		for _, m := range l.Models {
			names = append(names, m.Name)
		}
		return Model{}, fault.New(fault.UsageConfig, "the model %.60q has no price", name).WithHint("%s", yamldoc.Suggest(name, names))
	}
	return l.Models[i], nil
}

// Cost returns the price of tokens that the model reads and writes, in millionths of
// the currency.
func (m Model) Cost(input, output int64) int64 {
	return int64(math.Round(min(float64(input)*m.Input+float64(output)*m.Output, 1<<60)))
}
