package main

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"mgtrace/report"
)

// What a terminal would obey is shown instead, wherever writes are divided.
func TestPrintable(t *testing.T) {
	tests := []struct{ name, text, want string }{
		{"text", "list.c:15 in push\n\tnext → NULL, café\n", "list.c:15 in push\n\tnext → NULL, café\n"},
		{"own colours", "\x1b[1;31mred\x1b[0m \x1b[2mdim\x1b[0m", "\x1b[1;31mred\x1b[0m \x1b[2mdim\x1b[0m"},
		{"own progress", "\r\x1b[Kmgtrace: 5 %\r\x1b[K", "\r\x1b[Kmgtrace: 5 %\r\x1b[K"},
		{"title and clearing", "\x1b]0;owned\x07\x1b[2J\x1b[H", `\u001b]0;owned\u0007\u001b[2J\u001b[H`},
		{"other colours", "\x1b[8mhidden\x1b[31m", `\u001b[8mhidden\u001b[31m`},
		{"line overwritten", "evil\rgood\bx\x7f", `evil\u000dgood\u0008x\u007f`},
		{"control sequences of 8 bits", "\u009b31m", `\u009b31m`},
		{"no UTF-8", "a\x9b31m\xff\xe2\x82", `a\x9b31m\xff\xe2\x82`},
		{"other direction", "a\u202eb\u2066c", `a\u202eb\u2066c`},
		{"cut off", "a\x1b[1", `a\u001b[1`},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			for cut := range len(test.text) + 1 {
				var out bytes.Buffer
				w := &printable{to: &out}
				for _, part := range []string{test.text[:cut], test.text[cut:]} {
					if n, err := w.Write([]byte(part)); n != len(part) || err != nil {
						t.Fatalf("Write is %d, %v", n, err)
					}
				}
				if err := w.Flush(); err != nil {
					t.Fatal(err)
				}
				if out.String() != test.want {
					t.Errorf("cut at %d: %q, want %q", cut, out.String(), test.want)
				}
			}
		})
	}
}

// JSON says the same.
func TestPrintableJSON(t *testing.T) {
	name := "\x1b[2J\x7f\u0085\u009b\u202e ö\U0001f600"
	var out bytes.Buffer
	w := &printable{to: &out}
	if err := json.NewEncoder(w).Encode(name); err != nil {
		t.Fatal(err)
	}
	var got string
	if err := json.Unmarshal(out.Bytes(), &got); err != nil || got != name {
		t.Errorf("%q, %v; want %q", got, err, name)
	}
	if strings.ContainsAny(strings.TrimSpace(out.String()), "\x1b\x7f\u0085\u009b\u202e") {
		t.Errorf("%q is passed on", out.String())
	}
}

// The commands write through it: a file's name is anybody's.
func TestNamesArePrintable(t *testing.T) {
	var out, errs bytes.Buffer
	if status := Main([]string{"who", "\x1b]0;owned\x07.mgt", "x"}, strings.NewReader(""), &out, &errs); status != statusFailed {
		t.Errorf("status %d", status)
	}
	if got := out.String() + errs.String(); strings.ContainsAny(got, "\x1b\x07") || !strings.Contains(got, `\u001b]0;owned\u0007.mgt`) {
		t.Errorf("%q", got)
	}
}

// So are the files of a report: nothing in them is shown in another order than it stands.
func TestReportFilesArePrintable(t *testing.T) {
	name := "list\u202ec.evil\x1b]0;owned\x07"
	r := &report.Report{Program: "/bin/" + name, Complete: true, Warnings: []string{"warned of " + name}, Sources: []report.SourceFile{{Path: name, Parts: []report.SourcePart{{First: 1, Lines: []string{name}}}}}}
	dir := t.TempDir()
	f := outputFlags{color: "never", report: filepath.Join(dir, "text"), html: filepath.Join(dir, "html"), sarif: filepath.Join(dir, "sarif")}
	if err := f.write(r, nil); err != nil {
		t.Fatal(err)
	}
	for _, file := range []string{f.report, f.html, f.sarif} {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if strings.ContainsAny(string(text), "\u202e\x1b\x07") || !strings.Contains(string(text), `list\u202ec.evil`) {
			t.Errorf("%s:\n%q", filepath.Base(file), text)
		}
	}
}
