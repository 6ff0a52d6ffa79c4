package replay

import (
	"bytes"
	"fmt"
	"math"
	"strconv"
)

// What scanf's kin reads of a text (C17, 7.21.6.2), and strtod: whole numbers, doubles, characters, texts and sets of characters. Anything else ends
// the run, as do numbers that do not fit, in hexadecimal floating point, or none.

// spaces counts the white space at the beginning of a text.
func spaces(s []byte) (n int) {
	for n < len(s) && (s[n] == ' ' || s[n]-'\t' < 5) {
		n++
	}
	return n
}

// decimal reads a floating-point number of a width in bits, and says how many bytes that took; none: there is none.
func (c *cpu) decimal(s []byte, width int) (v float64, n int) {
	at := spaces(s)
	n = at
	if n < len(s) && (s[n] == '-' || s[n] == '+') {
		n++
	}
	digits := func() (some bool) {
		for ; n < len(s) && s[n]-'0' < 10; n++ {
			some = true
		}
		return some
	}
	some := digits()
	if n < len(s) && s[n] == '.' {
		n++
		if some = digits() || some; !some {
			n--
		}
	}
	switch {
	case n < len(s) && (lowerOf(s[n]) == 'x' && some || !some && bytes.IndexByte([]byte("in"), lowerOf(s[n])) >= 0):
		c.fail(ErrLibrary) // hexadecimal, or nan, or infinity
		return 0, 0
	case !some:
		return 0, 0
	}
	if e := n; n < len(s) && lowerOf(s[n]) == 'e' {
		if n++; n < len(s) && (s[n] == '-' || s[n] == '+') {
			n++
		}
		if !digits() {
			n = e
		}
	}
	v, err := strconv.ParseFloat(string(s[at:n]), width)
	if err != nil || v != 0 && math.Abs(v) < 0x1p-126 && width == 32 || v != 0 && math.Abs(v) < 0x1p-1022 {
		c.fail(ErrLibrary) // it sets errno
	}
	return v, n
}

// floating is strtod, or strtof, whose result is a float.
func (c *cpu) floating(name string, addr, end, ret uint64, width int) {
	v, n := c.decimal(c.text(addr, maxData), width)
	c.xmm[0] = [2]uint64{math.Float64bits(v)}
	if width == 32 {
		c.xmm[0][0] = uint64(math.Float32bits(float32(v)))
	}
	if end != 0 {
		c.bulk(name, end, 0, words(addr+uint64(n)), ret)
	}
}

// scan reads what a format says of a text, and returns how many of its conversions it has stored.
func (c *cpu) scan(name string, s, format []byte, args *variadic, ret uint64) (stored uint64) {
	var d conversion
	at := 0
	over := func() uint64 { // the text is
		if stored == 0 {
			return 0xffff_ffff // EOF
		}
		return stored
	}
	for len(format) > 0 && c.run.Err == nil {
		first := format[0]
		format = format[1:]
		if spaces([]byte{first}) > 0 {
			at += spaces(s[at:])
			continue
		}
		if first == '%' {
			if format = d.parse(format); d.verb == 0 {
				c.fail(fmt.Errorf("%w: %s", ErrLibrary, name))
				return 0
			}
			if first = d.verb; first != 'c' && first != '[' && first != 'n' {
				at += spaces(s[at:])
			}
			if first == 'n' {
				if !d.drops {
					c.bulk(name, args.word(), 0, words(uint64(at))[:d.size], ret)
				}
				continue
			}
			if first != '%' {
				if at == len(s) {
					return over()
				}
				n, data := c.converts(&d, s[at:])
				if n == 0 {
					return stored
				}
				if at += n; !d.drops {
					c.bulk(name, args.word(), 0, data, ret)
					stored++
				}
				continue
			}
		}
		switch {
		case at == len(s):
			return over()
		case s[at] != first:
			return stored
		}
		at++
	}
	return stored
}

// conversion is one of a format that is read by.
type conversion struct {
	drops bool // it stores nothing
	width int  // 0: none
	size  int  // of a number, in bytes
	set   []byte
	verb  byte
}

// parse reads one behind its %, and returns what follows. verb is 0 if it is not known.
func (d *conversion) parse(s []byte) []byte {
	*d = conversion{}
	if s, d.drops = bytes.CutPrefix(s, []byte("*")); len(s) == 0 {
		return nil
	}
	for ; len(s) > 0 && s[0]-'0' < 10 && d.width < maxData; s = s[1:] {
		d.width = d.width*10 + int(s[0]-'0')
	}
	k := 0
	for k < len(s) && bytes.IndexByte([]byte("hljztL"), s[k]) >= 0 {
		k++
	}
	length := string(s[:k])
	if s = s[k:]; len(s) == 0 {
		return nil
	}
	verb, s := s[0], s[1:]
	switch verb {
	case 'd', 'i', 'u', 'x', 'X', 'o', 'n':
		d.size = map[string]int{"": 4, "h": 2, "hh": 1, "l": 8, "ll": 8, "j": 8, "z": 8, "t": 8}[length]
	case 'f', 'e', 'g', 'E', 'G':
		d.size = map[string]int{"": 4, "l": 8}[length]
	case '[':
		k := len(s) - len(bytes.TrimPrefix(s, []byte("^"))) + 1 // the first may be a bracket too
		end := bytes.IndexByte(s[min(k, len(s)):], ']')
		if end < 0 {
			return nil
		}
		d.set, s = s[:k+end], s[k+end+1:]
		fallthrough
	case 'c', 's', '%':
		if length == "" { // not wide
			d.size = 1
		}
	}
	if d.size > 0 {
		d.verb = verb
	}
	return s
}

// converts reads what a directive takes of a text, and says how many bytes that were; none: it does not match.
func (c *cpu) converts(d *conversion, s []byte) (n int, data []byte) {
	if d.width > 0 && d.width < len(s) {
		s = s[:d.width]
	}
	switch d.verb {
	case 'c':
		n = max(d.width, 1)
		if n > len(s) {
			return 0, nil
		}
		return n, s[:n]
	case 's':
		for n < len(s) && spaces(s[n:n+1]) == 0 {
			n++
		}
		return n, append(bytes.Clone(s[:n]), 0)
	case '[':
		for n < len(s) && inSet(d.set, s[n]) {
			n++
		}
		return n, append(bytes.Clone(s[:n]), 0)
	case 'f', 'e', 'g', 'E', 'G':
		v, n := c.decimal(s, 8*d.size)
		if d.size == 4 {
			return n, words(uint64(math.Float32bits(float32(v))))[:4]
		}
		return n, words(math.Float64bits(v))
	}
	base := map[byte]uint64{'d': 10, 'u': 10, 'i': 0, 'x': 16, 'X': 16, 'o': 8}[d.verb]
	v, n := c.numeralOf(s, base, d.verb == 'd' || d.verb == 'i')
	if n < len(s) && n > 0 && s[n-1] == '0' && lowerOf(s[n]) == 'x' && (base == 0 || base == 16) {
		c.fail(ErrLibrary) // "0x", and no digit: implementations differ
	}
	return n, words(v)[:d.size]
}

// inSet: a set of characters, as it stands in brackets, has one.
func inSet(set []byte, b byte) (in bool) {
	not := set[0] == '^'
	if not {
		set = set[1:]
	}
	for i := 0; i < len(set); i++ {
		if i+2 < len(set) && set[i+1] == '-' {
			in = in || set[i] <= b && b <= set[i+2]
			i += 2
			continue
		}
		in = in || set[i] == b
	}
	return in != not
}

// token cuts the next piece of a text off, as strtok_r does, or as strsep: where it ends a NUL is written, and what is left is noted at next.
func (c *cpu) token(name string, s, delimiters, next, ret uint64) (token uint64) {
	note := func(v uint64) {
		if c.load(next, 8) != v {
			c.bulk(name, next, 0, words(v), ret)
		}
	}
	split := name == "strsep"
	if s == 0 {
		if s = c.load(next, 8); s == 0 {
			return 0
		}
	}
	if !split {
		_, n := c.span(s, delimiters, true)
		s += uint64(n)
	}
	switch text, n := c.span(s, delimiters, false); {
	case n < len(text):
		note(s + uint64(n) + 1)
		c.bulk(name, s+uint64(n), 0, []byte{0}, ret)
	case split:
		note(0) // and what is left is a piece, if an empty one
	default:
		if note(s + uint64(n)); n == 0 {
			return 0
		}
	}
	return s
}
