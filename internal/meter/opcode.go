package meter

// Opcodes that the meter reads or writes.
const (
	opUnreachable    = 0x00
	opNop            = 0x01
	opBlock          = 0x02
	opLoop           = 0x03
	opIf             = 0x04
	opElse           = 0x05
	opEnd            = 0x0b
	opBr             = 0x0c
	opBrIf           = 0x0d
	opBrTable        = 0x0e
	opReturn         = 0x0f
	opCall           = 0x10
	opCallIndirect   = 0x11
	opReturnCall     = 0x12
	opReturnIndirect = 0x13
	opCallRef        = 0x14
	opReturnCallRef  = 0x15
	opSelect         = 0x1b
	opSelectTyped    = 0x1c
	opLocalGet       = 0x20
	opLocalSet       = 0x21
	opLocalTee       = 0x22
	opGlobalGet      = 0x23
	opGlobalSet      = 0x24
	opTableGet       = 0x25
	opTableSet       = 0x26
	opI32Load        = 0x28
	opI64Store32     = 0x3e
	opMemorySize     = 0x3f
	opMemoryGrow     = 0x40
	opI32Const       = 0x41
	opI64Const       = 0x42
	opF32Const       = 0x43
	opF64Const       = 0x44
	opI32Eqz         = 0x45
	opI32Ne          = 0x47
	opI64LtS         = 0x53
	opI64GeS         = 0x59
	opI32Add         = 0x6a
	opI32Sub         = 0x6b
	opI32Mul         = 0x6c
	opI64Add         = 0x7c
	opI64Sub         = 0x7d
	opI64Mul         = 0x7e
	opI64ShrU        = 0x88
	opI64ExtendI32U  = 0xad
	opI64Extend32S   = 0xc4
	opRefNull        = 0xd0
	opRefIsNull      = 0xd1
	opRefFunc        = 0xd2
	opRefAsNonNull   = 0xd4
	opBrOnNull       = 0xd5
	opBrOnNonNull    = 0xd6
	opMisc           = 0xfc
	opVector         = 0xfd
	opAtomic         = 0xfe
	emptyBlock       = 0x40
)

// Second bytes of prefixed instructions.
const (
	miscMemoryInit = 8
	miscDataDrop   = 9
	miscMemoryCopy = 10
	miscMemoryFill = 11
	miscTableInit  = 12
	miscElemDrop   = 13
	miscTableCopy  = 14
	miscTableGrow  = 15
	miscTableSize  = 16
	miscTableFill  = 17

	vecConst   = 12
	vecShuffle = 13

	atomicWait64 = 2
	atomicFence  = 3
	atomicFirst  = 0x10
	atomicLast   = 0x4e
)
