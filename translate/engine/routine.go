package engine

import (
	"encoding/binary"

	"mgtrace/translate"
)

func put64(b []byte, v uint64) { binary.LittleEndian.PutUint64(b, v) }

// routine puts at the region's beginning what looks a target up in the second
// table. It is reached with the target in the thread block, RAX and RCX of the
// program there too, and leaves for the translation's entry for computed targets,
// or for an int3.
func (r *region) routine() {
	var b []byte
	emit := func(bytes ...byte) { b = append(b, bytes...) }
	d32 := func(v int) { b = binary.LittleEndian.AppendUint32(b, uint32(v)) }
	gs := func(op byte, reg byte, off int) { // op reg, gs:[off]
		emit(0x65, 0x48, op, reg<<3|4, 0x25)
		d32(off)
	}
	const load, store, rax, rcx = 0x8b, 0x89, 0, 1
	emit(0x9f, 0x0f, 0x90, 0xc0) // lahf; seto al
	gs(store, rax, translate.Flags)
	gs(load, rcx, translate.Target)
	emit(0x48, 0x89, 0xc8)     // mov rax, rcx
	emit(0x48, 0xc1, 0xe8, 16) // shr rax, 16
	emit(0x48, 0x31, 0xc8)     // xor rax, rcx
	emit(0x25)                 // and eax
	d32(translate.SecondSize - 1)
	emit(0x48, 0xc1, 0xe0, 4) // shl rax, 4
	loop := len(b)
	emit(0x48, 0x39, 0x88) // cmp [rax+second], rcx
	d32(tablesAt + translate.Second)
	emit(0x74, 0) // je found
	found := len(b)
	emit(0x48, 0x83, 0xb8) // cmp qword [rax+second], 0
	d32(tablesAt + translate.Second)
	emit(0)
	emit(0x74, 0) // je none
	none := len(b)
	emit(0x48, 0x83, 0xc0, 16) // add rax, 16
	emit(0xeb, byte(loop-(len(b)+2)))
	b[found-1] = byte(len(b) - found)
	emit(0x48, 0x8b, 0x80) // mov rax, [rax+second+8]
	d32(tablesAt + translate.Second + 8)
	gs(store, rax, translate.Link)
	emit(0x0f, 0xb7, 0xc9)       // movzx ecx, cx
	emit(0x48, 0x89, 0x04, 0xcd) // mov [rcx*8+first], rax
	d32(tablesAt + translate.First)
	gs(load, rcx, translate.Target)
	gs(load, rax, translate.Flags)
	emit(0x04, 0x7f, 0x9e)       // add al, 0x7f; sahf
	emit(0x65, 0xff, 0x24, 0x25) // jmp gs:[link]
	d32(translate.Link)
	b[none-1] = byte(len(b) - none)
	gs(load, rax, translate.Flags)
	emit(0x04, 0x7f, 0x9e)
	r.trap = r.addr + uint64(len(b))
	emit(0xcc)
	copy(r.mem, b)
	r.code = len(b)
	r.next = (len(b) + 63) &^ 63
}
