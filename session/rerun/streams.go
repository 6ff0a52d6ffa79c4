package rerun

import (
	"encoding/binary"

	"mgtrace/session/symbol"
)

// What std::endl is compiled to reads of an output stream: by its virtual table where its base std::basic_ios lies, there the std::ctype<char> by which
// it widens characters, and of that whether it has a table of them, and the table. What the GNU C++ library has written there when the program
// began is not recorded, but is the same in each: of the streams that it defines it is made up here, as far as it is read.

// known is memory that is known, whoever wrote it.
type known struct {
	addr uint64
	data []byte
}

// streams are the output streams of the C++ library (std::cout).
var streams = [...]string{"_ZSt4cout", "_ZSt4cerr", "_ZSt4clog"}

// Where things lie (libstdc++: <ostream>, <bits/basic_ios.h>, <bits/locale_facets.h>; Itanium C++ ABI, 2.5.2).
const (
	madeUp      = 0x6000_1000_0000 // in no program's memory
	baseOffset  = 0x18             // in front of a virtual table's address point, where the virtual base lies in the object
	iosInStream = 8
	ctypeInIos  = 0xf0
	widenOK     = 0x38 // in std::ctype<char>, followed by the table
	ctypeMadeUp = madeUp + 0x100
)

// outputs is what is known of the library's output streams.
func outputs(symbols *symbol.Table) (list []known) {
	for _, name := range streams {
		if at, ok := symbols.Exported(name); ok {
			list = append(list, stream(uint64(at))...)
		}
	}
	if len(list) == 0 {
		return nil
	}
	return append(list, tables()...)
}

// tables are those to which streams lead.
func tables() []known {
	widened := []byte{1}
	for b := range 256 {
		widened = append(widened, byte(b))
	}
	return []known{{madeUp, word(iosInStream)}, {ctypeMadeUp + widenOK, widened}}
}

// stream is what is known of one.
func stream(at uint64) []known {
	return []known{{at, word(madeUp + baseOffset)}, {at + iosInStream + ctypeInIos, word(ctypeMadeUp)}}
}

func word(v uint64) []byte { return binary.LittleEndian.AppendUint64(nil, v) }

// read copies what there is of it in a range.
func (k *known) read(addr uint64, data []byte, is []bool) {
	for i, b := range k.data {
		if at := k.addr + uint64(i) - addr; at < uint64(len(data)) {
			data[at], is[at] = b, true
		}
	}
}
