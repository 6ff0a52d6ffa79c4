package main

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
)

// sleeper starts a process with a mark and waits until it has been executed.
func sleeper(t *testing.T, mark string) int {
	t.Helper()
	cmd := exec.Command("sleep", "100")
	cmd.Env = append(os.Environ(), mark)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { cmd.Process.Kill(); cmd.Wait() })
	for !strings.HasPrefix(statusField(cmd.Process.Pid, "State"), "S") {
	}
	return cmd.Process.Pid
}

func TestMarked(t *testing.T) {
	mark := fmt.Sprintf("%stest-%d", tracerMark, os.Getpid())
	pid := sleeper(t, mark)
	if got := marked(mark); !slices.Equal(got, []int{pid}) {
		t.Errorf("marked: %v, want %d", got, pid)
	}
	if got := marked(mark + "0"); got != nil {
		t.Errorf("marked with another mark: %v", got)
	}
}

// TestHarmed changes one byte of a process's code: it is seen.
func TestHarmed(t *testing.T) {
	pid := sleeper(t, tracerMark+"harmed")
	before, err := shapeOf(pid)
	if err != nil {
		t.Fatal(err)
	}
	if len(before.code) < 2 || before.rss == 0 || len(before.descriptors) < 3 {
		t.Fatalf("shape: %+v", before)
	}
	if err := before.harmed(pid); err != nil {
		t.Fatal(err)
	}
	memory, err := os.OpenFile(fmt.Sprintf("/proc/%d/mem", pid), os.O_RDWR, 0)
	if err != nil {
		t.Skip(err) // no right to change another process
	}
	defer memory.Close()
	at := codeOf(t, pid)
	if _, err := memory.WriteAt([]byte{0xcc}, at); err != nil {
		t.Skip(err)
	}
	if err := before.harmed(pid); err == nil || !strings.Contains(err.Error(), "is not what it was") {
		t.Errorf("a changed byte of code: %v", err)
	}
}

// codeOf returns the address of the last byte of a process's first executable mapping:
// nothing is there that sleep executes.
func codeOf(t *testing.T, pid int) int64 {
	t.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/maps", pid))
	if err != nil {
		t.Fatal(err)
	}
	for line := range bytes.Lines(text) {
		var lo, hi int64
		var flags string
		if fmt.Sscanf(string(line), "%x-%x %s", &lo, &hi, &flags); strings.Contains(flags, "x") {
			return hi - 1
		}
	}
	t.Fatal("no code")
	return 0
}
