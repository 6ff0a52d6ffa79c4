// Package syntax reads specifications (.cons files) into a tree.
//
//	file, errs := syntax.Parse("quad.cons", src)
//	for _, e := range errs {
//		fmt.Print(e.Format(src))
//	}
//	fmt.Print(syntax.Print(file))
//
// Parse reports every error of a file: after one it goes on behind the next
// semicolon. The tree keeps what was written, parentheses included; Print
// gives it back in canonical form, and what Print gives is read as the same
// tree. Comments are not kept.
//
// The package knows no types, no programs and no meaning: whether a name
// exists is asked by package check. C declarations are kept as text with
// their place (CSource) for package types.
package syntax
