package main

import "testing"

// TestCommands: each command is made under its name, alone and with the others.
func TestCommands(t *testing.T) {
	all := newRoot(streams{}, nil)
	if n := len(all.Commands()); n != len(commands) {
		t.Errorf("%d commands, want %d", n, len(commands))
	}
	for _, c := range commands {
		for _, args := range [][]string{{c.name}, {c.name, "--help"}} {
			if one := newRoot(streams{}, args); len(one.Commands()) != 1 || one.Commands()[0].Name() != c.name {
				t.Errorf("%q makes %v", args, one.Commands())
			}
		}
		if found, _, err := all.Find([]string{c.name}); err != nil || found.Name() != c.name {
			t.Errorf("%s: %v, %v", c.name, found, err)
		}
	}
	if one := newRoot(streams{}, []string{"--help", "run"}); len(one.Commands()) != len(commands) {
		t.Error("help does not know all commands")
	}
}
