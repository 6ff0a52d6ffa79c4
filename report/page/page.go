package page

import (
	"crypto/sha256"
	_ "embed" // the page's parts
	"encoding/base64"
	"fmt"
	"html/template"
	"io"
	"path/filepath"
	"slices"
	"strings"

	"mgtrace/report"
)

var (
	//go:embed page.html
	text string
	//go:embed page.css
	style string
	//go:embed page.js
	script string
)

// Write writes the page.
func Write(w io.Writer, r *report.Report) error {
	t, err := template.New("page").Funcs(functions).Parse(text)
	if err != nil {
		return fmt.Errorf("the page's template: %w", err)
	}
	return t.Execute(w, newView(r))
}

var functions = template.FuncMap{
	"svg":       func(s string) template.HTML { return template.HTML(s) }, // package render has escaped it
	"thousands": report.Thousands,
	"dedent":    dedent,
	"fold":      report.Fold,
}

// dedent takes the indentation away that lines have in common: a card is narrow.
func dedent(lines []report.Line) []report.Line {
	out := slices.Clone(lines)
	common := -1
	for i := range out {
		out[i].Text = strings.ReplaceAll(out[i].Text, "\t", "    ")
		if strings.TrimSpace(out[i].Text) == "" || strings.HasPrefix(out[i].Text, "#") {
			continue // a line of the preprocessor stands at the margin everywhere
		}
		if n := len(out[i].Text) - len(strings.TrimLeft(out[i].Text, " ")); common < 0 || n < common {
			common = n
		}
	}
	for i := range out {
		if t := out[i].Text; common > 0 && !strings.HasPrefix(t, "#") {
			out[i].Text = t[min(common, len(t)):]
		}
	}
	return out
}

// view is what the template shows.
type view struct {
	*report.Report
	Name    string // of the program
	Policy  string
	Style   template.CSS
	Script  template.JS
	Verdict string
	Data    data
}

func newView(r *report.Report) *view {
	return &view{
		Report: r, Name: filepath.Base(r.Program), Verdict: r.Verdict(),
		Policy: fmt.Sprintf("default-src 'none'; style-src '%s'; script-src '%s'; base-uri 'none'; form-action 'none'", hash(style), hash(script)),
		Style:  template.CSS(style), Script: template.JS(script), Data: newData(r),
	}
}

// Tone is how the headline looks: a partial report that found nothing is no
// comfort.
func (v *view) Tone() string {
	switch {
	case v.Found():
		return "bad"
	case !v.Complete || v.Status() != 0 || v.Checked.CPoints == 0:
		return "warn"
	}
	return "good"
}

// hash names a part of the page in its policy (CSP Level 3, section 2.3.1, hash-source).
func hash(s string) string {
	sum := sha256.Sum256([]byte(s))
	return "sha256-" + base64.StdEncoding.EncodeToString(sum[:])
}
