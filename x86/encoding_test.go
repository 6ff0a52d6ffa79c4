package x86

import (
	"encoding/hex"
	"strings"
	"testing"
)

func TestEncoding(t *testing.T) {
	for _, c := range []struct {
		hex          string
		branch       Branch
		op, at, size int
	}{
		{"90", BranchNone, 0, 0, 0},
		{"48 8b 05 01 02 03 04", BranchNone, 1, 3, 4},
		{"48 c7 05 01 02 03 04 05 06 07 08", BranchNone, 1, 3, 4},
		{"66 0f 3a 17 44 24 10 01", BranchNone, 3, 6, 1},
		{"8b 04 25 01 02 03 04", BranchNone, 0, 3, 4},
		{"8b 00", BranchNone, 0, 0, 0},
		{"8b 04 24", BranchNone, 0, 0, 0},
		{"8b 80 00 00 00 00", BranchNone, 0, 2, 4},
		{"c5 fe 7f 05 01 02 03 04", BranchNone, 2, 4, 4},
		{"62 f1 7f 48 7f 47 01", BranchNone, 4, 6, 1},
		{"eb 05", BranchJmp, 0, 0, 0},
		{"3e e9 00 00 00 00", BranchJmp, 1, 0, 0},
		{"74 05", BranchJcc, 0, 0, 0},
		{"0f 8f 00 00 00 00", BranchJcc, 1, 0, 0},
		{"67 e3 05", BranchLoop, 1, 0, 0},
		{"c7 f8 00 00 00 00", BranchTransaction, 0, 0, 0},
		{"66 48 e8 00 00 00 00", BranchCall, 2, 0, 0},
		{"41 ff d4", BranchCallIndirect, 1, 0, 0},
		{"ff 94 24 00 01 00 00", BranchCallIndirect, 0, 3, 4},
		{"ff 1f", BranchCallFar, 0, 0, 0},
		{"0f 05", BranchSyscall, 1, 0, 0},
		{"cc", BranchTrap, 0, 0, 0},
	} {
		code, err := hex.DecodeString(strings.ReplaceAll(c.hex, " ", ""))
		if err != nil {
			t.Fatal(err)
		}
		in, err := Decode(code, 0)
		if err != nil {
			t.Fatal(c.hex, err)
		}
		at, size := in.DispAt()
		if in.Branch() != c.branch || in.OpcodeAt() != c.op || at != c.at || size != c.size {
			t.Errorf("%s: branch %d, opcode at %d, displacement at %d of %d", c.hex, in.Branch(), in.OpcodeAt(), at, size)
		}
	}
}
