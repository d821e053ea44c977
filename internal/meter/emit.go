package meter

// emitter writes code.
type emitter struct {
	fuel   uint32 // the global
	refill uint32 // the imported function
	out    []byte // the function at hand
}

// function writes a function with its edits. The result is good until the next
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
	case editChargeLook:
		e.subtract(d.n)
		e.look()
	case editChargeEntry:
		e.subtract(d.n)
		e.lookAtEntry(f)
	case editChargeLoop:
		e.subtract(d.n)
		e.lookInLoop(d.n)
	case editIndex:
		e.out = appendU32(append(e.out, instruction[0]), uint32(d.n))
	case editBytes, editEntries:
		e.local(opLocalTee, f.locals)
		e.global(opGlobalGet)
		e.shifted(f.locals, d.n)
		e.op(opI64Sub)
		e.global(opGlobalSet)
		e.look()
		e.out = append(e.out, instruction...)
	case editGrow, editGrowTable:
		e.grown(f, d, instruction)
	}
}

// grown runs an instruction that grows a memory or a table, then charges what
// was added, which is nothing where it failed.
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
	e.look()
}

// shifted pushes a length, divided by two to the power of shift.
func (e *emitter) shifted(local uint32, shift int64) {
	e.local(opLocalGet, local)
	e.op(opI64ExtendI32U)
	e.i64(shift)
	e.op(opI64ShrU)
}

// subtract charges.
func (e *emitter) subtract(cost int64) {
	e.global(opGlobalGet)
	e.i64(cost)
	e.op(opI64Sub)
	e.global(opGlobalSet)
}

// look calls refill where the level is below zero.
func (e *emitter) look() {
	e.global(opGlobalGet)
	e.i64(0)
	e.op(opI64LtS)
	e.out = append(e.out, opIf, emptyBlock)
	e.refuel()
	e.op(opEnd)
}

// Where what follows is shared with the way through refill, wazero's compiler
// keeps everything in memory that lives on, on both ways. So at entries and in
// loops that way goes back to the beginning instead, with the charge refunded
// that is made there once more.

// lookAtEntry leaves the call of refill to the function's double.
func (e *emitter) lookAtEntry(f *function) {
	e.global(opGlobalGet)
	e.i64(0)
	e.op(opI64LtS)
	e.out = append(e.out, opIf, emptyBlock)
	e.params(f.params)
	e.out = appendU32(append(e.out, opReturnCall), f.double)
	e.op(opEnd)
}

// lookInLoop branches to the loop. That the branch stands under else decides
// where the compiler puts it: behind the loop.
func (e *emitter) lookInLoop(cost int64) {
	e.global(opGlobalGet)
	e.i64(0)
	e.op(opI64GeS)
	e.out = append(e.out, opIf, emptyBlock, opElse)
	e.refund(cost)
	e.out = append(e.out, opBr, 1)
	e.op(opEnd)
}

// double is a function that calls refill, then the function it stands for.
func (e *emitter) double(of, params uint32, cost int64) []byte {
	e.out = append(e.out[:0], 0) // no locals
	e.refund(cost)
	e.params(params)
	e.out = appendU32(append(e.out, opReturnCall), of)
	e.op(opEnd)
	return e.out
}

// refund calls refill and takes a charge back.
func (e *emitter) refund(cost int64) {
	e.global(opGlobalGet)
	e.out = appendU32(append(e.out, opCall), e.refill)
	e.i64(cost)
	e.op(opI64Add)
	e.global(opGlobalSet)
}

func (e *emitter) refuel() {
	e.global(opGlobalGet)
	e.out = appendU32(append(e.out, opCall), e.refill)
	e.global(opGlobalSet)
}

// thunk is a function that pays for an import and calls it.
func (e *emitter) thunk(imported, params uint32, cost int64) []byte {
	e.out = append(e.out[:0], 0) // no locals
	e.subtract(cost)
	e.look()
	e.params(params)
	e.out = appendU32(append(e.out, opCall), imported)
	e.op(opEnd)
	return e.out
}

// params pushes the parameters of the function at hand.
func (e *emitter) params(n uint32) {
	for i := range n {
		e.local(opLocalGet, i)
	}
}

func (e *emitter) op(op byte)              { e.out = append(e.out, op) }
func (e *emitter) i64(v int64)             { e.out = appendS64(append(e.out, opI64Const), v) }
func (e *emitter) global(op byte)          { e.out = appendU32(append(e.out, op), e.fuel) }
func (e *emitter) local(op byte, i uint32) { e.out = appendU32(append(e.out, op), i) }
