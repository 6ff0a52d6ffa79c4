# Runs in gdb: at each stop writes down registers, maps, stack, and what gdb
# says of every frame.
import gdb

REGS = "rax rdx rcx rbx rsi rdi rbp rsp r8 r9 r10 r11 r12 r13 r14 r15 rip".split()


def number(v):
    return int(v) & (1 << 64) - 1


def symbols(frame):
    try:
        block = frame.block()
    except RuntimeError:
        return
    while block is not None and not block.is_global and not block.is_static:
        for sym in block:
            if not (sym.is_variable or sym.is_argument):
                continue
            try:
                value = sym.value(frame)
                code = value.type.strip_typedefs().code
                if value.is_optimized_out or code in (gdb.TYPE_CODE_REF, gdb.TYPE_CODE_RVALUE_REF):
                    continue  # a reference's address is that of its object
                if value.address is None:
                    continue
                yield sym.name, number(value.address)
            except gdb.error:
                continue
        if block.function is not None:
            return
        block = block.superblock


def stop():
    frame = gdb.newest_frame()
    print("STOP")
    for i, r in enumerate(REGS):
        print("reg", i, "%x" % number(frame.read_register(r)))
    pid = gdb.selected_inferior().pid
    sp = number(frame.read_register("rsp"))
    for line in open("/proc/%d/maps" % pid):
        f = line.split()
        lo, hi = (int(x, 16) for x in f[0].split("-"))
        if len(f) > 5 and "x" in f[1]:
            print("map %x %x %s %s" % (lo, hi, f[2], f[5]))
        if lo <= sp < hi:
            data = gdb.selected_inferior().read_memory(sp, hi - sp)
            print("stack %x %s" % (sp, bytes(data).hex()))
    while frame is not None:
        if frame.type() == gdb.TAILCALL_FRAME:  # what gdb guesses was there
            frame = frame.older()
            continue
        kind = "inline" if frame.type() == gdb.INLINE_FRAME else "frame"
        print("%s %x" % (kind, number(frame.pc())))
        for name, addr in symbols(frame):
            print("var %x %s" % (addr, name))
        frame = frame.older()
