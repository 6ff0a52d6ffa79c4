// Package x86 tells what an x86-64 instruction writes to memory.
package x86
