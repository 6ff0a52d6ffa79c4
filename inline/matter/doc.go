// Package matter is what the in-process engine can be told of blocks so that it records
// only those that matter: by the call stacks of their allocation.
//
//	m := matter.Blocks{Named: code}               // whose frames make a block matter
//	f := matter.Frame{Ret: pc, Says: matter.Closed, Step: matter.FromSP, Offset: 32}
//	engine.Tell(f)                                // or what each frame says
//
// A block of which nothing is known matters. docs/design/inline.md, "The shadow table".
package matter
