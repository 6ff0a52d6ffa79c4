package trace

import (
	"bytes"
	"slices"
	"testing"
)

// TestBlockList: a trace that is opened by its directory has the blocks that are found in the
// file, wherever they lie, and the same fingerprint.
func TestBlockList(t *testing.T) {
	data := write(t, slices.Repeat(sample(t), 5), 1, true)
	whole := open(t, data)
	known, err := newReader(bytes.NewReader(data), int64(len(data)), whole.Directory())
	if err != nil || known.blocks.heads == nil {
		t.Fatalf("the trace was not opened by its directory: %v", err)
	}
	n := whole.blocks.len()
	if n <= 2*listStep {
		t.Fatalf("%d blocks are too few for this test", n)
	}
	if known.blocks.len() != n || known.ChunkCount() != whole.ChunkCount() || known.EventCount() != whole.EventCount() || known.ChunkCount() == 0 {
		t.Errorf("%d blocks, %d chunks, %d events; want %d, %d, %d", known.blocks.len(), known.ChunkCount(), known.EventCount(), n, whole.ChunkCount(), whole.EventCount())
	}
	for i, want := range whole.blocks.all() {
		if got := known.blocks.get(i); got != want || known.blocks.header(i) != want.block || known.blocks.kind(i) != want.kind || known.blocks.count(i) != want.count {
			t.Fatalf("block %d: %+v, want %+v", i, got, want)
		}
	}
	for i, got := range known.blocks.all() {
		if want := whole.blocks.get(i); got != want {
			t.Fatalf("block %d: %+v, want %+v", i, got, want)
		}
	}
	scanned := open(t, data)
	if a, b := known.Fingerprint(), scanned.Fingerprint(); a != b {
		t.Errorf("fingerprint %x, want %x", a, b)
	}
}
