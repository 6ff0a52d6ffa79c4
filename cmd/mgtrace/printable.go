package main

import (
	"bytes"
	"fmt"
	"io"
	"sync"
	"unicode"
	"unicode/utf8"
)

// printable passes text on to a terminal, or to a file that will be shown on one. Names of
// functions, files, types and the text of source lines come from the program that was
// recorded: what in them a terminal would obey, or what would show text in another order, is
// written as in JSON (\u001b), so that JSON is the same. mgtrace's own sequences pass.
type printable struct {
	to io.Writer

	mu   sync.Mutex
	rest []byte // the beginning of a character or sequence that has not been written as a whole
}

// ownSequences are those that mgtrace writes: colours (ECMA-48, 8.3.117) of package report and
// query, and the erased line of what tells of progress. Read-only.
var ownSequences = [][]byte{
	[]byte("\x1b[0m"), []byte("\x1b[1m"), []byte("\x1b[2m"), []byte("\x1b[32m"), []byte("\x1b[33m"), []byte("\x1b[1;31m"),
	[]byte("\r\x1b[K"),
}

// Write passes on what is whole of p.
func (w *printable) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	text := append(w.rest, p...)
	w.rest = nil
	out := make([]byte, 0, len(text))
	for len(text) > 0 {
		k := plain(text)
		out, text = append(out, text[:k]...), text[k:]
		if !isWhole(text) {
			w.rest = text
			break
		}
		out, k = appendPrintable(out, text)
		text = text[k:]
	}
	if _, err := w.to.Write(out); err != nil {
		return 0, err
	}
	return len(p), nil
}

// Flush passes on what was left over.
func (w *printable) Flush() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	var out []byte
	for len(w.rest) > 0 {
		var n int
		out, n = appendPrintable(out, w.rest)
		w.rest = w.rest[n:]
	}
	_, err := w.to.Write(out)
	return err
}

// plain is how many bytes text begins with that are of ASCII and shown as they are.
func plain(text []byte) int {
	for i, c := range text {
		if (c < ' ' || c > '~') && c != '\n' && c != '\t' {
			return i
		}
	}
	return len(text)
}

// isWhole reports whether text begins with a whole character that is no beginning of a sequence
// of mgtrace's own, or with such a sequence.
func isWhole(text []byte) bool {
	for _, s := range ownSequences {
		if len(text) < len(s) && bytes.HasPrefix(s, text) {
			return false
		}
	}
	return utf8.FullRune(text)
}

// appendPrintable appends what text begins with, and returns how many bytes of it that is.
func appendPrintable(out, text []byte) ([]byte, int) {
	for _, s := range ownSequences {
		if bytes.HasPrefix(text, s) {
			return append(out, s...), len(s)
		}
	}
	r, n := utf8.DecodeRune(text)
	switch {
	case r == utf8.RuneError && n == 1:
		return fmt.Appendf(out, `\x%02x`, text[0]), n
	case obeyed(r):
		return fmt.Appendf(out, `\u%04x`, r), n
	}
	return append(out, text[:n]...), n
}

// obeyed reports whether a terminal does something else with a character than show it where it
// stands: control characters but those of lines and columns, and those that change the direction
// of text.
func obeyed(r rune) bool {
	return unicode.IsControl(r) && r != '\n' && r != '\t' || unicode.Is(unicode.Bidi_Control, r)
}

// beneath returns what w writes to.
func beneath(w io.Writer) io.Writer {
	if p, ok := w.(*printable); ok {
		return p.to
	}
	return w
}
