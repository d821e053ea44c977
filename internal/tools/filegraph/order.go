package filegraph

import "slices"

// bestOrder sorts files so that few arrows run from an earlier file to a later
// one. The minimum feedback arc set is NP-hard: this takes files that nothing is
// left to hold back (Eades, Lin and Smyth), then moves single files while that
// removes arrows.
func bestOrder(files []string, uses map[string]map[string][]string) []string {
	files = slices.Sorted(slices.Values(files))
	n := len(files)
	arrow := make([][]bool, n) // arrow[i][j]: file i uses file j
	for i := range files {
		arrow[i] = make([]bool, n)
		for j := range files {
			arrow[i][j] = len(uses[files[i]][files[j]]) > 0
		}
	}
	order := improve(greedy(arrow), arrow)
	sorted := make([]string, n)
	for at, i := range order {
		sorted[at] = files[i]
	}
	return sorted
}

func greedy(arrow [][]bool) []int {
	left := make([]int, len(arrow))
	for i := range left {
		left[i] = i
	}
	var low, high []int // foundations first; what nothing uses, last first
	for len(left) > 0 {
		best, score, end := 0, -len(arrow)-1, false
		for at, i := range left {
			uses, used := 0, 0
			for _, j := range left {
				if arrow[i][j] {
					uses++
				}
				if arrow[j][i] {
					used++
				}
			}
			switch {
			case uses == 0:
				best, score, end = at, len(arrow)+2, false
			case used == 0 && score <= len(arrow):
				best, score, end = at, len(arrow)+1, true
			case used-uses > score:
				best, score, end = at, used-uses, false
			}
		}
		if end {
			high = append(high, left[best])
		} else {
			low = append(low, left[best])
		}
		left = slices.Delete(left, best, best+1)
	}
	slices.Reverse(high)
	return append(low, high...)
}

// improve moves one file at a time to where the most arrows turn around.
func improve(order []int, arrow [][]bool) []int {
	for {
		bestGain, from, to := 0, 0, 0
		for a, i := range order {
			for _, step := range []int{-1, 1} {
				gain := 0
				for b := a + step; b >= 0 && b < len(order); b += step {
					j := order[b]
					// An arrow back up runs from the earlier file to the later one.
					before, after := arrow[i][j], arrow[j][i]
					if step < 0 {
						before, after = after, before
					}
					if before {
						gain++
					}
					if after {
						gain--
					}
					if gain > bestGain {
						bestGain, from, to = gain, a, b
					}
				}
			}
		}
		if bestGain == 0 {
			return order
		}
		i := order[from]
		order = slices.Insert(slices.Delete(order, from, from+1), to, i)
	}
}
