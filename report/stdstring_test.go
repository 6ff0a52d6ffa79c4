package report

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestStdString: a C++ string is its text where it holds that itself, and else as long as it is. What only looks like one stays as it is.
func TestStdString(t *testing.T) {
	word := func(name string, length, first, second string) []Field {
		return []Field{
			{name + "._M_dataplus._M_p", "n#1+16"}, {name + "._M_string_length", length},
			{name + "._M_local_buf|_M_allocated_capacity", first}, {name + "._M_local_buf|_M_allocated_capacity+8", second},
		}
	}
	key := Field{"key", "7"}
	for _, c := range []struct {
		name   string
		fields []Field
		want   []Field
	}{
		{"short", append(word("name", "5", "0x????003231636361", "never written"), key), []Field{{"name", `"acc12"`}, key}},
		{"both words", word("a.b", "9", "0x6867666564636261", "0x????????????0069"), []Field{{"a.b", `"abcdefghi"`}}},
		{"empty", word("name", "0", "0x??????????????00", "never written"), []Field{{"name", `""`}}},
		{"elsewhere", word("name", "20", "0x1e", "never written"), []Field{{"name", "a string of 20 characters"}}},
		{"no text", word("name", "2", "0x????????????0107", "never written"), []Field{{"name", "a string of 2 characters"}}},
		{"length not known", word("name", "never written", "0x1e", "never written"), word("name", "never written", "0x1e", "never written")},
		{"no string", []Field{{"x._M_dataplus._M_p", "NULL"}, key, key}, []Field{{"x._M_dataplus._M_p", "NULL"}, key, key}},
	} {
		if diff := cmp.Diff(c.want, Fold(c.fields)); diff != "" {
			t.Errorf("%s: %s", c.name, diff)
		}
	}
}
