package main

import (
	"bytes"
	"compress/gzip"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestProfile: each command writes a profile where it is asked to, and says where it can not.
func TestProfile(t *testing.T) {
	main := func(args ...string) (string, int) {
		var said bytes.Buffer
		status := Main(args, strings.NewReader(""), io.Discard, &said)
		return said.String(), status
	}
	path := filepath.Join(t.TempDir(), "p")
	if told, status := main("info", filepath.Join(t.TempDir(), "none.mgt"), "--cpuprofile", path); status != statusFailed || !strings.Contains(told, "none.mgt") {
		t.Errorf("status %d, said %q", status, told)
	}
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	if n, err := io.Copy(io.Discard, z); n == 0 || err != nil { // whole
		t.Errorf("%d bytes, %v", n, err)
	}
	if told, status := main("info", path, "--cpuprofile", filepath.Join(path, "below")); status != statusFailed || !strings.Contains(told, "below") {
		t.Errorf("status %d, said %q", status, told)
	}
}
