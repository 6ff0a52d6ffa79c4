package observe

import (
	"bytes"

	"mgtrace/target/mem"
)

// longest is how much of a format is looked at, in bytes; what follows is left to the audit.
const longest = 4096

// pointers are those behind a format, in registers and in memory: behind the return address,
// or in a va_list (System V ABI, 3.5.7).
type pointers struct {
	first []uint64
	more  uint64 // where the others are
}

// behindFormat returns the pointers of a call that is about to execute.
func (v *Observer) behindFormat(f *function, r *mem.Regs) (p pointers) {
	if f.Len == 0 {
		p.more = r.RSP + 8
		for n := f.Dst + 1; n <= 6; n++ {
			p.first = append(p.first, argument(r, n))
		}
		return p
	}
	list := argument(r, f.Len)
	p.more = v.word(list + 8)
	for used := v.word(list) & 0xffffffff; used < 48; used += 8 {
		p.first = append(p.first, v.word(v.word(list+16)+used))
	}
	return p
}

// pointer is the one of number n, from 0.
func (v *Observer) pointer(p *pointers, n int) uint64 {
	if n < len(p.first) {
		return p.first[n]
	}
	return v.word(p.more + 8*uint64(n-len(p.first)))
}

// putFormat reports what scanf and its kin wrote, of whose conversions some assigned.
func (v *Observer) putFormat(t *thread, w *writerCall, s span, assigned int32) {
	text := make([]byte, longest)
	n, _ := v.memory.ReadMemory(text, w.dst) // n tells
	text, _, _ = bytes.Cut(text[:n], []byte{0})
	scanned(text, int(assigned), func(c conversion) {
		addr := v.pointer(&w.format, c.argument)
		if c.block {
			v.putAt(t, s, addr, 8)
			addr = v.word(addr)
		}
		if c.size == 0 {
			c.size = v.length(addr) + 1
		}
		v.putAt(t, s, addr, c.size)
	})
}

// conversion is what one of a format's wrote.
type conversion struct {
	argument int    // the pointer, from 0
	size     uint64 // bytes there; 0: a string
	block    bool   // they are in a block whose address is there
}

// scanned tells of the conversions of a format that have written, given how many assigned
// (scanf(3)). Of %n it is known only if nothing before it can have failed. How long strings
// of wide characters are is not. inline/hook/c/format.h says the same in C.
func scanned(format []byte, assigned int, wrote func(conversion)) {
	next, sure := 0, true // the next pointer; nothing can have failed since the last that assigned
	for i := 0; i < len(format) && assigned >= 0; i++ {
		switch c := format[i]; {
		case bytes.IndexByte([]byte(" \t\n\v\f\r"), c) >= 0:
			continue
		case c != '%':
			sure = false
			continue
		}
		var d directive
		k := d.parse(format[i+1:])
		if k == 0 {
			return
		}
		i += k
		if d.suppressed || d.verb == '%' {
			sure = false
			continue
		}
		n := next
		if d.position > 0 {
			n = d.position - 1
		} else {
			next++
		}
		if d.verb == 'n' {
			if assigned > 0 || sure {
				wrote(conversion{argument: n, size: d.size()})
			}
			continue
		}
		if assigned == 0 {
			return
		}
		assigned--
		sure = true
		text := d.verb == 's' || d.verb == '['
		switch {
		case d.verb == 'S' || text && d.length == 'l':
		case text:
			wrote(conversion{argument: n, block: d.allocates})
		default:
			wrote(conversion{argument: n, size: d.size(), block: d.allocates})
		}
	}
}

// directive is what stands behind a percent sign.
type directive struct {
	position, width       int
	suppressed, allocates bool
	length                byte // 0, 'C' (hh), 'h', 'l', 'L' (ll)
	verb                  byte
}

// parse returns how many bytes it has; 0 if it is not known.
func (d *directive) parse(text []byte) int {
	for i, c := range text {
		switch c {
		case '0', '1', '2', '3', '4', '5', '6', '7', '8', '9':
			d.width = 10*d.width + int(c-'0')
		case '$':
			d.position, d.width = d.width, 0
		case '*':
			d.suppressed = true
		case 'm':
			d.allocates = true
		case '\'', 'I':
		case 'h':
			if d.length == 'h' {
				c = 'C'
			}
			d.length = c
		case 'l':
			if d.length == 'l' {
				c = 'L'
			}
			d.length = c
		case 'j', 'z', 't':
			d.length = 'l'
		case 'L', 'q':
			d.length = 'L'
		case '[':
			d.verb = c
			from := i + 1
			if from < len(text) && text[from] == '^' {
				from++
			}
			from++ // the first is one of the set, a bracket too
			if from > len(text) {
				return 0
			}
			end := bytes.IndexByte(text[from:], ']')
			if end < 0 {
				return 0
			}
			return from + end + 1
		case '%', 'd', 'i', 'o', 'u', 'x', 'X', 'n', 'p', 'a', 'e', 'f', 'g', 'A', 'E', 'F', 'G', 'c', 'C', 's', 'S':
			d.verb = c
			return i + 1
		default:
			return 0
		}
	}
	return 0
}

// size is how many bytes it writes, but for strings.
func (d *directive) size() uint64 {
	long := d.length == 'l' || d.length == 'L'
	switch d.verb {
	case 'c', 'C':
		n := uint64(max(d.width, 1))
		if d.verb == 'C' || d.length == 'l' {
			n *= 4
		}
		return n
	case 'p':
		return 8
	case 'a', 'e', 'f', 'g', 'A', 'E', 'F', 'G':
		switch d.length {
		case 'l':
			return 8
		case 'L':
			return 10 // of the sixteen
		}
		return 4
	}
	switch {
	case long:
		return 8
	case d.length == 'C':
		return 1
	case d.length == 'h':
		return 2
	}
	return 4
}
