package report

import (
	"encoding/hex"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// The members of the C++ library's string (libstdc++, bits/basic_string.h): where its characters lie, how many they are, and up to 15 of
// them in itself, where else the room for them stands.
const (
	stringPointer = "._M_dataplus._M_p"
	stringLength  = "._M_string_length"
	stringBuffer  = "._M_local_buf|_M_allocated_capacity"
	stringRoom    = 15
)

// stdString makes one field of those of a C++ string that fields begin with: its text, if that lies in itself, or its length. n is how many
// fields that are, 0 if it is none.
func stdString(fields []Field) (f Field, n int) {
	name, ok := strings.CutSuffix(fields[0].Name, stringPointer)
	if !ok || len(fields) < 3 || fields[1].Name != name+stringLength {
		return f, 0
	}
	var own []byte
	for n = 2; n < len(fields) && strings.HasPrefix(fields[n].Name, name+stringBuffer); n++ {
		own = append(own, wordBytes(fields[n].Value)...)
	}
	length, err := strconv.Atoi(fields[1].Value)
	if err != nil || length < 0 || n == 2 {
		return f, 0
	}
	f = Field{name, fmt.Sprintf("a string of %s", Plural(length, "character", "characters"))}
	if length <= stringRoom && length <= len(own) && !slices.ContainsFunc(own[:length], func(c byte) bool { return !printable(int(c)) }) {
		f.Value = strconv.Quote(string(own[:length]))
	}
	return f, n
}

// wordBytes are those of a word, "0x????003231636361", as they lie in memory; of what is not known, or of any other value, zeros.
func wordBytes(value string) []byte {
	out := make([]byte, 8)
	digits, ok := strings.CutPrefix(value, "0x")
	if !ok || len(digits) > 16 {
		return out
	}
	raw, err := hex.DecodeString(strings.Repeat("0", 16-len(digits)) + strings.ReplaceAll(digits, "?", "0"))
	if err != nil {
		return out
	}
	slices.Reverse(raw)
	return raw
}
