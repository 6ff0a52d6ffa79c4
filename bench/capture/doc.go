// Command capture measures what capture costs real programs: `make bench-capture`.
//
//	go run ./bench/capture -n 3 -json numbers.json
//	go run ./bench/capture -quick -run 'bash|xz'
//	go run ./bench/capture -divide 20 -n 1 -skip disk,spec,ebpf    # every instruction, beside lackey
//
// Each program does fixed work, made with a fixed seed in a temporary directory:
// two to four seconds natively on the machine that this was written on, m4 half a second. A row has
//
//	native      seconds of wall time without any tool, from fork to the end
//	Mstores     millions of store records that `everything` consumed; bulk writes
//	            (memcpy and its kin) and allocator calls are not among them
//	ns/store    (everything - native) / stores: the cost of a store and, with it,
//	            of start-up and of all other records
//	B/store     the file's size / stores
//	everything  mgtrace with all stores, consumed and not kept
//	            (record --everything --discard)
//	disk        the same into a file (record --everything -o FILE), without fsync
//	spec        history built and checked against a specification (run --spec),
//	            for the programs that have one: in work/, m4 in testdata/real
//	full        every instruction and every address, into a file (record --full)
//	none        Valgrind translating the program and doing nothing else
//	memcheck    Valgrind's memory checker
//	lackey      Valgrind printing every access (--trace-mem=yes) to /dev/null
//	ebpf        mgtrace record with the kernel's probes, into a file: the stores
//	            that can reach the heap
//	rr, dynamorio  `rr record` and `drrun` without a client, where installed
//
// All columns from `everything` on are factors of native time, start-up included. A
// round runs native and mgtrace's columns one after the other; a factor is the median
// over the rounds of the quotients within a round, so that a machine that slows down
// for a while moves both. The other tools run in the first round only. `> 40×` is a
// run that was stopped at the time limit. A run counts only if it ends with status 0
// and prints what the native run printed; another is n/a with the reason below the
// table. Behind the programs is the geometric mean with the number of programs in
// it; `> ` there says that a stopped run is in it as what it had taken. Below it is
// that of processor time, program and tool together, of the runs that were not stopped:
// it can be believed where other work shares the processors.
//
// Traced programs are given their own shared library (sqlite3 its libsqlite3) by
// --module, since the program itself is only a command line there. m4 is built from Debian's
// source package, as `make bench-real` does.
//
// The specifications are those of someone who looks for a fault in the program's main
// structure. How often it is checked decides what that costs: index, ledger and xmllint are
// checked now and then, bash and sqlite3 at each insertion, m4 before and after each lookup.
//
// Start-up is the time of a bash that does nothing under mgtrace, minus native.
package main
