package faultloc

import (
	"fmt"
	"strings"
)

// sumSpec is a tree whose nodes know the sum beneath them.
const sumSpec = `
struct part { struct part *left, *right; long own, total; };
type part edges (left, right);
part.TOTAL;
part X; X.TOTAL = X.own + (X.left).TOTAL + (X.right).TOTAL;
total: part X; X.total == X.TOTAL;
tree: part X; X.INDEGREE <= 1;
`

// A chain of three.
const sums = `
1: r = calloc part
1: a = calloc part
1: b = calloc part
2: r.own = 1
2: a.own = 2
2: b.own = 4
3: r.left = a
3: a.left = b
9: b.total = 4
9: a.total = 6
9: r.total = 7
cpoint
`

// keyedSpec is a search tree.
const keyedSpec = `
struct kn { struct kn *left, *right; long key; };
type kn;
left: kn X; X.left != NULL => X.left.key < X.key;
right: kn X; X.right != NULL => X.right.key > X.key;
tree: kn X; X.INDEGREE <= 1;
`

// ascending is a chain of n nodes to the right.
func ascending(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "1: k%d = calloc kn\n2: k%d.key = %d\n", i, i, 10*i+10)
		if i > 0 {
			fmt.Fprintf(&b, "4: k%d.right = k%d\n", i-1, i)
		}
		b.WriteString("cpoint\n")
	}
	return b.String()
}

// chainSpec is a list of which each node has one pointer to it.
const chainSpec = `
struct link { struct link *next; long key; };
struct head { struct link *first; };
type link;
type head;
held: link X; head H; COUNT(link Y: Y.next == X) + (H.first == X ? 1 : 0) == 1;
`

// chain is a list of n nodes, head first.
func chain(n int) string {
	var b strings.Builder
	b.WriteString("1: h = calloc head\n")
	for i := range n {
		fmt.Fprintf(&b, "2: c%d = calloc link\n", i)
		if i > 0 {
			fmt.Fprintf(&b, "3: c%d.next = c%d\n", i, i-1)
		}
		fmt.Fprintf(&b, "4: h.first = c%d\ncpoint\n", i)
	}
	return b.String()
}

func init() {
	cases = append(cases, []locateCase{
		{
			// the sums above were computed from b's, which should have been stored again
			name: "wrong numbers that follow from one", spec: sumSpec, before: sums,
			fault:   "1: x = calloc part\n2: x.own = 8\n9: x.total = 8\n3: b.left = x\n2: a.own = 3\n9: a.total = 7\n9: r.total = 8",
			correct: "1: x = calloc part\n2: x.own = 8\n9: x.total = 8\n3: b.left = x\n2: a.own = 3\n9: b.total = 12\n9: a.total = 15\n9: r.total = 16",
			want:    "wrote 3, wrote 9, wrote 2", evidence: Flip,
		},
		{
			// its key would fit elsewhere
			name: "linked on the wrong side", spec: keyedSpec, before: ascending(10),
			fault:   "1: x = calloc kn\n2: x.key = 25\n5: k3.right = k4\n6: k2.left = NULL\n7: k1.left = x",
			correct: "1: x = calloc kn\n2: x.key = 25\n5: k3.right = k4\n6: k2.left = NULL\n7: k2.left = x",
			want:    "wrote 7, wrote 2", evidence: Flip,
		},
		{
			// as long as the last node lives, it leads to the one that is lost
			name: "taken out with the next one", spec: chainSpec, before: chain(10),
			fault:   "5: h.first = c7\n6: free c9",
			correct: "5: h.first = c8\n6: free c9",
			want:    "wrote 5 | wrote 6", evidence: RepairCell,
		},
	}...)
}
