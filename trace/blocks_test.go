package trace

import (
	"bytes"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// opened opens a trace as a whole, and by its directory.
func opened(t *testing.T, data []byte) (whole, known *Reader) {
	t.Helper()
	whole = open(t, data)
	known, err := newReader(bytes.NewReader(data), int64(len(data)), whole.Directory())
	if err != nil || known.blocks.known == nil {
		t.Fatalf("the trace was not opened by its directory: %v", err)
	}
	return whole, known
}

// mixed is a trace of many chunks: of events with and without new names and stacks, and of
// stores, with new sites and without.
func mixed(t *testing.T) []byte {
	t.Helper()
	var b bytes.Buffer
	w := NewWriter(&b, sampleProgram)
	do := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	x := newWorkload(1)
	_, err := w.AddSites(x.sites)
	do(err)
	events := sample(t)
	for i := range 40 {
		if i%7 == 0 {
			do(w.Attach(fmt.Sprint("file ", i), strings.NewReader(strings.Repeat("x", i))))
		}
		run := Stores{Thread: 1, Wall: int64(i), Recs: make([]StoreRec, 2+i%5)}
		x.fill(&run)
		do(w.WriteStores(&run))
		for k := range i % 4 {
			ev := events[(i*5+k)%len(events)]
			ev.Name = fmt.Sprint("name ", i%(20+k))
			do(w.Write(&ev))
		}
		do(w.Flush())
	}
	do(w.Finish(Trailer{}))
	return b.Bytes()
}

// TestBlockList: a trace that is opened by its directory has the blocks that are found in the
// file, wherever they lie, the same fingerprint, and the same directory.
func TestBlockList(t *testing.T) {
	whole, known := opened(t, mixed(t))
	n := whole.blocks.len()
	if n <= 2*listStep {
		t.Fatalf("%d blocks are too few for this test", n)
	}
	if known.blocks.len() != n || known.ChunkCount() != whole.ChunkCount() || known.EventCount() != whole.EventCount() || known.ChunkCount() == 0 {
		t.Errorf("%d blocks, %d chunks, %d events; want %d, %d, %d", known.blocks.len(), known.ChunkCount(), known.EventCount(), n, whole.ChunkCount(), whole.EventCount())
	}
	for k := range n {
		i := (k * 7) % n // in no order
		want, _ := whole.blocks.get(i)
		if got, err := known.blocks.get(i); err != nil || got != want {
			t.Fatalf("block %d: %+v, %v, want %+v", i, got, err, want)
		}
	}
	if d := cmp.Diff(whole.Chunks(), known.Chunks(), cmp.AllowUnexported(Chunk{}, wallSpan{}, pageRun{})); d != "" {
		t.Error(d)
	}
	for _, span := range [][2]int{{0, n}, {0, 0}, {3, 3}, {1, n / 2}, {n / 2, n}} {
		list := func(l *blockList) (out []string) {
			for i, tables := range l.knowledge(span[0], span[1]) {
				out = append(out, fmt.Sprint(i, tables))
			}
			return out
		}
		if d := cmp.Diff(list(&whole.blocks), list(&known.blocks)); d != "" {
			t.Errorf("knowledge of %d: %s", span, d)
		}
	}
	if a, b := known.Fingerprint(), whole.Fingerprint(); a != b {
		t.Errorf("fingerprint %x, want %x", a, b)
	}
	if !bytes.Equal(known.Directory(), whole.Directory()) {
		t.Error("the directory is another one")
	}
}

// TestDirectorySeek: from each event on a trace reads the same, opened by its directory or not.
func TestDirectorySeek(t *testing.T) {
	whole, known := opened(t, mixed(t))
	rest := func(r *Reader, n uint64) (out []string) {
		if err := r.Seek(n); err != nil {
			return []string{err.Error()}
		}
		for range 5 {
			var ev Event
			err := r.Next(&ev)
			if err == io.EOF {
				break
			}
			out = append(out, fmt.Sprint(Format(ev), err))
		}
		return out
	}
	for n := range whole.EventCount() + 1 {
		at := n * 7 % (whole.EventCount() + 1)
		if d := cmp.Diff(rest(whole, at), rest(known, at)); d != "" {
			t.Fatalf("from event %d: %s", at, d)
		}
	}
}

// TestDirectoryForged: whatever a directory says, and however the trace was damaged since, a
// reader answers or fails.
func TestDirectoryForged(t *testing.T) {
	data := mixed(t)
	good := open(t, data).Directory()
	try := func(data, directory []byte) {
		r, err := newReader(bytes.NewReader(data), int64(len(data)), directory)
		if err != nil {
			return
		}
		_ = r.Chunks()
		for _, n := range []uint64{0, r.EventCount() / 2, r.EventCount()} {
			var ev Event
			for err := r.Seek(n); err == nil; err = r.Next(&ev) {
			}
		}
		for _, name := range r.Attachments() {
			r.ReadAttachment(name)
		}
	}
	for i := range good {
		forged := bytes.Clone(good)
		forged[i] ^= byte(1 << (i % 8))
		try(data, forged)
		try(data, good[:i])
	}
	for i := 0; i < len(data); i += 11 {
		damaged := bytes.Clone(data)
		damaged[i] ^= 0x10
		try(damaged, good)
	}
}
