package main

import (
	"strings"

	"github.com/spf13/cobra"
)

// repeated is a flag that may be given several times: each adds a value. pflag's own
// (StringArrayVar) writes its value as CSV when it is made, which takes 4 KB of memory for each
// flag at every start.
type repeated struct{ list *[]string }

// addRepeated adds one, without values.
func addRepeated(c *cobra.Command, list *[]string, name, usage string) {
	*list = nil
	c.Flags().Var(repeated{list}, name, usage)
}

// String implements pflag.Value.
func (r repeated) String() string {
	if r.list == nil {
		return ""
	}
	return strings.Join(*r.list, ",")
}

// Set implements pflag.Value.
func (r repeated) Set(value string) error {
	*r.list = append(*r.list, value)
	return nil
}

// Type implements pflag.Value.
func (r repeated) Type() string { return "strings" }
