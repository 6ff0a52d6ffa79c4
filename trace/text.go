package trace

import (
	"bufio"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
)

// Format returns the text form of an event: the kind, then field=value for
// each field of the kind that is not zero. It is the twin of the binary form,
// for golden files and for people.
//
//	alloc thread=7 pc=0x401150 addr=0x5000 size=24 name="malloc" stack=0x401150,0x401200
//	store thread=7 pc=0x40116a addr=0x5008 base=0x5000 data=0050000000000000
func Format(e Event) string {
	b := append(make([]byte, 0, 96), e.Kind.String()...)
	if !e.Kind.valid() {
		return string(b)
	}
	fs := kindSpecs[e.Kind].fields | common
	for f := fieldThread; f < numFields; f++ {
		if fs.has(f) {
			b = appendField(b, f, &e)
		}
	}
	return string(b)
}

func appendField(b []byte, f field, e *Event) []byte {
	start := len(b)
	b = append(append(append(b, ' '), fieldSpecs[f].name...), '=')
	head := len(b)
	switch f {
	case fieldThread:
		b = appendNonzero(b, uint64(e.Thread), 10)
	case fieldWall:
		if e.Wall != 0 {
			b = strconv.AppendInt(b, e.Wall, 10)
		}
	case fieldInstant:
		b = appendNonzero(b, uint64(e.Instant), 10)
	case fieldFlags:
		b = append(b, e.Flags.String()...)
	case fieldSize:
		if e.Size != uint64(len(e.Data)) || !kindSpecs[e.Kind].fields.has(fieldData) {
			b = strconv.AppendUint(b, e.Size, 10)
		}
	case fieldAux:
		if e.Kind == KindRealloc || e.Kind == KindRefused { // an address
			b = appendNonzero(b, e.Aux, 16)
		} else {
			b = appendNonzero(b, e.Aux, 10)
		}
	case fieldName:
		if e.Name != "" {
			b = strconv.AppendQuote(b, e.Name)
		}
	case fieldStack:
		b = appendList(b, e.Stack)
	case fieldArgs:
		b = appendList(b, e.Args)
	case fieldData:
		b = hex.AppendEncode(b, e.Data)
	default:
		b = appendNonzero(b, *number(f, e), 16)
	}
	if len(b) == head {
		return b[:start]
	}
	return b
}

func appendNonzero(b []byte, v uint64, base int) []byte {
	if v == 0 {
		return b
	}
	if base == 16 {
		b = append(b, "0x"...)
	}
	return strconv.AppendUint(b, v, base)
}

func appendList[T ~uint64](b []byte, vs []T) []byte {
	for i, v := range vs {
		if i > 0 {
			b = append(b, ',')
		}
		b = strconv.AppendUint(append(b, "0x"...), uint64(v), 16)
	}
	return b
}

// number returns the plain 64-bit field f of e, nil if f is of another type.
func number(f field, e *Event) *uint64 {
	switch f {
	case fieldPC:
		return (*uint64)(&e.PC)
	case fieldAddr:
		return (*uint64)(&e.Addr)
	case fieldSize:
		return &e.Size
	case fieldBase:
		return (*uint64)(&e.Base)
	case fieldAux:
		return &e.Aux
	case fieldSP:
		return (*uint64)(&e.SP)
	case fieldRet:
		return &e.Ret
	case fieldInstant:
		return (*uint64)(&e.Instant)
	}
	return nil
}

// ParseText is the inverse of Format.
func ParseText(line string) (Event, error) {
	name, rest, _ := strings.Cut(strings.TrimSpace(line), " ")
	k, ok := kindNamed(name)
	if !ok {
		return Event{}, fmt.Errorf("unknown kind of event %q", name)
	}
	e := Event{Kind: k}
	var seen fieldSet
	for rest = strings.TrimLeft(rest, " "); rest != ""; rest = strings.TrimLeft(rest, " ") {
		key, after, ok := strings.Cut(rest, "=")
		if !ok {
			return Event{}, fmt.Errorf("%s: %q is not field=value", name, rest)
		}
		f := fieldNamed(key)
		switch {
		case f == fieldNone || !(kindSpecs[k].fields | common).has(f):
			return Event{}, fmt.Errorf("%s has no field %q", name, key)
		case seen.has(f):
			return Event{}, fmt.Errorf("%s: %s stands twice", name, key)
		}
		seen |= set(f)
		var value string
		if f == fieldName {
			q, err := strconv.QuotedPrefix(after)
			if err != nil || q[0] != '"' {
				return Event{}, fmt.Errorf("%s: name is not a quoted string", name)
			}
			value, rest = q, after[len(q):]
		} else {
			value, rest, _ = strings.Cut(after, " ")
		}
		if err := parseField(f, value, &e); err != nil {
			return Event{}, fmt.Errorf("%s: %s: %w", name, key, err)
		}
	}
	if kindSpecs[k].fields.has(fieldSize) && !seen.has(fieldSize) {
		e.Size = uint64(len(e.Data))
	}
	return e, nil
}

func fieldNamed(name string) field {
	for f := fieldThread; f < numFields; f++ {
		if name != "" && fieldSpecs[f].name == name {
			return f
		}
	}
	return fieldNone
}

var errValue = errors.New("bad value") // read-only

func parseField(f field, s string, e *Event) (err error) {
	switch f {
	case fieldThread:
		v, err := strconv.ParseUint(s, 0, 32)
		e.Thread = ThreadID(v)
		return err
	case fieldWall:
		e.Wall, err = strconv.ParseInt(s, 0, 64)
	case fieldFlags:
		var ok bool
		if e.Flags, ok = parseFlags(s); !ok {
			return fmt.Errorf("%w %q", errValue, s)
		}
	case fieldName:
		e.Name, err = strconv.Unquote(s)
	case fieldStack:
		e.Stack, err = parseList[Addr](s)
	case fieldArgs:
		e.Args, err = parseList[uint64](s)
	case fieldData:
		e.Data, err = hex.DecodeString(s)
	default:
		*number(f, e), err = strconv.ParseUint(s, 0, 64)
	}
	return err
}

func parseList[T ~uint64](s string) (vs []T, err error) {
	for part := range strings.SplitSeq(s, ",") {
		v, err := strconv.ParseUint(part, 0, 64)
		if err != nil {
			return nil, err
		}
		vs = append(vs, T(v))
	}
	return vs, nil
}

// ReadText reads events in the text form, one to a line. Empty lines and lines
// that begin with # are skipped. An error names its line.
func ReadText(r io.Reader) ([]Event, error) {
	var events []Event
	s := bufio.NewScanner(r)
	s.Buffer(nil, 1<<26)
	for n := 1; s.Scan(); n++ {
		line := strings.TrimSpace(s.Text())
		if line == "" || line[0] == '#' {
			continue
		}
		e, err := ParseText(line)
		if err != nil {
			return events, fmt.Errorf("line %d: %w", n, err)
		}
		events = append(events, e)
	}
	return events, s.Err()
}
