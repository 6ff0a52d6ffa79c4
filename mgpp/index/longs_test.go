package index

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"mgtrace/mgpp"
	"mgtrace/trace"
)

// TestLong: a write of a gigabyte takes a row, and answers are those of the history.
func TestLong(t *testing.T) {
	const at, size = 0x10000004, 1 << 30
	path := filepath.Join(t.TempDir(), "t.mgt")
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	w := trace.NewWriter(f, trace.Program{})
	h := mgpp.New(mgpp.Options{})
	for _, ev := range []trace.Event{
		{Kind: trace.KindAlloc, Addr: 0x1000, Size: 16, Name: "malloc"},
		{Kind: trace.KindRealloc, Aux: 0x1000, Addr: 0x2000, Size: 32, Name: "realloc"},
		{Kind: trace.KindAlloc, Addr: at, Size: size, Name: "malloc"},
		{Kind: trace.KindStore, Addr: at + 12, Size: 8, Data: []byte("older...")},
		{Kind: trace.KindStore, Addr: at + 500<<20, Size: 8, Data: []byte("older...")},
		{Kind: trace.KindBulk, Flags: trace.FlagPartial, Addr: at, Size: size, Name: "memset", Data: bytes.Repeat([]byte{7}, 64)},
		{Kind: trace.KindStore, Addr: at + 600<<20, Size: 4, Data: []byte("new.")},
		{Kind: trace.KindStore, Addr: at + 16, Size: 1, Data: []byte("n")},
	} {
		if err := w.Write(&ev); err != nil {
			t.Fatal(err)
		}
		if _, err := h.Apply(&ev); err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(w.Finish(trace.Trailer{}), f.Close()); err != nil {
		t.Fatal(err)
	}
	x := build(t, path)
	if rows := x.d.Tables[tabCells].Rows; rows > 10 {
		t.Errorf("%d rows of words", rows)
	}
	for now := mgpp.Timestamp(0); now <= h.Now(); now++ {
		for _, off := range []uint64{0, 1, 4, 12, 16, 60, 64, 500 << 20, 600 << 20, 600<<20 + 4, size - 8, size - 4} {
			a := trace.Addr(at + off)
			for _, n := range []uint64{1, 4, 100 << 20} {
				if want, got := h.LastWrite(a, n, now), x.LastWrite(a, n, now); got != want {
					t.Errorf("at %d: the last write to %d bytes at %d is %d, want %d", now, n, off, got, want)
				}
			}
			want, got := mgpp.Bytes{Data: make([]byte, 4)}, mgpp.Bytes{Data: make([]byte, 4)}
			in, is := h.At(now).Read(a, &want), x.At(now).Read(a, &got)
			want.Newest, got.Newest = 0, 0
			if d := cmp.Diff(want, got); in != is || in && d != "" {
				t.Errorf("at %d: 4 bytes at %d: %v, want %v: %s", now, off, is, in, d)
			}
		}
	}
	if d := cmp.Diff(h.Touched(5, 6), x.Touched(5, 6)); d != "" {
		t.Error(d)
	}
	if x.Err() != nil {
		t.Error(x.Err())
	}
}
