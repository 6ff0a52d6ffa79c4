package replay

import (
	"bytes"
	"fmt"
	"math"
	"math/bits"
	"strings"
)

// What printf and its kin write to a text (C17, 7.21.6.1), and strtol reads of one: of whole numbers, characters, texts, addresses and doubles. Anything else
// ends the run: wide characters, long doubles, %n, positions, and %a.

// variadic are the arguments of a call behind those that have names (x86-64 psABI, 3.5.7).
type variadic struct {
	c        *cpu
	whole    int    // how many there were
	floats   int    // and of doubles
	over     uint64 // where the next on the stack lies
	list     uint64 // a va_list; 0: they are in registers
	overflow uint64 // of the list: where its next on the stack lies
}

// wholeArgs are the registers of arguments that are no doubles, in order.
var wholeArgs = [...]int{rdi, rsi, rdx, rcx, 8, 9}

// arguments are those of a call behind n named ones. The return address has been popped.
func (c *cpu) arguments(n int) *variadic { return &variadic{c: c, whole: n, over: c.reg[rsp]} }

// listed are those of a va_list.
func (c *cpu) listed(list uint64) *variadic {
	return &variadic{
		c: c, list: list, whole: int(uint32(c.load(list, 4))) / 8, floats: (int(uint32(c.load(list+4, 4))) - 48) / 16,
		overflow: c.load(list+8, 8),
	}
}

// word is the next that is no double.
func (v *variadic) word() uint64 {
	n := v.whole
	v.whole++
	switch {
	case n >= len(wholeArgs):
		return v.stacked()
	case v.list != 0:
		return v.c.load(v.c.load(v.list+16, 8)+uint64(8*n), 8)
	}
	return v.c.reg[wholeArgs[n]]
}

// double is the next that is one.
func (v *variadic) double() float64 {
	n := v.floats
	v.floats++
	switch {
	case n >= 8:
		return math.Float64frombits(v.stacked())
	case v.list != 0:
		return math.Float64frombits(v.c.load(v.c.load(v.list+16, 8)+48+uint64(16*n), 8))
	}
	return math.Float64frombits(v.c.xmm[n][0])
}

// stacked is the next that is on the stack.
func (v *variadic) stacked() uint64 {
	at := &v.over
	if v.list != 0 {
		at = &v.overflow
	}
	*at += 8
	return v.c.load(*at-8, 8)
}

// formatted is what a format makes of arguments, without an end; the run has ended if that is not known.
func (c *cpu) formatted(format []byte, args *variadic) (out []byte) {
	for c.run.Err == nil && len(out) < maxData {
		i := bytes.IndexByte(format, '%')
		if i < 0 {
			return append(out, format...)
		}
		out, format = append(out, format[:i]...), format[i+1:]
		var d directive
		if format = d.parse(format, args); d.verb == 0 {
			c.fail(ErrLibrary)
			break
		}
		out = append(out, c.converted(&d, args)...)
	}
	return out
}

// directive is one of a format.
type directive struct {
	flags            string
	width, precision int // -1: none
	size             int // of a whole number, in bytes
	verb             byte
}

// parse reads one behind its %, and returns what follows. verb is 0 if it is not known.
func (d *directive) parse(s []byte, args *variadic) []byte {
	next := func() byte {
		if len(s) == 0 {
			return 0
		}
		return s[0]
	}
	number := func() int {
		if next() == '*' {
			s = s[1:]
			return int(int32(args.word()))
		}
		n := 0
		for '0' <= next() && next() <= '9' && n < maxData {
			n, s = 10*n+int(next()-'0'), s[1:]
		}
		return n
	}
	for next() != 0 && strings.IndexByte("-+ #0", next()) >= 0 {
		d.flags, s = d.flags+string(rune(next())), s[1:]
	}
	if d.width = number(); d.width < 0 {
		d.flags, d.width = d.flags+"-", -d.width
	}
	d.precision = -1
	if next() == '.' {
		s = s[1:]
		d.precision = max(number(), -1)
	}
	length := 0
	for length < len(s) && strings.IndexByte("hlqjztL", s[length]) >= 0 {
		length++
	}
	switch string(s[:length]) {
	case "":
		d.size = 4
	case "hh":
		d.size = 1
	case "h":
		d.size = 2
	case "l", "ll", "q", "j", "z", "t":
		d.size = 8
	}
	s = s[length:]
	v := next()
	if known := strings.IndexByte("diuxXocsp%", v) >= 0 && (d.size == 4 || strings.IndexByte("diuxXo", v) >= 0) ||
		strings.IndexByte("fFeEgG", v) >= 0 && length <= 1 && d.size != 2; v == 0 || !known || d.size == 0 || d.width > maxData || d.precision > maxData {
		return s
	}
	d.verb = v
	return s[1:]
}

// converted is one argument as a directive wants it. Go's own directives are C's, but for the flags that are left out here.
func (c *cpu) converted(d *directive, args *variadic) string {
	flags := d.flags
	as := func(verb byte, precision bool, v any) string {
		f := "%" + flags
		if d.width > 0 {
			f += fmt.Sprint(d.width)
		}
		if precision && d.precision >= 0 {
			f += "." + fmt.Sprint(d.precision)
		}
		return fmt.Sprintf(f+string(rune(verb)), v)
	}
	drop := func(set string) {
		flags = strings.Map(func(r rune) rune {
			if strings.ContainsRune(set, r) {
				return -1
			}
			return r
		}, flags)
	}
	if strings.ContainsRune(flags, '-') {
		drop("0")
	}
	switch d.verb {
	case '%':
		return "%"
	case 'd', 'i':
		if d.precision >= 0 {
			drop("0")
		}
		drop("#")
		return as('d', true, signed(args.word(), d.size))
	case 'u', 'x', 'X', 'o':
		if d.precision >= 0 {
			drop("0")
		}
		drop("+ ")
		v := args.word() & (^uint64(0) >> (64 - 8*d.size))
		if strings.ContainsRune(flags, '#') && (v == 0 || d.precision >= 0 || d.verb == 'o') {
			c.fail(ErrLibrary) // where they differ
			return ""
		}
		if d.verb == 'u' {
			drop("#")
			return as('d', true, v)
		}
		if strings.ContainsRune(flags, '#') && strings.ContainsRune(flags, '0') {
			c.fail(ErrLibrary)
			return ""
		}
		return as(d.verb, true, v)
	case 'c':
		drop("+ #0")
		return d.padded(string([]byte{byte(args.word())}))
	case 's':
		at, limit := args.word(), uint64(maxData)
		if d.precision >= 0 {
			limit = uint64(d.precision)
		}
		text := "(null)"
		if at != 0 {
			text = string(c.text(at, limit))
		} else if d.precision >= 0 && d.precision < len(text) {
			text = ""
		}
		return d.padded(text)
	case 'p':
		at := args.word()
		if at == 0 {
			return d.padded("(nil)")
		}
		return d.padded(fmt.Sprintf("%#x", at))
	}
	v := args.double()
	if math.IsInf(v, 0) || math.IsNaN(v) || strings.ContainsRune(flags, '#') {
		c.fail(ErrLibrary)
		return ""
	}
	if d.precision < 0 {
		d.precision = 6
	}
	verb := d.verb
	if verb == 'F' {
		verb = 'f'
	}
	return as(verb, true, v)
}

// padded is a text of the directive's width.
func (d *directive) padded(text string) string {
	pad := strings.Repeat(" ", max(0, d.width-len(text)))
	if strings.ContainsRune(d.flags, '-') {
		return text + pad
	}
	return pad + text
}

// print writes what a format makes of arguments to a text of limit bytes, with its end, and returns how long it would be.
func (c *cpu) print(name string, to, limit, format uint64, args *variadic, ret uint64) uint64 {
	out := c.formatted(c.text(format, maxData), args)
	if c.run.Err == nil && limit > 0 {
		c.bulk(name, to, 0, append(bytes.Clone(out[:min(uint64(len(out)), limit-1)]), 0), ret)
	}
	return uint64(len(out))
}

// numeral reads a whole number of a base, 0 as in C, and says how many bytes that took; none: there is none, which is 0 (C17, 7.22.1.4). One
// that does not fit ends the run.
func (c *cpu) numeral(addr, base uint64, isSigned bool) (v uint64, n int) {
	return c.numeralOf(c.text(addr, maxData), base, isSigned)
}

func (c *cpu) numeralOf(s []byte, base uint64, isSigned bool) (v uint64, n int) {
	n = spaces(s)
	negative := false
	if n < len(s) && (s[n] == '-' || s[n] == '+') {
		negative = s[n] == '-'
		n++
	}
	digit := func(i int) uint64 {
		switch {
		case i >= len(s):
		case s[i]-'0' < 10:
			return uint64(s[i] - '0')
		case lowerOf(s[i])-'a' < 26:
			return uint64(lowerOf(s[i])-'a') + 10
		}
		return 36
	}
	switch prefix := n+1 < len(s) && s[n] == '0' && lowerOf(s[n+1]) == 'x' && digit(n+2) < 16; {
	case prefix && (base == 0 || base == 16):
		base, n = 16, n+2
	case base == 0 && n < len(s) && s[n] == '0':
		base = 8
	case base == 0:
		base = 10
	}
	if base < 2 || base > 36 || digit(n) >= base {
		return 0, 0
	}
	for ; digit(n) < base; n++ {
		high, low := bits.Mul64(v, base)
		sum, carry := bits.Add64(low, digit(n), 0)
		if v = sum; high|carry != 0 || isSigned && v > 1<<63-1 {
			c.fail(ErrLibrary)
			return 0, 0
		}
	}
	if negative {
		v = -v
	}
	return v, n
}
