package hook

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"mgtrace/capture"
	"mgtrace/capture/syscalls"
	"mgtrace/inline/layout"
	"mgtrace/probe"
	"mgtrace/x86"
)

// numbers are those of c/layout.h, as the Go side has them.
var numbers = map[string]uint64{
	"Cursor": layout.Cursor, "End": layout.End, "Process": layout.Process, "HookSP": layout.HookSP,
	"StackLo": layout.StackLo, "StackHi": layout.StackHi, "Held": layout.Held, "Missed": layout.Missed,
	"AllocCall": layout.AllocCall, "Writers": layout.Writers, "Pendings": layout.Pendings,
	"WriterAt": layout.WriterAt, "PendingAt": layout.PendingAt, "WriterSize": layout.WriterSize,
	"WriterSP": layout.WriterSP, "WriterPC": layout.WriterPC, "WriterFunc": layout.WriterFunc,
	"WriterDst": layout.WriterDst, "WriterLen": layout.WriterLen,
	"CallSP": layout.CallSP, "CallPC": layout.CallPC, "CallPtr": layout.CallPtr,
	"CallBytes": layout.CallBytes, "CallFunc": layout.CallFunc, "CallIndex": layout.CallIndex,
	"PendingSize": layout.PendingSize, "MaxOpen": layout.MaxOpen, "HookEnd": layout.HookEnd,
	"Clock": layout.Clock, "OpenCall": layout.OpenCall, "OpenFree": layout.OpenFree, "Next": layout.Next, "NextEnd": layout.NextEnd, "Turn": layout.Turn, "Left": layout.Left, "OpenWriter": layout.OpenWriter, "Readings": layout.Readings, "ClockEvery": layout.ClockEvery, "ClockBrisk": layout.ClockBrisk,
	"LogAhead": layout.LogAhead, "BlockSize": layout.BlockSize, "HookStack": layout.HookStack,

	"PendingSP": layout.PendingSP, "PendingAddr": layout.PendingAddr, "PendingBytes": layout.PendingBytes,
	"PendingBase": layout.PendingBase, "PendingSite": layout.PendingSite, "PendingCall": layout.PendingCall,
	"PendingIndex": layout.PendingIndex, "PendingShape": layout.PendingShape, "PendingOld": layout.PendingOld,
	"PendingSystem": layout.PendingSystem, "PendingChanged": layout.PendingChanged,

	"RegsGeneral": layout.RegsGeneral, "RegsFlags": layout.RegsFlags, "RegsSize": layout.RegsSize,

	"Order": layout.Order, "Many": layout.Many, "Config": layout.Config, "Shadow": layout.Shadow, "Funcs": layout.Funcs,
	"Sites": layout.Sites, "Stores": layout.Stores, "Syscalls": layout.Syscalls, "Break": layout.Break,
	"StackBytes": layout.StackBytes, "MaxData": layout.MaxData, "Lengths": layout.Lengths,
	"Verdicts": layout.Verdicts, "VerdictMask": layout.VerdictMask, "OpenByte": layout.OpenByte,
	"ClosedByte": layout.ClosedByte, "SyscallCount": layout.SyscallCount, "ConfigFilter": layout.ConfigFilter,
	"NamedCount": layout.NamedCount, "NamedLo": layout.NamedLo, "NamedSpan": layout.NamedSpan, "Named": layout.Named,
	"Paths": layout.Paths, "PathBits": capture.PathBits, "PathWays": capture.PathWays, "PathHash": capture.PathHash,
	"PathAt": layout.PathAt, "PathSet": layout.PathSet, "PathKey": layout.PathKey, "KeySP": layout.KeySP,
	"KeySeq": layout.KeySeq, "KeyStack": layout.KeyStack, "PathSize": layout.PathSize,
	"PathCounts": layout.PathCounts, "PathEnd": layout.PathEnd, "PathWant": layout.PathWant,
	"PathWhere": layout.PathWhere, "PathWords": layout.PathWords,
	"Barren": layout.Barren, "LeastBlock": layout.LeastBlock, "Asked": layout.Asked, "BarrenBlock": layout.BarrenBlock, "BarrenAddr": layout.BarrenAddr,
	"BarrenBytes": layout.BarrenBytes, "BarrenTime": layout.BarrenTime, "BarrenAnswer": layout.BarrenAnswer,
	"BarrenNext": layout.BarrenNext, "BarrenEnds": layout.BarrenEnds, "BarrenMade": layout.BarrenMade,
	"BarrenAlike": layout.BarrenAlike, "BarrenKind": layout.BarrenKind, "BarrenKinds": layout.BarrenKinds, "BarrenSize": layout.BarrenSize, "BarrenEnded": layout.BarrenEnded, "BarrenMembers": layout.BarrenMembers,
	"BarrenClosed": layout.BarrenClosed, "BarrenRefused": layout.BarrenRefused,
	"Late": layout.Late, "LateNext": layout.LateNext, "LateWaiting": layout.LateWaiting, "LateTaken": layout.LateTaken,
	"LateEntries": layout.LateEntries, "LateProbes": layout.LateProbes, "LateTable": layout.LateTable, "LateStack": layout.LateStack, "LateSize": layout.LateSize,
	"ConfigSettled": layout.ConfigSettled, "ConfigForget": layout.ConfigForget, "ConfigBehind": layout.ConfigBehind,
	"VerdictAddr": layout.VerdictAddr, "VerdictOffset": layout.VerdictOffset, "VerdictBP": layout.VerdictBP,
	"VerdictBase": layout.VerdictBase, "VerdictSays": layout.VerdictSays,
	"VerdictSize": layout.VerdictSize, "VerdictHash": layout.VerdictHash, "VerdictShift": layout.VerdictShift,
	"VerdictProbes": layout.VerdictProbes, "BaseNone": layout.BaseNone, "BaseSP": layout.BaseSP,
	"BaseBP": layout.BaseBP, "BaseUnknown": layout.BaseUnknown, "SaysOpen": layout.SaysOpen,
	"SaysClosed": layout.SaysClosed, "SaysLeansOpen": layout.SaysLeansOpen, "SaysLeansClosed": layout.SaysLeansClosed,
	"SaysEnds": layout.SaysEnds, "WalkFrames": layout.WalkFrames,
	"GranuleShift": layout.GranuleShift, "Granule": layout.Granule,

	"SitePC": layout.SitePC, "SiteFlags": layout.SiteFlags, "SiteIndex": layout.SiteIndex,
	"SiteStore": layout.SiteStore, "SiteAlloc": layout.SiteAlloc, "SiteWriter": layout.SiteWriter, "SiteMember": layout.SiteMember,
	"SitePassed": layout.SitePassed, "SiteTexts": layout.SiteTexts, "SiteFrameLo": layout.SiteFrameLo, "SiteFrameHi": layout.SiteFrameHi,
	"SiteFrameEnter": layout.SiteFrameEnter, "SiteFrameLeave": layout.SiteFrameLeave, "TextHere": layout.TextHere, "TextSize": layout.TextSize,
	"SiteSize": layout.SiteSize, "SiteStop": layout.SiteStop, "SiteStack": layout.SiteStack,
	"SiteAllocEnter": layout.SiteAllocEnter, "SiteAllocLeave": layout.SiteAllocLeave,
	"SiteWriterEnter": layout.SiteWriterEnter, "SiteWriterLeave": layout.SiteWriterLeave,
	"SiteTail": layout.SiteTail, "SiteReturn": layout.SiteReturn, "SiteSyscall": layout.SiteSyscall,
	"SiteHold": layout.SiteHold, "SiteOrder": layout.SiteOrder,

	"FuncSkipLo": layout.FuncSkipLo, "FuncSkipHi": layout.FuncSkipHi, "FuncFixed": layout.FuncFixed,
	"FuncRole": layout.FuncRole, "FuncExtent": layout.FuncExtent, "FuncFlags": layout.FuncFlags,
	"FuncPtr": layout.FuncPtr, "FuncDst": layout.FuncDst, "FuncLen": layout.FuncLen,
	"FuncCount": layout.FuncCount, "FuncBytes": layout.FuncBytes, "FuncSize": layout.FuncSize,
	"RoleBlock": layout.RoleBlock, "RolePosix": layout.RolePosix, "RoleStrdup": layout.RoleStrdup,
	"RoleRealloc": layout.RoleRealloc, "RoleFree": layout.RoleFree, "RoleWriter": layout.RoleWriter,
	"FuncHides": layout.FuncHides, "FuncTraced": layout.FuncTraced, "FuncDeclared": layout.FuncDeclared,

	"StoreDescDisp": layout.StoreDescDisp, "StoreDescIndex": layout.StoreDescIndex,
	"StoreDescWidth": layout.StoreDescWidth, "StoreDescLen": layout.StoreDescLen,
	"StoreDescFlags": layout.StoreDescFlags, "StoreDescBase": layout.StoreDescBase,
	"StoreDescIndexR": layout.StoreDescIndexR, "StoreDescScale": layout.StoreDescScale,
	"StoreDescValue": layout.StoreDescValue, "StoreDescShape": layout.StoreDescShape,
	"StoreDescSize": layout.StoreDescSize, "NoReg": layout.NoReg, "StoreDescRIP": layout.StoreDescRIP,
	"StoreDescAddr32": layout.StoreDescAddr32, "StoreDescRep": layout.StoreDescRep,
	"StoreDescAtomic": layout.StoreDescAtomic,

	"Special": layout.Special, "KindStop": layout.KindStop, "KindWrite": layout.KindWrite, "KindNote": layout.KindNote,
	"SpecialStamp": layout.SpecialStamp, "SpecialTime": layout.SpecialTime,
	"StopSite": layout.StopSite, "StopFlags": layout.StopFlags, "StopPC": layout.StopPC, "StopSP": layout.StopSP,
	"StopResult": layout.StopResult, "StopBlock": layout.StopBlock, "StopRegs": layout.StopRegs,
	"StopSize": layout.StopSize, "StopNested": layout.StopNested, "StopWhole": layout.StopWhole,
	"KindAlloc": layout.KindAlloc, "AllocFunc": layout.AllocFunc, "AllocKnown": layout.AllocKnown, "AllocRet": layout.AllocRet, "AllocSP": layout.AllocSP,
	"AllocPtr": layout.AllocPtr, "AllocBytes": layout.AllocBytes, "AllocResult": layout.AllocResult,
	"AllocSize": layout.AllocSize, "AllocRegs": layout.AllocRegs, "AllocStack": layout.AllocStack,
	"FuncWhole": layout.FuncWhole, "FuncAcquires": layout.FuncAcquires,
	"WriteOp": layout.WriteOp, "WriteFlags": layout.WriteFlags, "WriteIndex": layout.WriteIndex,
	"WriteBytes": layout.WriteBytes, "WritePC": layout.WritePC, "WriteSP": layout.WriteSP,
	"WriteAddr": layout.WriteAddr, "WriteLen": layout.WriteLen, "WriteBase": layout.WriteBase,
	"WriteOff": layout.WriteOff, "WriteSize": layout.WriteSize, "WriteStore": layout.WriteStore,
	"WriteBulk": layout.WriteBulk, "WriteSyscall": layout.WriteSyscall, "WriteFound": layout.WriteFound, "WritePassed": layout.WritePassed, "WriteLate": layout.WriteLate,
	"WriteMore": layout.WriteMore, "WriteUnread": layout.WriteUnread, "WriteMasked": layout.WriteMasked,
	"WritePartial": layout.WritePartial,
	"NoteOp":       layout.NoteOp, "NoteIndex": layout.NoteIndex, "NotePC": layout.NotePC, "NoteSP": layout.NoteSP,
	"NoteAddr": layout.NoteAddr, "NoteLen": layout.NoteLen, "NoteBase": layout.NoteBase, "NoteSize": layout.NoteSize,
	"NoteMap": layout.NoteMap, "NoteUnmap": layout.NoteUnmap, "NoteBreak": layout.NoteBreak,
	"NoteReturn": layout.NoteReturn, "NoteLost": layout.NoteLost, "NoteQuiet": layout.NoteQuiet, "NoteOrder": layout.NoteOrder,

	"ShapeFixed": uint64(x86.ShapeFixed), "ShapeString": uint64(x86.ShapeString), "ShapeMasked": uint64(x86.ShapeMasked),
	"ShapeCond": uint64(x86.ShapeCond), "ShapeBit": uint64(x86.ShapeBit),
	"ExtentArg": uint64(probe.ExtentArg), "ExtentProduct": uint64(probe.ExtentProduct),
	"ExtentString": uint64(probe.ExtentString), "ExtentAppend": uint64(probe.ExtentAppend),
	"ExtentResult": uint64(probe.ExtentResult), "ExtentResultProduct": uint64(probe.ExtentResultProduct),
	"ExtentMinArg": uint64(probe.ExtentMinArg), "ExtentReturned": uint64(probe.ExtentReturned),
	"ExtentBounded": uint64(probe.ExtentBounded), "ExtentFixed": uint64(probe.ExtentFixed), "ExtentCall": uint64(probe.ExtentCall),
	"ExtentLine": uint64(probe.ExtentLine), "ExtentFormat": uint64(probe.ExtentFormat), "ExtentSplit": uint64(probe.ExtentSplit),
	"CallNone": uint64(syscalls.None), "CallResult": uint64(syscalls.Result), "CallFixed": uint64(syscalls.Fixed),
	"CallIOVec": uint64(syscalls.IOVec), "CallMessage": uint64(syscalls.Message), "CallArray": uint64(syscalls.Array),
	"CallMmap": uint64(syscalls.Mmap), "CallMunmap": uint64(syscalls.Munmap), "CallMremap": uint64(syscalls.Mremap),
	"CallBrk": uint64(syscalls.Brk),
}

// The header has the numbers of package layout and its neighbours. That the C
// structures have them is asserted in c/block.h.
func TestLayout(t *testing.T) {
	text, err := os.ReadFile("c/layout.h")
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]bool{}
	for _, m := range regexp.MustCompile(`(?m)^#define (\w+) (\w+)$`).FindAllStringSubmatch(string(text), -1) {
		name := m[1]
		v, err := strconv.ParseUint(m[2], 0, 64)
		want, known := numbers[name]
		switch {
		case err != nil:
			t.Errorf("%s: %v", name, err)
		case !known:
			t.Errorf("%s is not compared", name)
		case v != want:
			t.Errorf("%s is %#x in C, %#x in Go", name, v, want)
		}
		seen[name] = true
	}
	for name := range numbers {
		if !seen[name] {
			t.Errorf("%s is not in the header", name)
		}
	}
	if layout.HookEnd > layout.BlockSize || layout.SyscallCount != syscalls.Calls {
		t.Errorf("the hook's data end at %#x in %#x; %d system calls, %d here",
			layout.HookEnd, layout.BlockSize, syscalls.Calls, layout.SyscallCount)
	}
}

// The checked-in routine is what the source compiles to. It takes the compiler
// version that made it; others give other code.
func TestFresh(t *testing.T) {
	cc := os.Getenv("HOOK_CC")
	if cc == "" {
		cc = "clang-14"
	}
	out, err := exec.Command(cc, "--version").Output()
	if err != nil {
		t.Skipf("no compiler: %v", err)
	}
	if line, _, _ := strings.Cut(string(out), "\n"); strings.TrimSpace(line) != compiler {
		t.Skipf("%s is %q, the routine was made by %q", cc, line, compiler)
	}
	dir := t.TempDir()
	if out, err := exec.Command("go", "run", "gen.go", "-o", dir).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	for _, name := range []string{"hook.bin", "symbols.go"} {
		have, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		want, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(have, want) {
			t.Errorf("%s is stale: run make generate", name)
		}
	}
}

// The routine is made of general instructions that it may execute, and changes
// memory through no address of its own: nothing is relative to RIP but jumps
// and calls, and there is no system call but one.
func TestCode(t *testing.T) {
	calls := 0
	for off := 0; off < len(Code); {
		in, err := x86.Decode(Code[off:], uint64(off))
		if err != nil {
			t.Fatalf("at %#x: %v", off, err)
		}
		if op, ok := in.Operand(); ok && op.RIPRelative && !in.IsNop() {
			t.Errorf("at %#x: %s has data", off, x86.Text(Code[off:], uint64(off)))
		}
		if in.VectorOnly() {
			t.Errorf("at %#x: %s uses a vector register", off, x86.Text(Code[off:], uint64(off)))
		}
		if in.Len == 2 && Code[off] == 0x0f && Code[off+1] == 0x05 {
			calls++
		}
		off += in.Len
	}
	if calls != 1 {
		t.Errorf("%d system calls", calls)
	}
	for _, f := range fixups {
		if on, ok := Fixup(uint64(f.from)); !ok || on != uint64(f.on) || f.to <= f.from || int(f.on) >= len(Code) {
			t.Errorf("fixup %+v leads to %#x", f, on)
		}
	}
	if _, ok := Fixup(SwapAt); ok {
		t.Error("the swap has a fixup")
	}
}
