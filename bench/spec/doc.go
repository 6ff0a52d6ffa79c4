// Command spec measures how good the specifications are that `mgtrace spec init`
// writes: `make bench-spec`.
//
//	go run ./bench/spec -run 'tree' -v
//
// Each program of bench/locate/programs has a specification written by hand. A
// healthy run of the program, 300 insertions and then 200 insertions and deletions,
// gives one by mgtrace. A row has
//
//	by hand     constraints written by hand
//	found       of them, those that the proposed ones see broken whenever they are
//	partly      those that they see broken sometimes
//	missed      never
//	caught      of all corruptions that break the hand-written specification, how many
//	            the proposed one sees
//	proposed    constraints stated by mgtrace
//	more        of them, those that see corruptions which the hand-written one does not
//	refuted     those that fail in one of five other healthy runs, with other seeds:
//	            accidents, the only ones that are plainly wrong
//	C-points    functions by hand, and of them those that are proposed; in brackets
//	            proposed ones that are not among those by hand
//	s           seconds of wall time, the run included
//
// A corruption is one field of one node that is given another value in thought: of a
// pointer NULL, the node itself or another node, of a number one more or less, 0, or
// the value of another field. They are tried after six operations of a run with a seed
// of its own, 250 after each, all over the nodes, one in twenty of what the
// hand-written specification declares in static memory. A constraint that none of them
// broke is listed as not tried.
package main
