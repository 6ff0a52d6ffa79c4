package faultloc

import (
	"fmt"
	"strings"
	"testing"
)

// TestUnwritten: who takes a node out copies its pointer; where nothing had written that, it is missing where like nodes have it from, or else
// where the node was allocated, and who copied it did well. Not so if the statement has had its values from elsewhere.
func TestUnwritten(t *testing.T) {
	const spec = `
struct job { struct job *all, *chain; };
struct table { struct job *slot, *other; };
type job;
type table;
together job, table;
once: job J; J.INDEGREE(chain, slot) <= 1;
`
	for _, c := range []struct {
		name   string
		fills  bool
		copies bool
		want   string
	}{
		{"it is missing", true, true, "omitted 28"},
		{"nobody writes it", false, true, "wrote 20"},
		{"copied from elsewhere", true, false, "wrote 44"},
	} {
		w := newWorld(t, spec)
		node := func(name string) {
			w.run("20: " + name + " = malloc job")
			if c.fills {
				w.run("28: " + name + ".chain = NULL")
			}
		}
		w.run("1: t = calloc table\n2: x = malloc job\n3: t.other = x\n3: x.chain = NULL\n")
		for i := range 5 { // each is replaced by the next of its chain
			j, k := fmt.Sprint("j", i), fmt.Sprint("k", i)
			node(j)
			node(k)
			w.run("30: t.slot = " + j + "\n36: " + j + ".chain = " + k + "\ncpoint")
			if !c.copies {
				k = "NULL"
			}
			w.run("44: t.slot = " + k + "\n50: free " + j + "\ncpoint")
		}
		node("z")
		w.run("31: x.chain = z\n20: y = malloc job\n30: t.slot = y\ncpoint\n44: t.slot = z\n")
		if got := ranks(Locate(w.input())); !strings.HasPrefix(got, c.want) {
			t.Errorf("%s: %s, want %s first", c.name, got, c.want)
		}
	}
}
