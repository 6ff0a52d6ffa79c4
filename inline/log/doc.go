// Package log reads what the traced process wrote into its threads' buffers and
// delivers it in one order: stores in runs, everything else as capture.Hits.
//
//	m := log.NewMerger(log.NewTable(plan, strict), log.Options{Clock: clock}, sink)
//	m.Start(tid, stamp, stack)           // before the thread runs
//	c := order.Load()                    // the counter first, then the cursors
//	for each thread { m.Add(tid, bytesSinceLastTime, true) }
//	err := m.Cut(c)                      // delivers what is certain by now
//
// It knows neither processes nor the memory that the bytes come from. It does
// not pair calls with returns (capture.Assembler does).
//
// # Order
//
// Each record has a place, a value of the counter of stamps:
//
//  1. A record with a stamp has that as its place, or the place of the record
//     before it in its thread if that is later.
//  2. A record without one has the place of the record before it.
//  3. What a thread's cursor passed only after a cut was read is placed at least
//     at the cut's counter, for that was read before.
//  4. An exchange, whose record says what it found, is placed between the stamp
//     of before and the one behind it, where its value belongs (turn). What comes
//     after it in its thread is placed at the second one at least. A cut goes no
//     further than the first stamp of an exchange whose record is to come.
//
// Records are delivered by place; within a thread as they were written; between
// threads at the same place in any order. A cut at c delivers what has a place up
// to c.
//
// Rule 3 keeps places from lagging behind: a store that waits (Add's keepLast)
// holds back only what is newer than the cut before it.
//
// Why 4 is right where no value comes twice: an exchange X is placed at the latest
// of the first stamps of X and of those that exchanged its word before it, and
// all those were taken before X executed. Who has seen X has later stamps, and is
// placed behind it; its own word's are in order by their values.
//
// Why the others are right: let X happen before Y of another thread, by an acquisition
// with stamp s in Y's thread that took place after X's thread had released.
// Stamps are taken by one counter and X's record was whole before the release,
// so any stamp of X's thread up to X is below s. If a cut at c was read before X
// was visible, the release came after that, so c < s. So X's place is below s,
// and Y's is at least s. If Y is delivered at a cut at c, then c ≥ s, and X was
// visible to who read the cursors after c.
package log
