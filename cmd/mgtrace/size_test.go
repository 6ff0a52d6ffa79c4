package main

import "testing"

func TestParseSize(t *testing.T) {
	for _, c := range []struct {
		text string
		want int64 // 0: refused
	}{
		{"2GB", 2e9}, {"2 gb", 2e9}, {"2G", 2e9}, {"2GiB", 2 << 30}, {"2gi", 2 << 30}, {"1.5MiB", 3 << 19},
		{"500mb", 5e8}, {"4096", 4096}, {"4096B", 4096}, {" 1kB ", 1000}, {"1KiB", 1024}, {"0.5k", 500}, {"3TB", 3e12},
		{"", 0}, {"GB", 0}, {"0", 0}, {"-1MB", 0}, {"1XB", 0}, {"1iB", 0}, {"1.2.3M", 0}, {"1 M B", 0}, {"9999P", 9999e15 * 0}, {"1GBs", 0}, {"nan", 0}, {"1MGB", 0},
	} {
		got, err := parseSize(c.text)
		if got != c.want || (err == nil) != (c.want != 0) {
			t.Errorf("%q: %d, %v; want %d", c.text, got, err, c.want)
		}
	}
}
