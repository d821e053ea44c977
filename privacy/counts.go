package privacy

import "slices"

// maxFields bounds the fields that Counts names.
const maxFields = 64

// Counts says how much was found, without the values.
type Counts struct {
	Kinds  map[Kind]int `json:"counts,omitempty"`
	Fields []string     `json:"fields,omitempty"` // where, sorted: customers[].email; at most 64
}

// Total is the number of findings.
func (c Counts) Total() int {
	n := 0
	for _, k := range c.Kinds {
		n += k
	}
	return n
}

// Add adds other counts to c.
func (c *Counts) Add(o Counts) {
	for k, n := range o.Kinds {
		c.add(k, n)
	}
	for _, f := range o.Fields {
		c.addField(f)
	}
}

func (c *Counts) add(k Kind, n int) {
	if c.Kinds == nil {
		c.Kinds = make(map[Kind]int)
	}
	c.Kinds[k] += n
}

func (c *Counts) addField(f string) {
	if i, ok := slices.BinarySearch(c.Fields, f); !ok && len(c.Fields) < maxFields && f != "" {
		c.Fields = slices.Insert(c.Fields, i, f)
	}
}
