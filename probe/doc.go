// Package probe plans a capture: which instructions, functions and points of
// which files are probed so that no change of the heap goes unseen.
//
//	program, _ := objfile.Open("quad", objfile.Options{})
//	libc, _ := objfile.Open("/lib/x86_64-linux-gnu/libc.so.6", objfile.Options{})
//	plan, err := probe.Build(probe.Request{Watch: []string{"insert"}},
//		[]*probe.Image{{Path: "quad", File: program}, {Path: "libc.so.6", File: libc}},
//		probe.Options{})
//
// A plan is a pure function of the request and the files. It knows neither
// specifications nor engines, attaches nothing, and does not follow libraries
// that a program opens later: make another plan for them.
//
// What can not be probed is in the plan with its reason, never left out:
// stores in Unprobed, everything else in Warnings.
package probe
