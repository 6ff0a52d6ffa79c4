package x86

import "encoding/binary"

// REX is the prefix that an instruction with these registers needs, NoReg for those that
// it has not; 0: none (SDM volume 2, 2.2.1.2).
func REX(wide bool, reg, base, index Reg) (rex byte) {
	if wide {
		rex = 0x48
	}
	if reg >= 8 {
		rex |= 0x44
	}
	if index >= 8 {
		rex |= 0x42
	}
	if base >= 8 {
		rex |= 0x41
	}
	return rex
}

// AppendModRM appends ModRM, SIB and displacement of an operand in memory (SDM volume 2,
// tables 2-2, 2-3). index may not be RSP.
func AppendModRM(b []byte, reg, base, index Reg, scale uint8, disp int32) []byte {
	r := byte(reg&7) << 3
	sib := byte(0x20) // no index
	if index != NoReg {
		sib = byte(index&7) << 3
		for s := scale; s > 1; s >>= 1 {
			sib += 0x40
		}
	}
	if base == NoReg { // SIB without base: disp32
		return binary.LittleEndian.AppendUint32(append(b, r|4, sib|5), uint32(disp))
	}
	mod := byte(0x80)
	switch {
	case disp == 0 && base&7 != RBP:
		mod = 0
	case disp == int32(int8(disp)):
		mod = 0x40
	}
	if index == NoReg && base&7 != RSP {
		b = append(b, mod|r|byte(base&7))
	} else {
		b = append(b, mod|r|4, sib|byte(base&7))
	}
	switch mod {
	case 0x40:
		return append(b, byte(disp))
	case 0x80:
		return binary.LittleEndian.AppendUint32(b, uint32(disp))
	}
	return b
}
