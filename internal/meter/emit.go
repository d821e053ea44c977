package meter

// editKind is a kind of change of a function's code.
type editKind uint8

const (
	editCharge      editKind = iota // subtract without a check
	editChargeCheck                 // subtract and check
	editChargeEntry                 // the same for a function with a trampoline
	editChargeLoop                  // the same for a loop without parameters
	editIndex                       // the instruction gets another function index
	editBytes                       // charge bytes by the length on the stack
	editEntries                     // charge entries by the length on the stack
	editGrow                        // charge what memory.grow added
	editGrowTable                   // charge what table.grow added
)

// edit is one change to a function's code. Those between at and end replace
// or follow an instruction, the others are inserted at at.
type edit struct {
	kind    editKind
	at, end uint32
	n       int64 // cost, or index
}

// emitter writes code.
type emitter struct {
	fuel        uint32 // the global
	refillIndex uint32 // the imported function
	out         []byte // the current function
}

// function writes a function with its edits. The result is valid until the next
// call.
func (e *emitter) function(f *function, edits []edit, extra uint32) []byte {
	r := reader{b: f.body}
	groups := r.u32()
	e.out = e.out[:0]
	if extra > 0 {
		groups++
	}
	e.out = append(appendU32(e.out, groups), f.body[r.p:f.code]...)
	if extra > 0 {
		e.out = append(appendU32(e.out, extra), 0x7f)
	}
	from := uint32(f.code)
	for _, d := range edits {
		e.out = append(e.out, f.body[from:d.at]...)
		e.edit(f, d)
		from = d.end
	}
	e.out = append(e.out, f.body[from:]...)
	return e.out
}

func (e *emitter) edit(f *function, d edit) {
	instruction := f.body[d.at:d.end]
	switch d.kind {
	case editCharge:
		e.subtract(d.n)
	case editChargeCheck:
		e.subtract(d.n)
		e.check()
	case editChargeEntry:
		e.subtract(d.n)
		e.checkAtEntry(f)
	case editChargeLoop:
		e.subtract(d.n)
		e.checkInLoop(d.n)
	case editIndex:
		e.out = appendU32(append(e.out, instruction[0]), uint32(d.n))
	case editBytes, editEntries:
		e.local(opLocalTee, f.locals)
		e.global(opGlobalGet)
		e.shifted(f.locals, d.n)
		e.op(opI64Sub)
		e.global(opGlobalSet)
		e.check()
		e.out = append(e.out, instruction...)
	case editGrow, editGrowTable:
		e.grown(f, d, instruction)
	}
}

// grown runs an instruction that grows a memory or a table, then charges for what
// was added, which is nothing if it failed.
func (e *emitter) grown(f *function, d edit, instruction []byte) {
	amount, result := f.locals, f.locals+1
	e.local(opLocalTee, amount)
	e.out = append(e.out, instruction...)
	e.local(opLocalTee, result)
	e.global(opGlobalGet)
	if d.kind == editGrow {
		e.local(opLocalGet, amount)
		e.op(opI64ExtendI32U)
		e.i64(d.n)
		e.op(opI64Mul)
	} else {
		e.shifted(amount, d.n)
	}
	e.i64(0)
	e.local(opLocalGet, result)
	e.out = append(e.out, opI32Const, 0x7f) // -1
	e.op(opI32Ne)
	e.op(opSelect)
	e.op(opI64Sub)
	e.global(opGlobalSet)
	e.subtract(growCost)
	e.check()
}

// shifted pushes a length, shifted right.
func (e *emitter) shifted(local uint32, shift int64) {
	e.local(opLocalGet, local)
	e.op(opI64ExtendI32U)
	e.i64(shift)
	e.op(opI64ShrU)
}

// subtract charges a cost.
func (e *emitter) subtract(cost int64) {
	e.global(opGlobalGet)
	e.i64(cost)
	e.op(opI64Sub)
	e.global(opGlobalSet)
}

// ifLevel begins a block that runs if the comparison of the level with zero
// holds.
func (e *emitter) ifLevel(comparison byte) {
	e.global(opGlobalGet)
	e.i64(0)
	e.out = append(e.out, comparison, opIf, emptyBlock)
}

// check calls refill if the level is negative.
func (e *emitter) check() {
	e.ifLevel(opI64LtS)
	e.refill()
	e.global(opGlobalSet)
	e.op(opEnd)
}

// If the code that follows is shared with the path through refill, wazero's compiler
// spills all live values to memory on both paths. So at entries and in
// loops that path goes back to the start instead, with the charge refunded
// that is made there again.

// checkAtEntry delegates the call of refill to the function's trampoline.
func (e *emitter) checkAtEntry(f *function) {
	e.ifLevel(opI64LtS)
	e.params(f.params)
	e.call(opReturnCall, f.trampoline)
	e.op(opEnd)
}

// checkInLoop branches to the loop header. The branch is in the else arm so that
// the compiler places it behind the loop.
func (e *emitter) checkInLoop(cost int64) {
	e.ifLevel(opI64GeS)
	e.op(opElse)
	e.refund(cost)
	e.out = append(e.out, opBr, 1)
	e.op(opEnd)
}

// trampoline is a function that calls refill, then the original function.
func (e *emitter) trampoline(of, params uint32, cost int64) []byte {
	e.out = append(e.out[:0], 0) // no locals
	e.refund(cost)
	e.params(params)
	e.call(opReturnCall, of)
	e.op(opEnd)
	return e.out
}

// refund calls refill and reverts a charge.
func (e *emitter) refund(cost int64) {
	e.refill()
	e.i64(cost)
	e.op(opI64Add)
	e.global(opGlobalSet)
}

// refill pushes the level that refill returns.
func (e *emitter) refill() {
	e.global(opGlobalGet)
	e.call(opCall, e.refillIndex)
}

// thunk is a function that charges for an import and calls it.
func (e *emitter) thunk(imported, params uint32, cost int64) []byte {
	e.out = append(e.out[:0], 0) // no locals
	e.subtract(cost)
	e.check()
	e.params(params)
	e.call(opCall, imported)
	e.op(opEnd)
	return e.out
}

// params pushes the parameters of the current function.
func (e *emitter) params(n uint32) {
	for i := range n {
		e.local(opLocalGet, i)
	}
}

func (e *emitter) op(op byte)              { e.out = append(e.out, op) }
func (e *emitter) i64(v int64)             { e.out = appendS64(append(e.out, opI64Const), v) }
func (e *emitter) global(op byte)          { e.out = appendU32(append(e.out, op), e.fuel) }
func (e *emitter) call(op byte, f uint32)  { e.out = appendU32(append(e.out, op), f) }
func (e *emitter) local(op byte, i uint32) { e.out = appendU32(append(e.out, op), i) }
