// Package mine finds what held of a data structure in a healthy run, and writes it
// down as a specification to begin with.
//
//	res, err := mine.Mine(ctx, &mine.Run{Program: prog, History: h, Types: []string{"qdtree"}, …})
//	io.WriteString(w, res.Text())
//
// A candidate is a constraint of the language, generated from the layout of the
// types: it is parsed, checked and evaluated like any other, so that whatever is
// proposed can be checked. What fails where the structure should be whole dies;
// what could have held by chance, says nothing, or follows from the rest is left
// out. docs/design/mining.md tells how.
//
// The package runs nothing and reads no files. It knows what its run showed, and
// no more: a fact may be an accident of the run, and is written with its evidence.
package mine
