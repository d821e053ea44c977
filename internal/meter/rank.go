package meter

// rank visits the functions, callees before callers, and decides which of
// them are leaves and which check the level at their entry.
func (m *module) rank() {
	m.components(func(component []uint32) {
		cycle := len(component) > 1
		for _, i := range component {
			f := &m.functions[i]
			own := cycle
			for _, c := range f.calls {
				own = own || c == i
			}
			m.judge(f, own)
		}
	})
	for i := range m.functions {
		f := &m.functions[i]
		if f.leaf {
			m.info.Leaves++
		}
		if !f.check {
			continue
		}
		m.info.Checked++
		if f.params <= trampolineMax {
			f.trampoline = m.funcs() + 1 + m.trampolined
			m.trampolined++
		}
	}
}

// judge classifies one function after its callees; recursive means that it
// can reach itself by direct calls.
func (m *module) judge(f *function, recursive bool) {
	leaf := !f.heavy && !f.entered && !recursive
	through := f.cost
	for _, c := range f.calls {
		callee := &m.functions[c]
		leaf = leaf && callee.leaf
		if !callee.check {
			through += callee.free
		}
		if through > throughMax {
			through = throughMax + 1 // avoids overflow
		}
	}
	f.free = through
	f.leaf = leaf && through <= leafMax
	f.check = !f.leaf && (f.indirect || recursive || through > throughMax)
}

// components finds the strongly connected components of the graph of direct
// calls, callees first: Tarjan's algorithm with an explicit stack, because a
// hostile module can have a chain of calls as long as it has functions.
func (m *module) components(yield func(component []uint32)) {
	type frame struct {
		f    uint32
		next int // the call to follow
	}
	n := len(m.functions)
	index, low, on := make([]uint32, n), make([]uint32, n), make([]bool, n)
	var frames []frame
	var stack []uint32
	count := uint32(0)
	enter := func(f uint32) {
		count++
		index[f], low[f], on[f] = count, count, true
		stack = append(stack, f)
		frames = append(frames, frame{f: f})
	}
	for root := range n {
		if index[root] != 0 {
			continue
		}
		enter(uint32(root))
		for len(frames) > 0 {
			top := &frames[len(frames)-1]
			f := top.f
			if calls := m.functions[f].calls; top.next < len(calls) {
				c := calls[top.next]
				top.next++
				if index[c] == 0 {
					enter(c)
				} else if on[c] {
					low[f] = min(low[f], index[c])
				}
				continue
			}
			frames = frames[:len(frames)-1]
			if len(frames) > 0 {
				caller := frames[len(frames)-1].f
				low[caller] = min(low[caller], low[f])
			}
			if low[f] != index[f] {
				continue
			}
			for i := len(stack) - 1; ; i-- {
				on[stack[i]] = false
				if stack[i] == f {
					yield(stack[i:])
					stack = stack[:i]
					break
				}
			}
		}
	}
}
