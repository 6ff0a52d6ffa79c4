package overflow

import "testing"

// Of a line that names the array y it is asked whether it writes to y, where the write is in x.
func TestWritesTo(t *testing.T) {
	for line, want := range map[string]bool{
		"s->y[i] = 1;":                            true,
		"s->y[i] = s->x[0];":                      true,
		"s->y[i]++;":                              true,
		"++s->y[i];":                              true,
		"s->y[i] += 2; /* over */":                true,
		"*(s->y + i) = 1;":                        true,
		"for (i = 0; i <= 4; i++) s->y[i] = 0;":   true,
		"n = read(fd, s->y, k);":                  true,
		"memcpy(s->y + i, from, n);":              true,
		"if (s->x[0] == 1) s->y[i] = 2;":          true,
		"s->x[i - 3] = s->y[0];":                  false,
		"X[i - 3] = s->y[0];":                     false,
		"*p = s->y[0];":                           false,
		"s->x[s->y[0]] = 1;":                      false,
		"memcpy(s->x + i - 3, s->y, n);":          false,
		"s->x[i - 3] = 0, s->y[0] = 0;":           false,
		"if (s->y[0] == 3) s->x[i - 3] = 1;":      false,
		"for (i = s->y[0]; i < n; i++) *p++ = 0;": false,
	} {
		if got := writesTo(line, "y", "x"); got != want {
			t.Errorf("%s: %v", line, got)
		}
	}
}
