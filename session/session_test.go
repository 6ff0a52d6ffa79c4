package session

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

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
