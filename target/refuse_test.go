package target

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func file(t *testing.T, name string, mode os.FileMode, data []byte) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, data, mode); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(path, mode); err != nil { // the umask, and setuid
		t.Fatal(err)
	}
	return path
}

func patched(t *testing.T, at int, to byte) string {
	t.Helper()
	b, err := os.ReadFile(build(t, "behave"))
	if err != nil {
		t.Fatal(err)
	}
	b[at] = to
	return file(t, "patched", 0o755, b)
}

func TestRefusals(t *testing.T) {
	interpreter, err := os.ReadFile(build(t, "behave"))
	if err != nil {
		t.Fatal(err)
	}
	loader := strings.Replace(string(interpreter), "/lib64/ld-linux-x86-64", "/lib64/no-linux-x86-64", 1)
	dir := t.TempDir()
	for name, c := range map[string]struct {
		command Command
		want    error
		text    string
	}{
		"missing path":   {Command{Path: "./no-such-file"}, ErrNotFound, "no-such-file"},
		"missing name":   {Command{Path: "no-such-program"}, ErrNotFound, "PATH"},
		"no name":        {Command{}, ErrNotFound, ""},
		"below a file":   {Command{Path: build(t, "behave") + "/x"}, ErrNotFound, ""},
		"directory":      {Command{Path: dir}, ErrDirectory, dir},
		"its name":       {Command{Path: "testdata"}, ErrDirectory, "testdata"},
		"not executable": {Command{Path: file(t, "f", 0o644, []byte("x"))}, ErrNotExecutable, "permission"},
		"text":           {Command{Path: file(t, "f", 0o755, []byte("text"))}, ErrNotProgram, "neither"},
		"empty":          {Command{Path: file(t, "f", 0o755, nil)}, ErrNotProgram, ""},
		"script":         {Command{Path: file(t, "f", 0o755, []byte("#!/bin/sh -e\n"))}, ErrScript, "/bin/sh -e; use --follow exec=NAME"},
		"empty script":   {Command{Path: file(t, "f", 0o755, []byte("#!\n"))}, ErrScript, ""},
		"32-bit":         {Command{Path: patched(t, 4, 1)}, Err32Bit, ""},
		"foreign":        {Command{Path: patched(t, 18, 0xb7)}, ErrForeign, "EM_AARCH64"},
		"object":         {Command{Path: patched(t, 16, 1)}, ErrNotProgram, "ET_REL"},
		"cut off":        {Command{Path: file(t, "f", 0o755, interpreter[:60])}, ErrNotProgram, "cut short"},
		"no loader":      {Command{Path: file(t, "f", 0o755, []byte(loader))}, ErrNotExecutable, "no-linux-x86-64"},
		"no directory":   {Command{Path: "true", Dir: dir + "/none"}, os.ErrNotExist, "working directory"},
		"script, missing interpreter, followed": {Command{Path: file(t, "f", 0o755, []byte("#!/no/such\n")), Follow: "x"},
			ErrNotExecutable, "interpreter"},
	} {
		t.Run(name, func(t *testing.T) {
			p, err := Launch(t.Context(), c.command)
			if err == nil {
				p.Close()
			}
			if !errors.Is(err, c.want) || !strings.Contains(err.Error(), c.text) {
				t.Errorf("got %v; want %v, with %q", err, c.want, c.text)
			}
		})
	}
}

func TestFind(t *testing.T) {
	a, b := t.TempDir(), t.TempDir()
	for path, mode := range map[string]os.FileMode{
		a + "/tool": 0o644, b + "/tool": 0o755, a + "/plain": 0o644,
	} {
		if err := os.WriteFile(path, nil, mode); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Mkdir(a+"/dir", 0o755); err != nil {
		t.Fatal(err)
	}
	t.Chdir(b)
	for _, c := range []struct {
		name, path, want string
		err              error
	}{
		{"tool", a + ":" + b, b + "/tool", nil},
		{"tool", a + ":", b + "/tool", nil}, // an empty element is here
		{"tool", a, "", ErrNotExecutable},
		{"plain", a, "", ErrNotExecutable},
		{"dir", a, "", ErrNotFound},
		{"none", a, "", ErrNotFound},
		{"none", "", "", ErrNotFound},
		{"./tool", a, b + "/tool", nil},
	} {
		got, err := Find(c.name, c.path)
		if got != c.want || !errors.Is(err, c.err) {
			t.Errorf("%s in %q: %q, %v; want %q, %v", c.name, c.path, got, err, c.want, c.err)
		}
	}
}

func TestLosesPrivileges(t *testing.T) {
	user, owner := User{UID: 1000, GID: 1000}, 0
	for name, c := range map[string]struct {
		x    Executable
		u    User
		want string
	}{
		"plain":              {Executable{UID: owner}, user, ""},
		"setuid":             {Executable{UID: owner, Setuid: true}, user, "setuid to user 0"},
		"setuid, ours":       {Executable{UID: 1000, Setuid: true}, user, ""},
		"setuid, capable":    {Executable{UID: owner, Setuid: true}, User{UID: 1000, Ptrace: true}, ""},
		"setgid":             {Executable{GID: 5, Setgid: true}, user, "setgid to group 5"},
		"capabilities":       {Executable{Caps: true}, user, "file capabilities"},
		"capabilities, root": {Executable{Caps: true}, User{}, ""},
	} {
		if got := c.x.LosesPrivileges(c.u); (c.want == "") != (got == "") || !strings.Contains(got, c.want) {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}

func TestInspectPrivileges(t *testing.T) {
	for mode, want := range map[os.FileMode][2]bool{
		0o755: {}, 0o755 | os.ModeSetuid: {true, false}, 0o755 | os.ModeSetgid: {false, true}, 0o745 | os.ModeSetgid: {},
	} {
		x, err := Inspect(file(t, "f", mode, []byte("#!/bin/sh\n")))
		if err != nil {
			t.Fatal(err)
		}
		if x.Setuid != want[0] || x.Setgid != want[1] {
			t.Errorf("%v: setuid %v, setgid %v", mode, x.Setuid, x.Setgid)
		}
	}
}

func TestUnreadable(t *testing.T) {
	err := (&Executable{Path: "/bin/x"}).traceable()
	if !errors.Is(err, ErrDenied) || !strings.HasPrefix(err.Error(), "/bin/x: tracing is not permitted: ") {
		t.Error(err)
	}
}
