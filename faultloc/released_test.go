package faultloc

import (
	"fmt"
	"testing"
)

// TestReleased: of the statements that take nodes out before they are freed, the one is missing that takes such pointers away as still lead to one.
func TestReleased(t *testing.T) {
	const spec = "struct bough { struct bough *left, *right; };\ntype bough;\nleft: bough X; X.left == NULL or X.left.left == NULL;\nright: bough X; X.right == NULL or X.right.right == NULL;\n"
	before := "1: r = calloc bough\n"
	for i := range 8 {
		before += fmt.Sprintf("1: a = calloc bough\n1: b = calloc bough\n2: r.left = a\n3: r.right = b\n41: r.left = NULL\n50: free a\ncpoint\n42: r.right = NULL\n50: free b\n%s", [2]string{"", "cpoint\n"}[i/7])
	}
	before += "1: a = calloc bough\n1: b = calloc bough\n2: r.left = a\n3: r.right = b\ncpoint\n"
	checkAsked(t, spec, before, Missing, map[string]string{
		"50: free a":                     "omitted 41 missing",
		"50: free b":                     "omitted 42 missing",
		"42: r.right = NULL\n50: free b": "healthy",
	})
}
