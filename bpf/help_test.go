package bpf

import "testing"

func needRoot(t *testing.T) { t.Helper() }
