package main

import (
	"os"
	"syscall"
)

// signalOf returns the signal that ended a process.
func signalOf(p *os.ProcessState) int {
	if s, ok := p.Sys().(syscall.WaitStatus); ok && s.Signaled() {
		return int(s.Signal())
	}
	return 0
}
