package symbol

import (
	"strings"
	"testing"
)

// TestMacros: what a line says by macros, those of included files and of several lines too.
func TestMacros(t *testing.T) {
	files := map[string]string{
		"/src/list.c": "#include \"list.h\"\n#define PUSH(l, n) do { \\\n\tLINK((l), n, next); /* n->old = 1 */ \\\n\t(l)->len++; } while (0)\n" +
			"#ifdef A\n#define MARK(n) n->mark = 1\n#define NOTE(n)\n#else\n#define MARK(n) n->seen = 1\n#define NOTE(n) n->noted++\n#endif\n#define FIRST head.first\n" +
			"#if 0 /* not yet */\n#define COUNT(n) n->count++\n#elif 1\n#define COUNT(n) n->total++\n#if 1\n#define NONE(n)\n#else\n#define NONE(n) n->none++\n#endif\n#else\n#define COUNT(n) n->sum++\n#endif\n" +
			"#define EACH(l, ...) for (n = (l)->first; n; n = n->next) __VA_ARGS__\n#define LOOP LOOP(1)\n",
		"/src/list.h": "#pragma once\n#include \"list.h\"\n#include <gone.h>\n# define LINK(l, n, field) ((n)->field = (l)->head.first)\n#define JOIN(n, a, b) (n)->a ## b = 2\n",
	}
	s := &Sources{Attached: func(name string) ([]byte, bool) {
		text, ok := files[strings.TrimPrefix(name, "source:")]
		return []byte(text), ok
	}}
	m := s.Macros("/src/list.c", nil)
	for lines, want := range map[string]string{
		"PUSH(l, n);":               "do { (((n))->next = ((l))->head.first); (l)->len++; } while (0);",
		"PUSH(get(l, 1),\n     n);": "do { (((n))->next = ((get(l, 1)))->head.first); (get(l, 1))->len++; } while (0);",
		"MARK(n);":                  "n->mark = 1; | n->seen = 1;",
		"MARK(n), NOTE(n);":         "n->mark = 1, ; | n->seen = 1, n->noted++;",
		"COUNT(n);":                 "n->total++;",
		"NONE(n);":                  "",
		"l->FIRST = NULL;":          "l->head.first = NULL;",
		"JOIN(n, le, ft);":          "(n)->left = 2;",
		"EACH(l, n->k = 1, i++);":   "for (n = (l)->first; n; n = n->next) n->k = 1, i++;",
		"n->PUSH = 1; MARK":         "n->PUSH = 1; MARK | n->PUSH = 1; MARK",
		"n->next = NULL;":           "",
		"LOOP;":                     "LOOP(1);",
		"#define MARK(n) n->x = 1;": "",
	} {
		if got := strings.Join(strings.Fields(strings.Join(m.Expand(strings.Split(lines, "\n")), " | ")), " "); strings.ReplaceAll(got, "((n))", "(n)") != strings.ReplaceAll(want, "((n))", "(n)") && got != want {
			t.Errorf("%s: %s, want %s", lines, got, want)
		}
	}
}
