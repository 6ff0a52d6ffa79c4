package types

import (
	"sort"
	"strings"
)

// basicWords are the words of C's own arithmetic types.
var basicWords = map[string]bool{"void": true, "char": true, "short": true, "int": true, "long": true, "float": true,
	"double": true, "signed": true, "unsigned": true, "_Bool": true, "bool": true, "__int128": true,
	"__signed__": true, "_Float16": true, "_Float128": true, "__float128": true, "__bf16": true}

// basic is what a name of a basic type means.
type basic struct {
	kind Kind
	size int64
}

// standardTypes are names that C's headers define for x86-64 Linux. A
// declaration in the text overrides them.
var standardTypes = map[string]basic{
	"int8_t": {Int, 1}, "int16_t": {Int, 2}, "int32_t": {Int, 4}, "int64_t": {Int, 8},
	"uint8_t": {Uint, 1}, "uint16_t": {Uint, 2}, "uint32_t": {Uint, 4}, "uint64_t": {Uint, 8},
	"int_least8_t": {Int, 1}, "int_least16_t": {Int, 2}, "int_least32_t": {Int, 4}, "int_least64_t": {Int, 8},
	"uint_least8_t": {Uint, 1}, "uint_least16_t": {Uint, 2}, "uint_least32_t": {Uint, 4}, "uint_least64_t": {Uint, 8},
	"int_fast8_t": {Int, 1}, "int_fast16_t": {Int, 8}, "int_fast32_t": {Int, 8}, "int_fast64_t": {Int, 8},
	"uint_fast8_t": {Uint, 1}, "uint_fast16_t": {Uint, 8}, "uint_fast32_t": {Uint, 8}, "uint_fast64_t": {Uint, 8},
	"intptr_t": {Int, 8}, "uintptr_t": {Uint, 8}, "intmax_t": {Int, 8}, "uintmax_t": {Uint, 8},
	"size_t": {Uint, 8}, "ssize_t": {Int, 8}, "ptrdiff_t": {Int, 8}, "off_t": {Int, 8}, "time_t": {Int, 8},
	"pid_t": {Int, 4}, "uid_t": {Uint, 4}, "gid_t": {Uint, 4}, "mode_t": {Uint, 4}, "dev_t": {Uint, 8}, "ino_t": {Uint, 8},
	"u_int8_t": {Uint, 1}, "u_int16_t": {Uint, 2}, "u_int32_t": {Uint, 4}, "u_int64_t": {Uint, 8},
	"u_char": {Uint, 1}, "u_short": {Uint, 2}, "u_int": {Uint, 4}, "u_long": {Uint, 8},
	"ushort": {Uint, 2}, "uint": {Uint, 4}, "ulong": {Uint, 8},
	"wchar_t": {Int, 4}, "wint_t": {Uint, 4}, "char8_t": {Uint, 1}, "char16_t": {Uint, 2}, "char32_t": {Uint, 4},
	"FILE": {Opaque, -1},
}

// standard returns the type of a standard name, nil if it is none.
func (d *Decls) standard(name string) *Type {
	b, ok := standardTypes[name]
	if !ok {
		return nil
	}
	return d.basicNamed(name, b)
}

// basicNamed returns the one Type of this scope for a basic type's name.
func (d *Decls) basicNamed(name string, b basic) *Type {
	t := d.basic[name]
	if t == nil {
		t = &Type{Kind: b.kind, Name: name, Size: b.size, Signed: b.kind == Int}
		d.basic[name] = t
	}
	return t
}

// basicType makes a type of words such as "unsigned long int", in any order.
func (p *parser) basicType(words []string, start token) *Type {
	count := map[string]int{}
	for _, w := range words {
		count[strings.Trim(w, "_")]++
	}
	n := func(w string) int { return count[w] }
	signed, unsigned := n("signed"), n("unsigned")
	base := 0
	for w, c := range count {
		switch w {
		case "signed", "unsigned", "short", "long", "int":
		default:
			base += c
		}
	}
	if signed+unsigned > 1 || base > 1 || n("int") > 1 || n("short") > 1 || n("long") > 2 || n("short")+n("long") > 2 || n("short") > 0 && n("long") > 0 {
		return p.noBasic(words, start)
	}
	name, b, ok := "", basic{}, true
	switch {
	case base == 0:
		name, b = integer(n("short"), n("long"))
	case n("char") == 1:
		name, b = "char", basic{Int, 1}
		ok = n("int")+n("short")+n("long") == 0
	case n("int128") == 1:
		name, b = "__int128", basic{Int, 16}
		ok = n("int")+n("short")+n("long") == 0
	case n("double") == 1 && n("long") == 1:
		name, b = "long double", basic{Float, 16}
		ok = signed+unsigned+n("int") == 0
	default:
		name, b = other(strings.Trim(words[0], "_"))
		ok = len(words) == 1
	}
	if !ok {
		return p.noBasic(words, start)
	}
	if unsigned == 1 {
		name, b.kind = "unsigned "+name, Uint
	} else if signed == 1 && name == "char" {
		name = "signed char"
	}
	return p.basicNamed(name, b)
}

func (p *parser) noBasic(words []string, start token) *Type {
	p.fail(start.pos, "`%s` is not a type", strings.Join(words, " "))
	return nil
}

func integer(short, long int) (string, basic) {
	switch {
	case short == 1:
		return "short", basic{Int, 2}
	case long == 1:
		return "long", basic{Int, 8}
	case long == 2:
		return "long long", basic{Int, 8}
	}
	return "int", basic{Int, 4}
}

func other(word string) (string, basic) {
	switch word {
	case "void":
		return "void", basic{Void, 0}
	case "Bool", "bool":
		return "bool", basic{Bool, 1}
	case "float":
		return "float", basic{Float, 4}
	case "double":
		return "double", basic{Float, 8}
	case "Float16":
		return "_Float16", basic{Float, 2}
	case "bf16":
		return "__bf16", basic{Float, 2}
	}
	return "_Float128", basic{Float, 16}
}

func sorted(names []string) []string {
	sort.Strings(names)
	return names
}
