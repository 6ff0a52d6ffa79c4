package engine

import (
	"encoding/binary"

	"mgtrace/inline/hook"
	"mgtrace/inline/layout"
	"mgtrace/translate"
)

func put64(b []byte, v uint64) { binary.LittleEndian.PutUint64(b, v) }

// code appends instructions by hand: what the routines need is little.
type code struct{ b []byte }

func (c *code) emit(bytes ...byte) { c.b = append(c.b, bytes...) }
func (c *code) d32(v int)          { c.b = binary.LittleEndian.AppendUint32(c.b, uint32(v)) }

// gs appends op reg, gs:[off], 64 bits wide.
func (c *code) gs(op, reg byte, off int) {
	c.emit(0x65, 0x48|reg>>3<<2, op, reg&7<<3|4, 0x25)
	c.d32(off)
}

// gsZero appends cmp qword gs:[off], 0.
func (c *code) gsZero(off int) {
	c.emit(0x65, 0x48, 0x83, 0x3c, 0x25)
	c.d32(off)
	c.emit(0)
}

// gsSet appends mov qword gs:[off], v.
func (c *code) gsSet(off, v int) {
	c.emit(0x65, 0x48, 0xc7, 0x04, 0x25)
	c.d32(off)
	c.d32(v)
}

// forward appends a conditional jump whose target is where to is called.
func (c *code) forward(op byte) (to func()) {
	c.emit(0x0f, op+0x10)
	c.d32(0)
	at := len(c.b)
	return func() { binary.LittleEndian.PutUint32(c.b[at-4:], uint32(len(c.b)-at)) }
}

func (c *code) back(op byte, to int) { c.emit(op, byte(to-(len(c.b)+2))) }

const (
	load, store                                 = 0x8b, 0x89
	rax, rcx, rdx, rsp, rsi, rdi, r10, r11      = 0, 1, 2, 4, 6, 7, 10, 11
	keptRAX                                     = translate.Kept
	keptFlags                                   = translate.Kept + 8
	keptRCX                                     = translate.Kept + 16
	keptR11                                     = translate.Kept + 24
	keptRDI                                     = translate.Kept + 32
	keptRSI                                     = translate.Kept + 40
	keptRDX                                     = translate.Kept + 48
	keptR10                                     = translate.Kept + 56
	je, jne, jbe, jmp                      byte = 0x74, 0x75, 0x76, 0xeb
	futex                                       = 202
)

// flagsIn and flagsOut keep the flags in AX.
func (c *code) flagsIn()  { c.emit(0x9f, 0x0f, 0x90, 0xc0) } // lahf; seto al
func (c *code) flagsOut() { c.emit(0x04, 0x7f, 0x9e) }       // add al, 0x7f; sahf

// loadTable appends mov r32, [table word].
func (c *code) loadTable(reg byte, off int) {
	c.emit(0x40|reg>>3<<2, 0x8b, reg&7<<3|4, 0x25)
	c.d32(tablesAt + off)
}

// wait appends futex(Serving, op, value of EDX) with the registers that it takes.
func (c *code) futex(op int) {
	c.emit(0xbf)
	c.d32(tablesAt + translate.Serving)
	c.emit(0xbe)
	c.d32(op)
	c.emit(0x45, 0x31, 0xd2) // xor r10d, r10d
	c.emit(0xb8)
	c.d32(futex)
	c.emit(0x0f, 0x05)
}

// routines puts at the region's beginning what translations share.
func (r *region) routines() {
	var c code
	r.lookUp(&c)
	r.release = r.addr + uint64(len(c.b))
	r.give(&c)
	r.acquire = r.addr + uint64(len(c.b))
	r.take(&c)
	// yield gives the baton away and waits for it: for who has had it for long.
	r.yield = r.addr + uint64(len(c.b))
	c.gs(store, rcx, keptR10) // the other routine does not keep it before it takes it itself
	c.emit(0x48, 0x8d, 0x0d)  // lea rcx, [rip+5]
	c.d32(5)
	c.emit(0xe9) // jmp release
	c.d32(int(r.release-r.addr) - (len(c.b) + 4))
	c.gs(load, rcx, keptR10)
	c.emit(0xe9)
	c.d32(int(r.acquire-r.addr) - (len(c.b) + 4))
	r.notes(&c)
	copy(r.mem, c.b)
	r.code = len(c.b)
	r.next = (len(c.b) + 63) &^ 63
}

// give: see translate.Env. RCX and R11 are free.
func (r *region) give(c *code) {
	c.gs(store, rax, keptRAX)
	c.flagsIn()
	c.gs(store, rax, keptFlags)
	c.gsSet(translate.Holds, 0)
	c.emit(0xf0, 0x83, 0x04, 0x25) // lock add dword [Serving], 1
	c.d32(tablesAt + translate.Serving)
	c.emit(1)
	c.loadTable(rax, translate.Next)
	c.emit(0x3b, 0x04, 0x25) // cmp eax, [Serving]
	c.d32(tablesAt + translate.Serving)
	nobody := c.forward(je)
	for _, k := range []struct{ reg, off int }{{rcx, keptRCX}, {r11, keptR11}, {rdi, keptRDI}, {rsi, keptRSI}, {rdx, keptRDX}} {
		c.gs(store, byte(k.reg), k.off)
	}
	c.gs(store, r10, translate.Link)
	c.emit(0xba) // mov edx, all of them
	c.d32(0x7fffffff)
	c.futex(1) // FUTEX_WAKE
	c.gs(load, r10, translate.Link)
	for _, k := range []struct{ reg, off int }{{rcx, keptRCX}, {r11, keptR11}, {rdi, keptRDI}, {rsi, keptRSI}, {rdx, keptRDX}} {
		c.gs(load, byte(k.reg), k.off)
	}
	nobody()
	c.gsZero(translate.Pending)
	none := c.forward(je)
	r.pending[0] = r.addr + uint64(len(c.b))
	c.emit(0xcc)
	none()
	c.gs(load, rax, keptFlags)
	c.flagsOut()
	c.gs(load, rax, keptRAX)
	c.emit(0xff, 0xe1) // jmp rcx
}

// take: see translate.Env. All registers and flags are kept.
func (r *region) take(c *code) {
	kept := []struct{ reg, off int }{{rcx, keptRCX}, {r11, keptR11}, {rdi, keptRDI}, {rsi, keptRSI}, {rdx, keptRDX}, {r10, keptR10}}
	c.gs(store, rax, keptRAX)
	c.flagsIn()
	c.gs(store, rax, keptFlags)
	for _, k := range kept {
		c.gs(store, byte(k.reg), k.off)
	}
	c.emit(0xb8) // mov eax, 1
	c.d32(1)
	c.emit(0xf0, 0x0f, 0xc1, 0x04, 0x25) // lock xadd [Next], eax
	c.d32(tablesAt + translate.Next)
	c.gs(store, rax, translate.Ticket)
	loop := len(c.b)
	c.loadTable(rdx, translate.Serving)
	c.emit(0x65, 0x3b, 0x14, 0x25) // cmp edx, gs:[Ticket]
	c.d32(translate.Ticket)
	mine := c.forward(je)
	c.futex(0) // FUTEX_WAIT
	c.back(jmp, loop)
	mine()
	c.gsSet(translate.Holds, 1)
	c.emit(0x48, 0x8b, 0x04, 0x25) // mov rax, [Epoch]
	c.d32(tablesAt + translate.Epoch)
	c.emit(0x48, 0xff, 0xc0)       // inc rax
	c.emit(0x48, 0x89, 0x04, 0x25) // mov [Epoch], rax
	c.d32(tablesAt + translate.Epoch)
	c.gs(load, rcx, translate.Cursor)
	c.emit(0xc7, 0x01) // mov dword [rcx], Turn
	c.d32(translate.Turn)
	c.emit(0x48, 0x89, 0x41, 4)                  // mov [rcx+4], rax
	c.emit(0x48, 0x8d, 0x49, translate.TurnSize) // lea
	c.gs(store, rcx, translate.Cursor)
	c.gsZero(translate.Pending)
	none := c.forward(je)
	r.pending[1] = r.addr + uint64(len(c.b))
	c.emit(0xcc)
	none()
	for _, k := range kept {
		c.gs(load, byte(k.reg), k.off)
	}
	c.gs(load, rax, keptFlags)
	c.flagsOut()
	c.gs(load, rax, keptRAX)
	c.emit(0x65, 0xff, 0x24, 0x25) // jmp gs:[Cont]
	c.d32(translate.Cont)
}

// notes calls the hook routine as package inline/layout says: see translate.Env.
func (r *region) notes(c *code) {
	const pushGS, jmpGS = 6, 4
	gs := func(op byte) { c.emit(0x65, 0xff, op<<3|4, 0x25) }
	r.note = r.addr + uint64(len(c.b))
	c.gs(store, rcx, translate.Back)
	c.gs(store, rsp, translate.SavedSP)
	c.gs(load, rsp, layout.HookSP)
	gs(pushGS)
	c.d32(translate.Noted)
	c.emit(0x9c)                                     // pushfq
	c.emit(0x81, 0x24, 0x24, 0xff, 0xfe, 0xff, 0xff) // and dword [rsp], ~0x100: not the tracer's trap flag
	for reg := 15; reg >= 0; reg-- {
		switch {
		case reg == rsp:
			gs(pushGS)
			c.d32(translate.SavedSP)
		case reg == rcx:
			gs(pushGS)
			c.d32(translate.SaveRCX)
		case reg >= 8:
			c.emit(0x41, 0x50|byte(reg&7))
		default:
			c.emit(0x50 | byte(reg))
		}
	}
	c.emit(0x48, 0x89, 0xe7)       // mov rdi, rsp
	c.emit(0x65, 0x8b, 0x34, 0x25) // mov esi, gs:[Noted]
	c.d32(translate.Noted)
	c.emit(0x89, 0xf2)                         // mov edx, esi
	c.emit(0x81, 0xe6, 0xff, 0xff, 0xff, 0x7f) // and esi, ~PhaseBit
	c.emit(0xc1, 0xea, 31)                     // shr edx, 31
	c.emit(0xfc)                               // cld
	c.emit(0xe8)                               // call
	c.d32(0)
	call := len(c.b)
	// The block that follows has room for its record at once: nobody else comes
	// between what was noted and the instruction that it is about.
	c.gs(load, rcx, translate.Cursor)
	c.gs(0x3b, rcx, translate.Limit) // cmp
	room := c.forward(jbe)
	r.full = r.addr + uint64(len(c.b))
	c.emit(0xcc)
	room()
	c.gsZero(translate.Pending)
	none := c.forward(je)
	r.noted = r.addr + uint64(len(c.b))
	c.emit(0xcc)
	none()
	for reg := range 16 {
		switch {
		case reg == rsp:
			c.emit(0x48, 0x8d, 0x64, 0x24, 8) // lea rsp, [rsp+8]
		case reg >= 8:
			c.emit(0x41, 0x58|byte(reg&7))
		default:
			c.emit(0x58 | byte(reg))
		}
	}
	c.emit(0x9d) // popfq
	c.gs(load, rsp, translate.SavedSP)
	gs(jmpGS)
	c.d32(translate.Back)
	for len(c.b)&15 != 0 {
		c.emit(0xcc)
	}
	r.hook = r.addr + uint64(len(c.b))
	binary.LittleEndian.PutUint32(c.b[call-4:], uint32(len(c.b)-call))
	c.emit(hook.Code...)
}

// lookUp looks a target up in the second table. It is reached with the target in
// the thread block, RAX and RCX of the program there too, and leaves for the
// translation's entry for computed targets, or for an int3.
func (r *region) lookUp(c *code) {
	c.flagsIn()
	c.gs(store, rax, translate.Flags)
	c.gs(load, rcx, translate.Target)
	c.emit(0x48, 0x89, 0xc8)     // mov rax, rcx
	c.emit(0x48, 0xc1, 0xe8, 16) // shr rax, 16
	c.emit(0x48, 0x31, 0xc8)     // xor rax, rcx
	c.emit(0x25)                 // and eax
	c.d32(translate.SecondSize - 1)
	c.emit(0x48, 0xc1, 0xe0, 4) // shl rax, 4
	loop := len(c.b)
	c.emit(0x48, 0x39, 0x88) // cmp [rax+second], rcx
	c.d32(tablesAt + translate.Second)
	found := c.forward(je)
	c.emit(0x48, 0x83, 0xb8) // cmp qword [rax+second], 0
	c.d32(tablesAt + translate.Second)
	c.emit(0)
	none := c.forward(je)
	c.emit(0x48, 0x83, 0xc0, 16) // add rax, 16
	c.back(jmp, loop)
	found()
	c.emit(0x48, 0x8b, 0x80) // mov rax, [rax+second+8]
	c.d32(tablesAt + translate.Second + 8)
	c.gs(store, rax, translate.Link)
	c.emit(0x0f, 0xb7, 0xc9)       // movzx ecx, cx
	c.emit(0x48, 0x89, 0x04, 0xcd) // mov [rcx*8+first], rax
	c.d32(tablesAt + translate.First)
	c.gs(load, rcx, translate.Target)
	c.gs(load, rax, translate.Flags)
	c.flagsOut()
	c.emit(0x65, 0xff, 0x24, 0x25) // jmp gs:[link]
	c.d32(translate.Link)
	none()
	c.gs(load, rax, translate.Flags)
	c.flagsOut()
	r.trap = r.addr + uint64(len(c.b))
	c.emit(0xcc)
}
