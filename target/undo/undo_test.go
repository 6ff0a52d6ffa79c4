package undo

import (
	"io"
	"os"
	"path/filepath"
	"testing"
)

// pair is a log's two ends: of the one that survives, and the maker's.
func pair(t *testing.T) (*os.File, *Writer) {
	t.Helper()
	survivor, maker, err := Pair()
	if err != nil {
		t.Fatal(err)
	}
	w, err := NewWriter(maker)
	if err != nil {
		t.Fatal(err)
	}
	return survivor, w
}

// What was put and not dropped is kept when the maker ends, with its files.
func TestLog(t *testing.T) {
	survivor, w := pair(t)
	type result struct {
		entries []Entry
		err     error
	}
	done, first := make(chan result), make(chan string, 1)
	go func() {
		entries, err := Follow(survivor, func(e Entry) { first <- string(e.Description) })
		done <- result{entries, err}
	}()
	f, err := os.Create(filepath.Join(t.TempDir(), "file"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if _, err := f.WriteString("shared"); err != nil {
		t.Fatal(err)
	}
	if _, err := w.Put([]byte("first"), f); err != nil {
		t.Fatal(err)
	}
	if e := <-first; e != "first" {
		t.Errorf("the first entry is %q", e)
	}
	for range 2000 { // more than a socket holds
		n, err := w.Put([]byte("passing"), f)
		if err != nil {
			t.Fatal(err)
		}
		if err := w.Drop(n); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := w.Put(nil); err != nil {
		t.Fatal(err)
	}
	_ = w.conn.Close()
	r := <-done
	if r.err != nil || len(r.entries) != 2 {
		t.Fatalf("%v, %+v", r.err, r.entries)
	}
	e := r.entries[0]
	if string(e.Description) != "first" || len(e.Files) != 1 || len(r.entries[1].Description) != 0 {
		t.Fatalf("%+v", r.entries)
	}
	defer e.Files[0].Close()
	if b, err := io.ReadAll(io.NewSectionReader(e.Files[0], 0, 100)); string(b) != "shared" {
		t.Errorf("the file holds %q (%v)", b, err)
	}
}

// A maker whose survivor has ended goes on, and is told so; without a log nothing is noted.
func TestAlone(t *testing.T) {
	survivor, w := pair(t)
	_ = survivor.Close()
	w.Gone()
	if _, err := w.Put([]byte("x")); err != nil {
		t.Error(err)
	}
	var none *Writer
	if n, err := none.Put([]byte("x")); n != 0 || err != nil || none.Drop(n) != nil {
		t.Error(n, err)
	}
}
