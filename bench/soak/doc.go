// Command soak starts and ends mgtrace thousands of times at random moments and
// looks for what is left behind: `make soak`.
//
//	go run ./bench/soak -launches 200
//	go run ./bench/soak -launches 0 -attach 1000 -engine inline
//	go run ./bench/soak -seed 7 -only launch:123      # what a failure says
//
// A launch traces one of the small programs of targets/ (a list, threads, forks,
// signals, blocked in read), each of which checks its own result. A quarter of the
// launches is left alone: status 0 and the right output. In the others, at a random
// time between start and end, the target, mgtrace or both are killed, mgtrace by
// SIGKILL, SIGTERM or SIGINT; half of these targets would never end by themselves.
// After each:
//
//   - mgtrace has ended, without a Go panic
//   - no process lives whose environment has the launch's mark, so a launched target
//     died with its tracer and a tracer ended with its target
//   - no file is left in the temporary and the working directory that it was given
//   - the target did not say that anything was wrong
//
// An attachment traces a target that has run for a while, and is ended by SIGINT,
// SIGTERM or SIGKILL, or the target is killed, or, once it is recorded, the keeper, the
// process of mgtrace that holds the target. Afterwards the target is not stopped
// or traced, has the descriptors and the executable memory that it had, byte for byte,
// no new named mappings and at most 16 MB more memory. After some attachments the
// target is told to end by SIGTERM and must give the right answer.
//
// At the end, compared with the start and after half a minute at most: loaded eBPF
// programs, pinned objects, uprobe_events, cgroups of its name, /dev/shm, the home
// directory of all launches (mgtrace keeps a cache there), open files of the whole
// system, unreclaimable kernel memory. What cannot be read is said. Other work on the
// machine that grows in the meantime can be taken for a leak here.
//
// Every random choice comes from the seed, which is printed, and the number of the
// launch: -only repeats one with the same choices, though not with the same timing.
//
// Exit status: 0 nothing found, 1 something left or harmed, 2 could not run.
package main
