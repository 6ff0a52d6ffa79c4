// Command locate measures fault location on programs that are broken on purpose:
// `make bench-locate`.
//
//	go run ./bench/locate -mgtrace ./mgtrace -seed 7 -n 10
//	go run ./bench/locate -run 'avl|b-tree' -skip coverage -v
//	go run ./bench/locate -healthy -seeds 5
//	go run ./bench/locate -others -skip coverage
//	go run ./bench/locate -again DIR -v -cpuprofile FILE
//	go run ./bench/locate -slices -skip coverage,-O2 -base 100 -operations 60
//
// programs/ holds the nine structures of the thesis's table 4.1 as plain C programs, with
// a specification each, and eleven more for -others, which tell how far what was learnt on
// the nine carries. [mutate] breaks them, one statement at a time, and knows what it
// broke; [judge] tells by means of the program's own check and of the address sanitiser,
// never by mgtrace, whether a mutant breaks anything. Those that do are recorded at -O0 and at -O2, and located
// with C-points at the boundaries of the functions and with the end as the only one.
// Beside it stands what Tarantula and Ochiai make of gcov's counts ([spectrum]).
//
// With -slices, mutants that die are recorded with all that they execute as well, and
// what the first suspect depends on stands beside what the crash depends on ([sliced]).
//
// docs/design/campaign.md says what counts as named, and docs/campaign.md what came
// out.
package main
