package hostfns

import (
	"cmp"
	"context"
	"math"
	"slices"

	"github.com/wexec/wexec/catalogue"
)

// Meaning says how near tools are to a question by what they mean, as vectors
// of a language model do. It is never needed.
type Meaning interface {
	// Near gives a number for tools by their ID that grows with their nearness.
	// It keeps to a time limit of its own. An error means that it cannot say;
	// words decide then.
	Near(ctx context.Context, tools []catalogue.Tool, question string) (map[string]float64, error)
}

// Search looks tools up in a view of the table's catalogue, by words and, where
// the table has it, by meaning.
func (t *Table) Search(ctx context.Context, view *catalogue.Catalogue, q catalogue.Query) catalogue.Found {
	if t.options.Meaning == nil || len(catalogue.Words(catalogue.Asked(q.Text))) == 0 {
		return view.Search(q)
	}
	near, err := t.options.Meaning.Near(ctx, view.Tools(), catalogue.Asked(q.Text))
	if err != nil || len(near) == 0 {
		return view.Search(q)
	}
	probe := q
	probe.Limit, probe.Detail = 1, "name"
	best := leastScore
	if found := view.Search(probe); len(found.Tools) > 0 {
		best = found.Tools[0].Score
	}
	q.Boost = boosts(near, best)
	return view.Search(q)
}

// What meaning counts for.
const (
	leastScore = 4.0 // stands for the words' best score where they found nothing
	weight     = 0.9 // of the nearest tool, against the best of words
	mostNear   = 40  // tools beyond these are not near
	standsOut  = 2.0 // deviations from the mean that a near tool has at least
)

// boosts makes scores of nearness. What counts is how far a tool stands out
// from all others, since the numbers themselves differ from model to model.
func boosts(near map[string]float64, best float64) map[string]float64 {
	type one struct {
		id string
		z  float64
	}
	var sum, squares float64
	for _, v := range near {
		sum += v
		squares += v * v
	}
	n := float64(len(near))
	mean := sum / n
	deviation := math.Sqrt(max(0, squares/n-mean*mean))
	least := min(standsOut, 0.6*math.Sqrt(max(0, n-1))) // of few tools none can stand out far
	if deviation < 1e-9 {
		return nil
	}
	var all []one
	for id, v := range near {
		if z := (v - mean) / deviation; z >= least {
			all = append(all, one{id, z})
		}
	}
	slices.SortFunc(all, func(a, b one) int { return cmp.Or(cmp.Compare(b.z, a.z), cmp.Compare(a.id, b.id)) })
	out := map[string]float64{}
	for _, o := range all[:min(mostNear, len(all))] {
		out[o.id] = weight * best * o.z / all[0].z
	}
	return out
}
