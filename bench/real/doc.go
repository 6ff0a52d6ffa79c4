// Command real finds faults in real programs: `make bench-real`.
//
//	go run ./bench/real -mgtrace ./mgtrace
//	go run ./bench/real -run 'ls|tsort' -optimise -O0 -engine ebpf
//
// The programs are those of bench/real/debian, from Debian's source packages. Each is
// run healthy, where nothing may be found, and with each of its faults. A row has
//
//	stores      records that reached the analysis in the healthy run: of stores, of calls, of what these were given
//	C-points    at which the healthy run was checked
//	statements  of the specification: types, attributes, constraints
//	suspects    statements in the report of the first inconsistent C-point
//	rank        of the first of them that is marked as the fault; - : none is
//
// Its exit status is 1 if a healthy program is accused or a fault is not named.
package main
