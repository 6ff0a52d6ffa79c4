package session

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"mgtrace/probe"

	"github.com/google/go-cmp/cmp"
)

func TestParseAllocator(t *testing.T) {
	for _, c := range []struct {
		text string
		want probe.Allocator
		ok   bool
	}{
		{"obstack_get", probe.Allocator{Func: "obstack_get", Size: 1}, true},
		{" pool_get ( size = 2 ) ", probe.Allocator{Func: "pool_get", Size: 2}, true},
		{"get(size=1, count=2)", probe.Allocator{Func: "get", Size: 1, Count: 2}, true},
		{"get(count=2, size=1)", probe.Allocator{Func: "get", Size: 1, Count: 2}, true},
		{"node_new(fixed=0x20)", probe.Allocator{Func: "node_new", Fixed: 32}, true},
		{"0x401136=malloc", probe.Allocator{Func: "0x401136", Like: "malloc"}, true},
		{"0x401136=posix_memalign", probe.Allocator{Func: "0x401136", Like: "posix_memalign"}, true},
		{"0x401136=banana", probe.Allocator{}, false},
		{"0x401136=malloc(size=1)", probe.Allocator{}, false},
		{"", probe.Allocator{}, false},
		{"(size=1)", probe.Allocator{}, false},
		{"get(size=1", probe.Allocator{}, false},
		{"get(size=0)", probe.Allocator{}, false},
		{"get(size=7)", probe.Allocator{}, false},
		{"get(count=2)", probe.Allocator{}, false},
		{"get(size)", probe.Allocator{}, false},
		{"get(size=x)", probe.Allocator{}, false},
		{"get(size=-1)", probe.Allocator{}, false},
		{"get(size=99999999999999999999)", probe.Allocator{}, false},
		{"get(width=1)", probe.Allocator{}, false},
	} {
		got, err := ParseAllocator(c.text)
		if (err == nil) != c.ok {
			t.Errorf("%q: %+v, %v", c.text, got, err)
		} else if d := cmp.Diff(c.want, got); c.ok && d != "" {
			t.Errorf("%q (-want +got):\n%s", c.text, d)
		}
	}
}

func TestParseFree(t *testing.T) {
	for _, c := range []struct {
		text string
		want probe.Allocator
		ok   bool
	}{
		{"pool_put", probe.Allocator{Free: "pool_put", FreeArg: 1}, true},
		{"pool_put(2)", probe.Allocator{Free: "pool_put", FreeArg: 2}, true},
		{"0x401200", probe.Allocator{Free: "0x401200", FreeArg: 1}, true},
		{"", probe.Allocator{}, false},
		{"pool_put(0)", probe.Allocator{}, false},
		{"pool_put(7)", probe.Allocator{}, false},
		{"pool_put(x)", probe.Allocator{}, false},
		{"pool_put(1", probe.Allocator{}, false},
	} {
		got, err := ParseFree(c.text)
		if (err == nil) != c.ok {
			t.Errorf("%q: %+v, %v", c.text, got, err)
		} else if d := cmp.Diff(c.want, got); c.ok && d != "" {
			t.Errorf("%q (-want +got):\n%s", c.text, d)
		}
	}
}

func TestSniff(t *testing.T) {
	dir := t.TempDir()
	for content, want := range map[string]fileKind{"": otherFile, "\x7fEL": otherFile, "\x7fELF": elfFile, "\x7fELF\x02\x01": elfFile, "mgtrace": otherFile} {
		path := filepath.Join(dir, "f")
		if err := os.WriteFile(path, []byte(content), 0o666); err != nil {
			t.Fatal(err)
		}
		if got, err := sniff(path); err != nil || got != want {
			t.Errorf("%q: %v, %v", content, got, err)
		}
	}
	if _, err := sniff(filepath.Join(dir, "none")); !errors.Is(err, os.ErrNotExist) {
		t.Error(err)
	}
}

// TestNotThere: what can not be opened is named.
func TestNotThere(t *testing.T) {
	dir := t.TempDir()
	text := filepath.Join(dir, "text")
	if err := os.WriteFile(text, []byte("this is no trace, whatever its length is: it begins otherwise\n"), 0o666); err != nil {
		t.Fatal(err)
	}
	ctx := context.Background()
	if _, err := Locate(ctx, filepath.Join(dir, "none"), AnalysisOptions{}); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("no trace: %v", err)
	}
	if _, err := Locate(ctx, text, AnalysisOptions{}); err == nil || !strings.Contains(err.Error(), "text") {
		t.Errorf("a text: %v", err)
	}
	if _, err := Check(ctx, text, "", AnalysisOptions{}); err == nil || !strings.Contains(err.Error(), "text") {
		t.Errorf("a text: %v", err)
	}
	if _, err := Check(ctx, "/bin/sh", "", AnalysisOptions{}); err == nil || !strings.Contains(err.Error(), "core") {
		t.Errorf("a program in place of its core: %v", err)
	}
}
