// Package probe plans a capture: which instructions, functions and points of which files.
package probe
