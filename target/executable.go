package target

import (
	"bufio"
	"bytes"
	"debug/elf"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"
)

// Executable is what a file says of itself before it is started.
type Executable struct {
	Path        string   // absolute
	Interpreter []string // script: the words after #!
	Class       elf.Class
	Machine     elf.Machine
	Type        elf.Type
	Loader      string // PT_INTERP: the dynamic linker; "" static
	Setuid      bool
	Setgid      bool
	UID, GID    int  // the file's owner
	Caps        bool // it has file capabilities
	Readable    bool // by us
}

// Script reports whether the file starts with #!.
func (x *Executable) Script() bool { return x.Interpreter != nil }

// Static reports whether the program has no dynamic linker.
func (x *Executable) Static() bool { return x.Loader == "" }

// Find looks name up as a shell does: a name with a slash is a path, any other
// is looked for in path (the value of PATH), where an empty element is the
// current directory.
func Find(name, path string) (string, error) {
	if strings.Contains(name, "/") {
		return filepath.Abs(name)
	}
	var refused error
	for _, dir := range filepath.SplitList(path) {
		if dir == "" {
			dir = "."
		}
		file := filepath.Join(dir, name)
		switch err := runnable(file); {
		case err == nil:
			return filepath.Abs(file)
		case !errors.Is(err, ErrNotFound) && !errors.Is(err, ErrDirectory) && refused == nil:
			refused = err
		}
	}
	if refused != nil {
		return "", refused
	}
	if info, err := os.Stat(name); err == nil {
		if info.IsDir() {
			return "", refuse(name, ErrDirectory, "")
		}
		return "", refuse(name, ErrNotFound, "not in PATH; did you mean ./"+name+"?")
	}
	return "", refuse(name, ErrNotFound, "not in PATH")
}

// runnable reports why a file can not be executed at all.
func runnable(file string) error {
	info, err := os.Stat(file)
	switch {
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, unix.ENOTDIR):
		return refuse(file, ErrNotFound, "")
	case err != nil:
		return refuse(file, ErrNotExecutable, err.Error())
	case info.IsDir():
		return refuse(file, ErrDirectory, "")
	case !info.Mode().IsRegular():
		return refuse(file, ErrNotProgram, "not a regular file")
	}
	if err := unix.Faccessat(unix.AT_FDCWD, file, unix.X_OK, unix.AT_EACCESS); err != nil {
		return refuse(file, ErrNotExecutable, err.Error())
	}
	return nil
}

// Inspect reads what there is to know of the file at path before it is
// started. Its errors are those of files that can not be executed at all.
func Inspect(path string) (*Executable, error) {
	path, err := filepath.Abs(path)
	if err != nil {
		return nil, err
	}
	if err := runnable(path); err != nil {
		return nil, err
	}
	x := &Executable{Path: path}
	if err := x.readPrivileges(); err != nil {
		return nil, err
	}
	f, err := os.Open(path)
	if err != nil {
		if errors.Is(err, fs.ErrPermission) {
			return x, nil // executable, not readable: Readable says so
		}
		return nil, err
	}
	defer f.Close()
	x.Readable = true
	return x, x.readHeader(f)
}

func (x *Executable) readPrivileges() error {
	var st unix.Stat_t
	if err := unix.Stat(x.Path, &st); err != nil {
		return fmt.Errorf("%s: %w", x.Path, err)
	}
	x.UID, x.GID = int(st.Uid), int(st.Gid)
	x.Setuid = st.Mode&unix.S_ISUID != 0
	// Without group execution the bit once meant mandatory locking (chmod(2)).
	x.Setgid = st.Mode&unix.S_ISGID != 0 && st.Mode&unix.S_IXGRP != 0
	n, err := unix.Getxattr(x.Path, "security.capability", nil)
	x.Caps = err == nil && n > 0
	var fsys unix.Statfs_t
	if unix.Statfs(x.Path, &fsys) == nil && fsys.Flags&unix.ST_NOSUID != 0 {
		x.Setuid, x.Setgid, x.Caps = false, false, false // without effect there
	}
	return nil
}

// readHeader reads the first bytes: a script's interpreter, or the ELF header
// and the dynamic linker.
func (x *Executable) readHeader(r io.ReaderAt) error {
	head := make([]byte, 256) // BINPRM_BUF_SIZE of the kernel
	n, err := r.ReadAt(head, 0)
	if err != nil && !errors.Is(err, io.EOF) {
		return fmt.Errorf("%s: %w", x.Path, err)
	}
	head = head[:n]
	if line, ok := bytes.CutPrefix(head, []byte("#!")); ok {
		line, _, _ = bytes.Cut(line, []byte("\n"))
		x.Interpreter = strings.Fields(string(line))
		if x.Interpreter == nil {
			x.Interpreter = []string{}
		}
		return nil
	}
	if len(head) < 20 || !bytes.HasPrefix(head, []byte(elf.ELFMAG)) {
		return refuse(x.Path, ErrNotProgram, "neither ELF nor a script")
	}
	var order binary.ByteOrder = binary.LittleEndian
	if elf.Data(head[elf.EI_DATA]) == elf.ELFDATA2MSB {
		order = binary.BigEndian
	}
	x.Class = elf.Class(head[elf.EI_CLASS])
	x.Type = elf.Type(order.Uint16(head[16:]))
	x.Machine = elf.Machine(order.Uint16(head[18:]))
	if x.Class != elf.ELFCLASS64 || x.Machine != elf.EM_X86_64 {
		return nil
	}
	return x.readLoader(r)
}

func (x *Executable) readLoader(r io.ReaderAt) error {
	f, err := elf.NewFile(r)
	switch {
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return refuse(x.Path, ErrNotProgram, "the file is cut short")
	case err != nil:
		return refuse(x.Path, ErrNotProgram, err.Error())
	}
	for _, p := range f.Progs {
		if p.Type != elf.PT_INTERP {
			continue
		}
		name, err := bufio.NewReader(io.LimitReader(p.Open(), unix.PathMax)).ReadString(0)
		if err != nil {
			return refuse(x.Path, ErrNotProgram, "its interpreter has no name")
		}
		x.Loader = strings.TrimSuffix(name, "\x00")
	}
	return nil
}

// traceable says whether the program can be traced, whoever we are.
func (x *Executable) traceable() error {
	switch {
	case !x.Readable:
		return refuse(x.Path, ErrDenied, "its file can be executed but not read; make it readable, or run mgtrace as root")
	case x.Script():
		return refuse(x.Path, ErrScript, fmt.Sprintf("the program that runs is its interpreter, %s; "+
			"use --follow exec=NAME with the name of the program that it starts", strings.Join(x.Interpreter, " ")))
	case x.Machine == elf.EM_386, x.Machine == elf.EM_X86_64 && x.Class == elf.ELFCLASS32:
		return refuse(x.Path, Err32Bit, "only 64-bit x86 programs can be traced")
	case x.Machine != elf.EM_X86_64:
		return refuse(x.Path, ErrForeign, fmt.Sprintf("it is for %s, this is x86-64", x.Machine))
	case x.Type != elf.ET_EXEC && x.Type != elf.ET_DYN:
		return refuse(x.Path, ErrNotProgram, fmt.Sprintf("ELF type %s", x.Type))
	case x.Loader != "" && !exists(x.Loader):
		return refuse(x.Path, ErrNotExecutable, fmt.Sprintf("its dynamic linker %s is missing", x.Loader))
	}
	return nil
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// User is on whose behalf a program is started.
type User struct {
	UID, GID int
	Ptrace   bool // has CAP_SYS_PTRACE
}

// CurrentUser is the user of this process.
func CurrentUser() User {
	effective := procStatus("self").uint("CapEff", 16)
	return User{UID: os.Geteuid(), GID: os.Getegid(), Ptrace: effective>>unix.CAP_SYS_PTRACE&1 != 0}
}

// LosesPrivileges says which privileges the program would get when u starts it
// and would lose under a tracer of u; "" none. The kernel drops them at exec
// unless the tracer has CAP_SYS_PTRACE (cap_bprm_creds_from_file in
// security/commoncap.c).
func (x *Executable) LosesPrivileges(u User) string {
	if u.Ptrace {
		return ""
	}
	switch {
	case x.Setuid && x.UID != u.UID:
		return fmt.Sprintf("it is setuid to user %d", x.UID)
	case x.Setgid && x.GID != u.GID:
		return fmt.Sprintf("it is setgid to group %d", x.GID)
	case x.Caps && u.UID != 0:
		return "it has file capabilities (getcap shows them)"
	}
	return ""
}
