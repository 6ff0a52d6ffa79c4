package main

import (
	"slices"
	"testing"

	"github.com/spf13/cobra"
)

// A repeated flag keeps each value as it was given, commas and all.
func TestRepeated(t *testing.T) {
	var list []string
	c := &cobra.Command{Use: "x", RunE: func(*cobra.Command, []string) error { return nil }}
	addRepeated(c, &list, "alloc", "a `NAME`")
	if f := c.Flags().Lookup("alloc"); f.DefValue != "" {
		t.Errorf("it has the default %q", f.DefValue)
	}
	c.SetArgs([]string{"--alloc", "get(size=0, count=1)", "--alloc=a,b", "--alloc", `"q"`})
	if err := c.Execute(); err != nil {
		t.Fatal(err)
	}
	if want := []string{"get(size=0, count=1)", "a,b", `"q"`}; !slices.Equal(list, want) {
		t.Errorf("%q, want %q", list, want)
	}
}
