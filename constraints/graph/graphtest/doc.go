// Package graphtest makes small memory graphs by hand, for the tests of packages
// that read them, and a program of C declarations for those that check specifications.
//
//	w := graphtest.New(t, "struct node { int key; struct node *next; };\ntype node;\n")
//	w.Alloc("node", 0x1000, 16)
//	w.Put(0x1008, 8, 0x1000) // n->next = n
//	describe.Fields(w.G, w.Now(), 1)
//
// It says nothing about what is right: it has no expectations.
package graphtest
