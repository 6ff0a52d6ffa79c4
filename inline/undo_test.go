package inline

import (
	"bytes"
	"context"
	"encoding/binary"
	"io"
	"testing"

	"golang.org/x/sys/unix"

	"mgtrace/target"

	"mgtrace/target/undo"
)

// A tracer is killed when it has been told of the int3 that a thread has executed, and has
// done nothing yet: the signal is gone with it, and the thread stands behind the int3. It is
// put back before it, and goes on.
func TestTakeBackBehindInt3(t *testing.T) {
	lib := build(t, "late_lib.c", "-shared", "-fPIC")
	path := build(t, "late.c", "-ldl")
	output, _ := native(t, path, lib)

	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	p, rd := launch(t, ctx, target.Command{Path: path, Args: []string{lib}})
	defer rd.Close()
	defer p.Close()
	r := run{late: []string{lib}}
	r.prepare(t, ctx, p)
	entries, end := undoLog(t, &r.options)
	e, err := Attach(r.plan, p, r.options)
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	if e.notify == 0 {
		t.Skip("the dynamic linker does not say when it opens a library")
	}
	end()

	// As it is after a call of the function, and the int3.
	regs, err := p.Regs(p.PID())
	if err != nil {
		t.Fatal(err)
	}
	back := make([]byte, 8)
	binary.LittleEndian.PutUint64(back, regs.RIP)
	regs.RSP -= 8
	regs.RIP = e.notify + 1
	if err := p.WriteMemory(back, regs.RSP); err != nil {
		t.Fatal(err)
	}
	if err := p.SetRegs(p.PID(), regs); err != nil {
		t.Fatal(err)
	}
	if err := TakeBack(p, nil, <-entries); err != nil {
		t.Fatal(err)
	}
	if regs, err = p.Regs(p.PID()); err != nil || regs.RIP != e.notify {
		t.Errorf("the thread is at %#x, %v; want %#x", regs.RIP, err, e.notify)
	}
	checkRemoved(t, e, p)
	status, err := p.Run(ctx, target.Handlers{})
	if err != nil {
		t.Fatal(err)
	}
	var said bytes.Buffer
	if _, err := io.Copy(&said, rd); err != nil {
		t.Fatal(err)
	}
	if status.Code != 0 || status.Signal != 0 || said.String() != output {
		t.Errorf("%v:\n%s\nwithout mgtrace:\n%s", status, &said, output)
	}
}

// undoLog has an engine note how it is taken out. After end, entries has what is left.
func undoLog(t *testing.T, o *Options) (entries chan []undo.Entry, end func()) {
	t.Helper()
	ours, theirs, err := undo.Pair()
	if err != nil {
		t.Fatal(err)
	}
	socket, err := unix.Dup(int(theirs.Fd()))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { unix.Close(socket) })
	if o.Undo, err = undo.NewWriter(theirs); err != nil {
		t.Fatal(err)
	}
	entries = make(chan []undo.Entry, 1)
	go func() {
		list, err := undo.Follow(ours, func(undo.Entry) {})
		if err != nil {
			t.Error(err)
		}
		entries <- list
	}()
	return entries, func() {
		if err := unix.Shutdown(socket, unix.SHUT_RDWR); err != nil {
			t.Error(err)
		}
	}
}
