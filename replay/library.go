package replay

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// library does what a function of the library does, and returns to its caller. One that is not known is executed, if
// it can be. The decisions and values there are its own business: no experiments are made with them.
func (c *cpu) library(name string) {
	frames, ret := len(c.frames), c.pop()
	if n := len(c.frames); n > 0 && c.frames[n-1] == ret {
		c.frames, c.calls = c.frames[:n-1], nil
	}
	depth := len(c.frames)
	a := func(i int) uint64 { return c.reg[wholeArgs[i]] }
	result := a(0)
	switch name {
	case "malloc", "_Znwm", "_Znam":
		result = c.alloc(name, a(0), ret)
	case "calloc":
		result = c.alloc(name, a(0)*a(1), ret)
	case "realloc":
		result = c.realloc(a(0), a(1), ret)
	case "free", "_ZdlPv", "_ZdlPvm", "_ZdaPv", "_ZdaPvm":
		c.free(name, a(0), ret)
	case "memcpy", "memmove", "__memcpy_chk", "__memmove_chk":
		c.bulk(name, a(0), a(1), c.bytes(a(1), a(2)), ret)
	case "mempcpy", "__mempcpy":
		c.bulk(name, a(0), a(1), c.bytes(a(1), a(2)), ret)
		result += a(2)
	case "bcopy":
		c.bulk(name, a(1), a(0), c.bytes(a(0), a(2)), ret)
	case "bzero", "explicit_bzero":
		if n := a(1); n <= maxData {
			c.bulk(name, a(0), 0, make([]byte, n), ret)
		} else {
			c.fail(ErrLibrary)
		}
	case "memset", "__memset_chk":
		if n := a(2); n <= maxData {
			c.bulk(name, a(0), 0, bytes.Repeat([]byte{byte(a(1))}, int(n)), ret)
		} else {
			c.fail(ErrLibrary)
		}
	case "strcpy", "__strcpy_chk", "stpcpy":
		s := c.text(a(1), maxData)
		c.bulk(name, a(0), a(1), append(s, 0), ret)
		if name == "stpcpy" {
			result += uint64(len(s))
		}
	case "strncpy", "__strncpy_chk":
		s := c.text(a(1), a(2))
		if n := a(2); n <= maxData {
			c.bulk(name, a(0), a(1), append(s, make([]byte, int(n)-len(s))...), ret)
		} else {
			c.fail(ErrLibrary)
		}
	case "strcmp", "strcoll":
		result = compared(c.text(a(0), maxData), c.text(a(1), maxData))
	case "strncmp":
		result = compared(c.text(a(0), a(2)), c.text(a(1), a(2)))
	case "strcasecmp":
		result = compared(lower(c.text(a(0), maxData)), lower(c.text(a(1), maxData)))
	case "strncasecmp":
		result = compared(lower(c.text(a(0), a(2))), lower(c.text(a(1), a(2))))
	case "strchr":
		result = at(a(0), bytes.IndexByte(c.string(a(0)), byte(a(1))))
	case "strrchr":
		result = at(a(0), bytes.LastIndexByte(c.string(a(0)), byte(a(1))))
	case "strchrnul":
		if result = at(a(0), bytes.IndexByte(c.string(a(0)), byte(a(1)))); result == 0 {
			result = a(0) + uint64(len(c.text(a(0), maxData)))
		}
	case "memchr":
		result = c.memchr(a(0), byte(a(1)), a(2))
	case "memrchr":
		result = at(a(0), bytes.LastIndexByte(c.bytes(a(0), a(2)), byte(a(1))))
	case "memmem":
		result = at(a(0), bytes.Index(c.bytes(a(0), a(1)), c.bytes(a(2), a(3))))
	case "strcasestr":
		result = at(a(0), bytes.Index(lower(c.text(a(0), maxData)), lower(c.text(a(1), maxData))))
	case "strtok":
		result = c.token(name, a(0), a(1), lastToken, ret)
	case "strtok_r", "__strtok_r":
		result = c.token("strtok_r", a(0), a(1), a(2), ret)
	case "strsep", "__strsep_g":
		result = c.token("strsep", 0, a(1), a(0), ret)
	case "strstr":
		result = at(a(0), bytes.Index(c.text(a(0), maxData), c.text(a(1), maxData)))
	case "strspn":
		_, n := c.span(a(0), a(1), true)
		result = uint64(n)
	case "strcspn":
		_, n := c.span(a(0), a(1), false)
		result = uint64(n)
	case "strpbrk":
		if s, n := c.span(a(0), a(1), false); n < len(s) {
			result = a(0) + uint64(n)
		} else {
			result = 0 // none is there
		}
	case "toupper", "tolower":
		if a(0)&0xffff_ffff >= 0x80 {
			c.fail(fmt.Errorf("%w: %s", ErrLibrary, name))
		} else if result = uint64(upperOf(byte(a(0)))); name == "tolower" {
			result = uint64(lowerOf(byte(a(0))))
		}
	case "strnlen":
		result = uint64(len(c.text(a(0), a(1))))
	case "pthread_mutex_init":
		result = c.clear(name, 40, ret)
	case "pthread_mutex_lock", "pthread_mutex_trylock", "pthread_mutex_unlock", "pthread_mutex_destroy":
		result = c.touch(name, 40, ret)
	case "pthread_rwlock_init":
		result = c.clear(name, 56, ret)
	case "pthread_rwlock_rdlock", "pthread_rwlock_wrlock", "pthread_rwlock_tryrdlock", "pthread_rwlock_trywrlock",
		"pthread_rwlock_unlock", "pthread_rwlock_destroy":
		result = c.touch(name, 56, ret)
	case "pthread_cond_init":
		result = c.clear(name, 48, ret)
	case "pthread_cond_signal", "pthread_cond_broadcast", "pthread_cond_destroy":
		result = c.touch(name, 48, ret)
	case "pthread_spin_init", "pthread_mutexattr_init", "pthread_condattr_init":
		result = c.clear(name, 4, ret)
	case "pthread_spin_lock", "pthread_spin_trylock", "pthread_spin_unlock", "pthread_spin_destroy",
		"pthread_mutexattr_settype", "pthread_mutexattr_destroy", "pthread_condattr_destroy":
		result = 0 // what they write to their object is not recorded, and nobody else reads it
	case "memcmp", "bcmp":
		result = compared(c.bytes(a(0), a(2)), c.bytes(a(1), a(2)))
	case "strlen":
		result = uint64(len(c.text(a(0), maxData)))
	case "strdup":
		s := append(c.text(a(0), maxData), 0)
		if result = c.alloc("malloc", uint64(len(s)), ret); c.run.Err == nil {
			c.bulk(name, result, a(0), s, ret)
		}
	case "strndup":
		s := append(c.text(a(0), a(1)), 0)
		if result = c.alloc("malloc", uint64(len(s)), ret); c.run.Err == nil {
			c.bulk(name, result, a(0), s, ret)
		}
	case "strcat", "__strcat_chk":
		c.bulk(name, a(0)+uint64(len(c.text(a(0), maxData))), a(1), append(c.text(a(1), maxData), 0), ret)
	case "strncat", "__strncat_chk":
		c.bulk(name, a(0)+uint64(len(c.text(a(0), maxData))), a(1), append(c.text(a(1), a(2)), 0), ret)
	case "printf", "puts", "putchar", "fprintf", "fputs", "fputc", "fwrite", "fflush", "__printf_chk", "__fprintf_chk",
		"vprintf", "vfprintf", "__vprintf_chk", "__vfprintf_chk", "putc", "perror",
		"puts_unlocked", "putchar_unlocked", "fputs_unlocked", "fputc_unlocked", "putc_unlocked", "fwrite_unlocked", "fflush_unlocked", "dprintf", "__dprintf_chk":
		result = 1 // nothing of the program's memory changes
	case "sprintf":
		result = c.print(name, a(0), maxData, a(1), c.arguments(2), ret)
	case "snprintf":
		result = c.print(name, a(0), a(1), a(2), c.arguments(3), ret)
	case "__sprintf_chk":
		result = c.print(name, a(0), maxData, a(3), c.arguments(4), ret)
	case "__snprintf_chk":
		result = c.print(name, a(0), a(1), a(4), c.arguments(5), ret)
	case "vsprintf":
		result = c.print(name, a(0), maxData, a(1), c.listed(a(2)), ret)
	case "vsnprintf":
		result = c.print(name, a(0), a(1), a(2), c.listed(a(3)), ret)
	case "__vsprintf_chk":
		result = c.print(name, a(0), maxData, a(3), c.listed(a(4)), ret)
	case "__vsnprintf_chk":
		result = c.print(name, a(0), a(1), a(4), c.listed(a(5)), ret)
	case "atoi":
		result, _ = c.numeral(a(0), 10, true)
		result = uint64(signed(result, 4))
	case "atol", "atoll":
		result, _ = c.numeral(a(0), 10, true)
	case "strtol", "strtoll", "strtoul", "strtoull", "__isoc23_strtol", "__isoc23_strtoll", "__isoc23_strtoul", "__isoc23_strtoull":
		n := 0
		if result, n = c.numeral(a(0), a(2), !strings.Contains(name, "strtou")); a(1) != 0 {
			c.bulk(name, a(1), 0, words(a(0)+uint64(n)), ret)
		}
	case "strtod":
		c.floating(name, a(0), a(1), ret, 64)
	case "strtof":
		c.floating(name, a(0), a(1), ret, 32)
	case "atof":
		c.floating(name, a(0), 0, ret, 64)
	case "sscanf", "__isoc99_sscanf", "__isoc23_sscanf":
		result = c.scan("sscanf", c.text(a(0), maxData), c.text(a(1), maxData), c.arguments(2), ret)
	case "vsscanf", "__isoc99_vsscanf", "__isoc23_vsscanf":
		result = c.scan("vsscanf", c.text(a(0), maxData), c.text(a(1), maxData), c.listed(a(2)), ret)
	case "qsort":
		c.sort(a(0), a(1), a(2), a(3), 0, ret)
	case "qsort_r":
		c.sort(a(0), a(1), a(2), a(3), a(4), ret)
	case "bsearch":
		result = c.search(a(0), a(1), a(2), a(3), a(4), ret)
	case "write":
		result = a(2)
	case "fread", "fread_unlocked":
		c.input(name, a(0), a(1)*a(2), ret)
		result = a(2)
	case "read", "recv":
		c.input(name, a(1), a(2), ret)
		result = a(2)
	case "sleep", "usleep", "nanosleep", "sched_yield":
		result = 0
	case "srand", "srandom", "srand48":
	case "getpid", "getuid", "pthread_self":
		result = c.returned(name)
	case "abs":
		result = uint64(max(signed(a(0), 4), -signed(a(0), 4)))
	case "labs", "llabs":
		result = uint64(max(int64(a(0)), -int64(a(0))))
	case "rand", "random", "lrand48", "clock":
		result = c.returned(name)
	case "time":
		if data := c.told(a(0), 8); data != nil {
			result = binary.LittleEndian.Uint64(data)
		} else {
			result = c.returned(name)
		}
		if a(0) != 0 {
			c.bulk(name, a(0), 0, words(result), ret)
		}
	case "gettimeofday":
		result = c.clock(name, a(0), ret)
	case "clock_gettime":
		result = c.clock(name, a(1), ret)
	case "exit", "abort", "_exit", "__assert_fail", "__stack_chk_fail":
		c.fail(ErrEnded)
	default:
		if whole, isWhole, ok := c.mathematical(name); ok {
			if isWhole {
				result = whole
			}
			break
		}
		if bits, ok := kinds[name]; ok {
			result = c.isKind(name, bits, a(0))
			break
		}
		if table, ok := c.m.table(name); ok {
			result = table
			break
		}
		if inserts(name) {
			break // nothing of the program's memory changes, and the stream is returned
		}
		if size := extracts(name); size > 0 {
			c.input(name, a(1), size, ret)
			break
		}
		if at, ok := c.m.world.Function(name); ok {
			c.frames, c.calls, c.pc = c.frames[:frames], nil, at
			c.reg[rsp] -= 8
			if c.foreign == 0 {
				c.foreign = max(frames, 1)
			}
			return
		}
		c.fail(fmt.Errorf("%w: %s", ErrLibrary, name))
	}
	if (errors.Is(c.run.Err, ErrFault) || errors.Is(c.run.Err, ErrEnded)) && len(c.frames) == depth {
		c.run.PC = ret - 1 // it died in the call, and not in what that called
	}
	c.pc = ret
	c.reg[rax], c.from[rax] = result, nil
	if !c.call.Brief {
		c.from[rax] = c.here()
		c.from[rax].PC-- // the call
	}
}

// returned is what a library function returns of which no memory tells.
func (c *cpu) returned(name string) uint64 {
	if c.call.Results == nil {
		c.fail(fmt.Errorf("%w: %s", ErrLibrary, name))
		return 0
	}
	c.run.Results++
	return c.call.Results(c.run.Results - 1)
}

// clock writes the time: what was recorded there, or else seconds, which nothing tells, and a part of one.
func (c *cpu) clock(name string, addr, ret uint64) (result uint64) {
	data := c.told(addr, 16)
	if data == nil {
		data = words(c.returned(name), c.call.Fraction)
	}
	if addr != 0 {
		c.bulk(name, addr, 0, data, ret)
	}
	return 0
}

// told is what was recorded that a library function wrote to memory; nil: nothing was.
func (c *cpu) told(addr, size uint64) []byte {
	if addr == 0 || c.call.Written == nil || stack(addr) {
		return nil
	}
	if data := c.call.Written(addr, size); uint64(len(data)) == size {
		return data
	}
	return nil
}

// words are numbers as they lie in memory.
func words(list ...uint64) (out []byte) {
	for _, v := range list {
		out = binary.LittleEndian.AppendUint64(out, v)
	}
	return out
}

// inserts: a function of the C++ library, by its mangled name, puts something into an output stream, and returns that. What a stream of a
// text then holds is not known: a call for which that matters does not do what was recorded.
func inserts(name string) bool {
	for _, prefix := range [...]string{"_ZNSols", "_ZNSo9_M_insertI", "_ZNSo3putEc", "_ZNSo5flushEv", "_ZNSo5writeE", "_ZSt16__ostream_insertI", "_ZSt4endlI", "_ZSt5flushI"} {
		if strings.HasPrefix(name, prefix) {
			return true
		}
	}
	return strings.HasPrefix(name, "_ZStlsI") && strings.Contains(name, "RSt13basic_ostreamI")
}

// input has a library function read as much as was recorded that it has, or ends the run: also where it reads to the same place again, of which
// it is not known what came there when.
func (c *cpu) input(name string, addr, size, ret uint64) {
	data := c.told(addr, size)
	if data == nil || slices.ContainsFunc(c.run.Effects, func(e Effect) bool { return e.Kind == Bulk && e.Addr == addr && e.Size == size }) {
		c.fail(fmt.Errorf("%w: %s", ErrLibrary, name))
		return
	}
	c.bulk(name, addr, 0, data, ret)
	c.run.Effects[len(c.run.Effects)-1].Given = true
}

// extracts: a function of the C++ library, by its mangled name, takes something of so many bytes out of an input stream, and returns that; 0: it does not.
func extracts(name string) uint64 {
	of, ok := strings.CutPrefix(name, "_ZNSirsER")
	if !ok {
		if of, ok = strings.CutPrefix(name, "_ZNSi10_M_extractI"); !ok {
			return 0
		}
		of = strings.TrimSuffix(of, "EERSiRT_")
	}
	return map[string]uint64{"b": 1, "s": 2, "t": 2, "i": 4, "j": 4, "f": 4, "l": 8, "m": 8, "x": 8, "y": 8, "d": 8, "Pv": 8}[of]
}

// touch does what a function does that changes an object of the library's own (sizes: glibc, bits/pthreadtypes-arch.h), which nobody
// else reads: it is recorded as written, with whatever it holds. Nobody waits: a call during which other threads wrote is not executed again.
func (c *cpu) touch(name string, size, ret uint64) (result uint64) {
	c.bulk(name, c.reg[rdi], 0, c.bytes(c.reg[rdi], size), ret)
	return 0
}

// clear does what a function does that begins such an object. What its attributes make of it matters to the library alone.
func (c *cpu) clear(name string, size, ret uint64) (result uint64) {
	c.bulk(name, c.reg[rdi], 0, make([]byte, size), ret)
	return 0
}

// at is the address of the i-th byte, NULL of none.
func at(addr uint64, i int) uint64 {
	if i < 0 {
		return 0
	}
	return addr + uint64(i)
}

// memchr returns where a byte lies in n. It reads no further.
func (c *cpu) memchr(addr uint64, b byte, n uint64) uint64 {
	for i := range min(n, maxData) {
		if byte(c.load(addr+i, 1)) == b {
			return addr + i
		}
		if c.run.Err != nil {
			return 0
		}
	}
	if n > maxData {
		c.fail(ErrLibrary)
	}
	return 0
}

// span reads a string, and counts how many characters it begins with that are in a set, or are not.
func (c *cpu) span(addr, set uint64, in bool) (s []byte, n int) {
	of := c.text(set, maxData)
	for s = c.text(addr, maxData); n < len(s) && bytes.IndexByte(of, s[n]) >= 0 == in; n++ {
	}
	return s, n
}

// lower is a text as strcasecmp compares it in the locale "C", which programs begin with.
func lower(s []byte) []byte {
	for i, b := range s {
		s[i] = lowerOf(b)
	}
	return s
}

func compared(a, b []byte) uint64 { return uint64(int64(cmp.Compare(bytes.Compare(a, b), 0))) }

// bytes reads n of them.
func (c *cpu) bytes(addr, n uint64) []byte {
	if n > maxData {
		c.fail(ErrLibrary)
		return nil
	}
	out := make([]byte, n)
	for i := range out {
		out[i] = byte(c.load(addr+uint64(i), 1))
	}
	return out
}

// text reads a string, without its end, of limit bytes at most.
func (c *cpu) text(addr, limit uint64) (out []byte) {
	for n := uint64(0); n < min(limit, maxData) && c.run.Err == nil; n++ {
		b := byte(c.load(addr+n, 1))
		if b == 0 {
			return out
		}
		out = append(out, b)
	}
	return out
}

// string reads a string with its end.
func (c *cpu) string(addr uint64) []byte {
	s := c.text(addr, maxData)
	if len(s) == maxData {
		c.fail(ErrLibrary)
	}
	return append(s, 0)
}

// bulk writes as a library function does that copies from an address, 0 if it does not.
func (c *cpu) bulk(name string, addr, from uint64, data []byte, ret uint64) {
	if len(data) == 0 {
		return
	}
	c.put(addr, data)
	if !stack(addr) {
		c.run.Effects = append(c.run.Effects, Effect{Kind: Bulk, PC: ret, Addr: addr, Size: uint64(len(data)), Data: data, From: from, Name: name, Stack: c.stackOf(ret)})
	}
}

// alloc makes a block.
func (c *cpu) alloc(name string, size, ret uint64) (addr uint64) {
	if size > 1<<30 {
		c.fail(ErrLibrary)
		return 0
	}
	if c.call.Place != nil {
		addr = c.call.Place(c.allocs, size)
	}
	c.allocs++
	if addr == 0 {
		addr = c.heap
		c.heap += (size + 63) &^ 15
	}
	e := Effect{Kind: Alloc, PC: ret, Addr: addr, Size: size, Name: name, Zeroed: name == "calloc", Stack: c.stackOf(ret)}
	c.run.Effects = append(c.run.Effects, e)
	if e.Zeroed {
		c.put(addr, make([]byte, min(size, maxData)))
	} else {
		c.unlearn(addr, min(size, maxLeft))
		c.leave(addr, min(size, maxLeft), c.call.Left[c.allocs-1])
		c.put(addr+min(size, maxLeft), make([]byte, min(size, maxData)-min(size, maxLeft)))
	}
	c.reuse(addr, size)
	return addr
}

func (c *cpu) free(name string, addr, ret uint64) {
	if addr != 0 {
		c.run.Effects = append(c.run.Effects, Effect{Kind: Free, PC: ret, Addr: addr, Name: name, Stack: c.stackOf(ret)})
		c.forget(addr)
	}
}

// realloc gives a block another size, where that is known to lie then.
func (c *cpu) realloc(addr, size, ret uint64) uint64 {
	if addr == 0 {
		return c.alloc("malloc", size, ret)
	}
	at, was, ok := uint64(0), uint64(0), false
	if c.call.Resize != nil && size > 0 {
		at, was, ok = c.call.Resize(c.resizes, addr, size)
	}
	if kept := min(was, size); !ok || kept > maxData {
		c.fail(fmt.Errorf("%w: realloc", ErrLibrary))
		return 0
	}
	c.resizes++
	e := Effect{Kind: Resize, PC: ret, Addr: at, Size: size, From: addr, Name: "realloc", Stack: c.stackOf(ret)}
	if at != addr {
		e.Data = c.carry(at, addr, min(was, size))
	}
	c.run.Effects = append(c.run.Effects, e)
	c.reuse(at, size)
	return at
}

// carry copies n bytes to where nobody has written yet, and returns them. What is not known stays so.
func (c *cpu) carry(to, from, n uint64) []byte {
	out := make([]byte, n)
	for i := range n {
		out[i] = byte(c.peek(from+i, 1))
		if p := c.page(from+i, false); p.knows(int((from+i)&(pageSize-1)), 1) {
			c.put(to+i, out[i:i+1])
		}
	}
	return out
}
