// Package check turns a parsed specification into a typed one.
//
//	file, errs := syntax.Parse("quad.cons", src)
//	spec, more := check.Check(file, prog)   // prog may be nil: the file alone
//	for _, c := range spec.Constraints {
//		fmt.Println(c.Label, c.Source)
//	}
//	req := check.Requirements(spec)         // what has to be watched
//
// Check resolves every name against the declarations of the file and the
// program, decides which variables are universal, finds the place of every
// field, and lists the pointer cells of every type that can be edges. It
// reports every error it finds, in order of place; a Spec is complete only if
// there is none.
//
// The package reads no files: what it knows of a program comes through the
// interface Program. It evaluates nothing but constants.
package check
