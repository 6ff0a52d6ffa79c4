package faultloc

import (
	"slices"

	"mgtrace/constraints/eval"
	"mgtrace/constraints/graph"
	"mgtrace/mgpp"
	"mgtrace/trace"
)

// History is what fault location asks of the history.
type History interface {
	Op(mgpp.Timestamp) mgpp.Op
	// Deed is what of an operation takes no search.
	Deed(mgpp.Timestamp) mgpp.Deed
	// LastWrite is the newest operation at or before t that wrote into
	// [addr, addr+size), 0 if none.
	LastWrite(addr trace.Addr, size uint64, t mgpp.Timestamp) mgpp.Timestamp
	// Without is v as if operation t had not changed its bytes.
	Without(v mgpp.View, t mgpp.Timestamp) mgpp.View
}

// Structure is what the repair search asks of the typed graph.
type Structure interface {
	Object(graph.ObjID) *graph.Object
	// Cell returns the scalar field that covers addr.
	Cell(addr trace.Addr, v mgpp.View) (Cell, bool)
	// At returns the object that lies at addr, 0 if none does.
	At(addr trace.Addr, v mgpp.View) graph.ObjID
	// Into returns up to limit pointer cells that lead to o by default edges.
	Into(o graph.ObjID, v mgpp.View, limit int) []trace.Addr
	// Led reports whether any pointer cell leads to o, an edge or not.
	Led(o graph.ObjID, v mgpp.View) bool
	// Left returns the cells that still lead to an object that has died.
	Left(v mgpp.View, o graph.ObjID) []graph.Ref
	// Rooted reports whether a pointer in static memory leads to o.
	Rooted(o graph.ObjID, v mgpp.View) bool
	// Alike returns up to limit live objects of the same type as o, for
	// comparison, nearest in time first.
	Alike(o graph.ObjID, v mgpp.View, limit int) []graph.ObjID
	// Fields returns the scalar fields of an object, of a large one the first.
	Fields(o graph.ObjID, v mgpp.View) []Cell
	// Near returns up to limit objects that are connected with o by an edge,
	// either way.
	Near(o graph.ObjID, v mgpp.View, limit int) []graph.ObjID
}

// Cell is a scalar field of an object.
type Cell struct {
	Obj     graph.ObjID
	Path    string // "child[2]"
	Addr    trace.Addr
	Size    int // bytes, at most 8
	Pointer bool
	// Tags are the bits of a pointer's word that are none of the address; 0: it has none, as far as the specification says.
	Tags uint64
	// Unsigned: that is how its number reads.
	Unsigned bool
	// Parts are the bit-fields that share the bytes, nil where they are one number:
	// a repair changes one of them.
	Parts []Part
	// Values are all that the field's type has: enumerators, 0 and 1 of a truth value. Nil: any number.
	Values []int64
	// Places are where in an object that begins which a pointer of this type leads to, in bytes from its
	// beginning; none: the pointer does not lead to such an object. Nil: to the beginning of any.
	Places func(graph.ObjID) []uint64
	// Leads says whether a pointer of this type may lead to a place in an object, bytes from its beginning, that Places leaves out, as
	// to an element of an array in it. Nil: to none.
	Leads func(o graph.ObjID, at uint64) bool
}

// Part is a bit-field in a cell.
type Part struct {
	Path   string
	Offset int // of its lowest bit
	Count  int // bits
	Signed bool
}

// Mask has the part's bits of the cell's value.
func (p *Part) Mask() uint64 { return (1<<p.Count - 1) << p.Offset }

// Of is the part's value in a cell's.
func (p *Part) Of(v uint64) int64 {
	v = v >> p.Offset << (64 - p.Count)
	if p.Signed {
		return int64(v) >> (64 - p.Count)
	}
	return int64(v >> (64 - p.Count))
}

// inOnePart reports whether two values of the cell differ in one bit-field only.
func (c *Cell) inOnePart(v, now uint64) bool {
	return len(c.Parts) == 0 || slices.ContainsFunc(c.Parts, func(p Part) bool { return (v^now)&^p.Mask() == 0 })
}

// Input is one question: what made Found inconsistent at At?
type Input struct {
	Model   eval.Model
	History History
	Cells   Structure // nil: no repair search
	At      mgpp.Timestamp
	Found   []eval.Inconsistency // in order, as Model.All lists them
	// Healthy is the last C-point before At where the constraints held; 0 if
	// there was none.
	Healthy mgpp.Timestamp
	// Points are the times of the C-points before At, ascending: what ran on either
	// side of one is not of one piece.
	Points []mgpp.Timestamp
	// Moments are times at which the program was in no call of a function that was watched,
	// ascending: the structure may have been whole then, though nobody has declared them.
	Moments []mgpp.Timestamp
	// Quiet: from then on calls are not known; 0: they are, or never were.
	Quiet mgpp.Timestamp
	// Within names the call during which an operation ran: what a statement does in calls
	// of one function says nothing of what it does in those of another. Nil: not known.
	Within func(mgpp.Timestamp) string
	// Args are the integer arguments of that call, nil where they are not known. Nil: they never are.
	Args func(mgpp.Timestamp) []uint64
	// Cut: At is in the middle of something, as a crash is.
	Cut bool
	// Statement maps a program counter to the identity of its statement.
	Statement func(trace.Addr) string
	// Function names the function in whose text a statement stands, "" where that is not known.
	// Nil: it never is.
	Function func(trace.Addr) string
	// Library reports that a statement is a library's: what did not run there is no fault of
	// the program's. Nil: none is.
	Library func(trace.Addr) bool
	// MaxOperations bounds the traceback; 0: no bound.
	MaxOperations int
	// Broken is how many instances are inconsistent at a time. It is asked for many
	// times, most often in ascending order. Nil: the fault is located between the
	// C-points, however far from each other they are.
	Broken func(mgpp.Timestamp) int
	// BrokenOf says which constraints have an inconsistency at a time, by their number. It is asked as Broken is. Nil: that is not known.
	BrokenOf func(mgpp.Timestamp) []bool
	// Stopped reports that the model was told to stop: its last answer was none, and
	// no more will come. Nil: it is never stopped.
	Stopped func() bool
	// Without is evidence that is not looked for: to see what it is worth.
	Without []EvidenceKind
	// Stray reports that a write hit no block, though it lies near one. Nil: none did.
	Stray func(mgpp.Op) bool
	// Elsewhere reports that at an address there may be something that is not recorded: of the
	// program's files, or on a stack. Nil: nowhere.
	Elsewhere func(trace.Addr) bool
	// Rerun is the call in which an operation was done, or which ended at At, to be executed once more; nil where that
	// can not be done. Nil: it never can.
	Rerun func(mgpp.Timestamp) Rerun
	// Ended is the call in which the run ended, up to there; nil where it can not be executed again. Nil: it never can.
	Ended func() Rerun
	// Led is the memory by which the program came to where it found none when it died, by what the thread's registers held, the nearest first,
	// where the call can not be executed again. Nil: that is not known.
	Led func() []Read
	// Recursed are the links of the circle of nodes along which a function has called itself until the stack was full, the one first that
	// closed it. Nil: there is none.
	Recursed func() []Read
	// Holding are the pointers that lead to where the program found no memory when it died, where it is not known which it
	// followed. Nil: they are not known.
	Holding func() []Read
	// ReadFreed is a block that the call during which an operation was done freed, and went on to use. Nil: that is never known.
	ReadFreed func(mgpp.Timestamp) (ReadFreed, bool)
	// Beneath reports that a function that was running when the run ended, and not the outermost one, had called what did an operation.
	// Nil: that is not known.
	Beneath func(mgpp.Timestamp) bool
	// Divides: it died of a number by which it divided. Ends: it ended itself, by a condition as assert has one.
	Divides, Ends bool
	// Died is the instruction at which the run ended, 0 if it did not.
	Died trace.Addr
	// Fault is the address where it found no memory then, 0 if that is not known.
	Fault trace.Addr

	end   mgpp.Timestamp // of the history, if that is not At
	amid  bool           // At is in the middle of a call that does the same wrong time and again
	core  []bool         // by index in Found: what others may follow from; nil: all are
	brief bool           // it is the second question about a call, and takes less
}

// ReadFreed is a block that was used after it was freed, by an address that the program had before that.
type ReadFreed struct {
	Free  mgpp.Timestamp
	By    trace.Addr   // the instruction
	Calls []trace.Addr // return addresses of the calls around it, innermost first
}

// last is the last operation that may be looked at.
func (in *Input) last() mgpp.Timestamp { return max(in.At, in.end) }

// within is Within, as far as it is known.
func (in *Input) within(t mgpp.Timestamp) string {
	if in.Within == nil {
		return ""
	}
	return in.Within(t)
}

// statement is Statement of an operation's.
func (in *Input) statement(t mgpp.Timestamp) string { return in.Statement(in.History.Deed(t).PC) }

// function is Function of an operation's statement, as far as it is known.
func (in *Input) function(t mgpp.Timestamp) string {
	if in.Function == nil {
		return ""
	}
	return in.Function(in.History.Deed(t).PC)
}

func (in *Input) stopped() bool { return in.Stopped != nil && in.Stopped() }

// looksFor: this evidence is not left out.
func (in *Input) looksFor(k EvidenceKind) bool { return !slices.Contains(in.Without, k) }

// Kind says what a suspect did.
type Kind string

const (
	Wrote   Kind = "wrote"
	Omitted Kind = "omitted" // its store is missing
	Died    Kind = "died"    // the run ended in it
	Decided Kind = "decided" // its condition went the wrong way
)

// Suspect is a statement under suspicion, with the operation that shows it best.
type Suspect struct {
	Kind        Kind
	PC          trace.Addr
	Operation   mgpp.Timestamp   // the most suspicious of Operations; Omitted: an example elsewhere, or 0
	Operations  []mgpp.Timestamp // all of this statement that contributed, newest first
	Contributes []eval.Instance
	Second      bool       // second class: wrote what later entered a broken constraint
	Evidence    []Evidence // the best first
	Repair      *Repair
	further     []*Repair    // of other cells that it wrote
	mends       []bool       // by index in Input.Found: with these as well; nil: Repair alone
	Calls       []trace.Addr // Decided: return addresses of the calls in which it was made, innermost first
	// Inner is the moment in the middle of the call at which it was judged, by what was broken there; nil: at the C-point.
	Inner *Inside
	// Ran: Omitted: it has run since the last healthy C-point all the same, at that time for the last time; 0: it has not, or that is not known.
	Ran mgpp.Timestamp
	// Whole: nothing was broken at that time, after all that it did; 0: not known.
	Whole mgpp.Timestamp
}

// EvidenceKind classifies Evidence.
type EvidenceKind string

const (
	Counterfactual EvidenceKind = "counterfactual" // without its bytes, inconsistencies would be gone
	RepairCell     EvidenceKind = "repair"         // it wrote, or should have written, the one cell that mends them
	Missing        EvidenceKind = "missing"        // it writes the field in like nodes
	Unwritten      EvidenceKind = "unwritten"      // it writes a field that nothing had written here, from which a pointer was copied, or which the call has read
	Renewed        EvidenceKind = "renewed"        // its function stored the field there in some calls before
	Habit          EvidenceKind = "habit"          // it runs next to another statement time and again
	Unlike         EvidenceKind = "unlike"         // it did what it never did before
	Last           EvidenceKind = "last"           // it was the last to write to the node in which a field is missing
	Beside         EvidenceKind = "beside"         // it wrote the field beside one that was never written
	Idle           EvidenceKind = "idle"           // it stored what a field held already, beside one that was never written
	Vain           EvidenceKind = "vain"           // what it stored was replaced at once, and would do in a field that was never written
	Mirror         EvidenceKind = "mirror"         // it stored a pointer of which the way back is missing
	Outdated       EvidenceKind = "outdated"       // it broke what a field that was right would mend, had it been stored again
	Basis          EvidenceKind = "basis"          // a number was wrong when it stored it, and was counted on from there
	Stale          EvidenceKind = "stale"          // it freed a node to which a pointer was stored again after that
	Taken          EvidenceKind = "taken"          // it took out what a field should hold still, before others wrote there
	Lost           EvidenceKind = "lost"           // it took the last pointer to a node away that lives
	Dropped        EvidenceKind = "dropped"        // it took a node out, and put nothing there of what that led to
	Doomed         EvidenceKind = "doomed"         // it stored a pointer to a node that was freed after that
	Instead        EvidenceKind = "instead"        // had it written another field of the node, or that of another node, inconsistencies would be gone
	Switched       EvidenceKind = "switched"       // had its condition gone the other way, all would hold
	Passed         EvidenceKind = "passed"         // another statement stored what it computed
	Altered        EvidenceKind = "altered"        // had it computed another value, all would hold
	Edited         EvidenceKind = "edited"         // with another text all would hold, in earlier calls as well
	Uncalled       EvidenceKind = "uncalled"       // with a call made there, all would hold
	Swapped        EvidenceKind = "swapped"        // with its operands the other way round, inconsistencies would be gone
	Outlived       EvidenceKind = "outlived"       // it freed a node to which a pointer still led that the broken call has followed
	Used           EvidenceKind = "used"           // it freed memory that the same call went on to use
	Followed       EvidenceKind = "followed"       // it wrote what the program followed to where it died, and nothing is broken
	Tallied        EvidenceKind = "tallied"        // up to there a number that a condition asked for was that of blocks
	Garbage        EvidenceKind = "garbage"        // it freed memory, and then a pointer was stored that leads nowhere
	Early          EvidenceKind = "early"          // it freed a node that was still linked
	Freed          EvidenceKind = "freed"          // it freed memory in the call in which the run ended
	Stray          EvidenceKind = "stray"          // it wrote where no block is
	Crossed        EvidenceKind = "crossed"        // it wrote into a block by an address of another one
	Crash          EvidenceKind = "crash"          // the run ended in it
	Flip           EvidenceKind = "flip"           // it turned what is broken at the C-point from holding to broken, for good
	Entered        EvidenceKind = "entered"        // it wrote what a flip made part of a broken constraint
	Touch          EvidenceKind = "touch"          // it changed an argument of what was broken
)

// Rules whose evidence is of a kind that others give too, for Input.Without.
const (
	Gap      EvidenceKind = "gap"     // a Habit: between two statements one of several
	Text     EvidenceKind = "text"    // a Habit: what stands next to each other in a function
	OfField  EvidenceKind = "fields"  // an Unlike: what nodes hold in a field, whoever stores it
	OfReach  EvidenceKind = "reached" // an Unlike: what leads from node to node
	OfOrigin EvidenceKind = "origin"  // an Unlike: where a value comes from
	Unasked  EvidenceKind = "unasked" // experiments with which nothing is asked any more, against a later store
	Mended   EvidenceKind = "mended"  // what is known against a Flip of calls that ended well
	Matched  EvidenceKind = "matched" // an Outdated: what a count does not answer
	Inner    EvidenceKind = "inner"   // whatever is judged in the middle of a call
)

// WasRead says what a program read, and followed to where it died.
type WasRead uint8

// What it was.
const (
	ReadNumber     WasRead = iota // by which, or through which, it came there
	ReadNull                      // the pointer that it followed
	ReadNowhere                   // the same, not NULL, and it leads to nothing that is known
	ReadIndex                     // a number by which it came beyond a block
	ReadDivisor                   // the 0 by which it divided
	ReadAsked                     // what a condition asked for by which it ended itself
	ReadCircle                    // a link of a circle, along which a function has called itself until the stack was full
	ReadUnwritten                 // nothing had written it since the block was allocated
	ReadFreedBlock                // it was in a block that had been freed
)

// Evidence is one reason for suspicion. The counts' meaning depends on Kind.
type Evidence struct {
	Kind       EvidenceKind
	Cured      int     // Counterfactual, RepairCell: inconsistencies that would be gone
	Core       int     // and how many of those from which the others may follow
	Cores      int     // of how many; 0: all of Of
	More       bool    // RepairCell: with the repairs of further cells that the statement wrote
	Of         int     // of how many; Missing: see Often
	Created    int     // and how many new ones there would be; -1: not counted
	Follows    int     // RepairCell, Outdated, Instead: and so many more would ask for what the program would have done then
	Orphans    int     // and how many nodes nothing would lead to any more
	Hides      bool    // an experiment, only because a constraint would look at less
	Unasked    bool    // RepairCell, Counterfactual, Swapped: nothing would be asked any more, and a later store should have answered
	Apart      bool    // Missing: nothing ran here of what usually runs next to it
	Fitted     bool    // RepairCell, Counterfactual: what it stored was right at that time
	Dangles    bool    // RepairCell, Counterfactual: it would lead to a node again that leads to what was freed
	Again      bool    // RepairCell: another statement has stored the same since
	Unready    bool    // RepairCell, Counterfactual: it linked a node in which a field was never written that is asked for
	Unfinished bool    // RepairCell, Counterfactual: the call, which was not over, would not have ended well with it
	Flag       bool    // RepairCell: with a number in a field in which all like nodes hold 0 or 1
	Summand    bool    // RepairCell, Counterfactual: with 0, for a new node, which a sum lacks as a whole
	Usual      bool    // RepairCell, Counterfactual: it has stored the same each time, or counted by the same
	Elsewhere  bool    // Instead: the same field of another node
	Unread     bool    // Instead: it wrote what nothing that is broken reads
	Element    bool    // Last: it wrote the element next to the field, of an array; Instead: another element of the same array
	Returned   bool    // Passed: it was called for it
	Unset      bool    // Beside: nothing has written the field at all, nor cleared it
	Lacks      bool    // Stray, Crossed: a field of the node that it missed would mend all
	Mends      *Repair // RepairCell: what it should have stored, Outdated, Mirror: beside it, Instead: and not where it was; the suspect's own may be another one
	Named      bool    // Outdated: a statement that stores the field in all like nodes is a suspect itself; Uncalled: it is in the function
	Was        uint64  // Altered: the value
	Instead    uint64  // Altered: the one with which all would hold
	Alike      bool    // Switched, Altered: the same blocks would have been allocated and freed
	Copied     bool    // RepairCell, Counterfactual: another statement may as well be meant, of which one passed on what the other stored
	Idle       bool    // Switched: the call would have done nothing at all
	Less       bool    // Switched: the call would only have left out a part of what it did
	Seen       bool    // Switched: it has gone this way before, in calls that ended well
	Dear       bool    // Switched, Altered: a field that another one wrote would mend all by itself, with fewer other bytes
	Differs    int     // Switched, Altered: how many bytes would be others
	Guards     bool    // Switched: the call does all that it did, and stores the one field beside it that should have been stored
	Refuted    bool    // RepairCell, Counterfactual: were the statement such, earlier calls would not have ended well
	Edit       string  // Edited: what it would be, in words; Uncalled: the call
	Held       int     // Edited: in so many earlier calls it would have mattered, and all would have held
	Given      bool    // RepairCell, Counterfactual: the field holds what the program was given
	Bypassed   bool    // Outdated: it took the node out to which the field still leads, and which was put in elsewhere after that
	Unanswered bool    // Outdated: no change of the count answers this one, and each other has its answer
	Mended     bool    // Flip: the statement has broken that before, in calls that ended well
	Born       bool    // Flip: of births only, which ask what nothing has answered yet
	Next       bool    // Crash: it came right behind a change beside which a store is missing that would mend all; Followed: right before it, by the same function, or nothing but NULL for NULL; Uncalled: where the node was stored to last that it would be given, as others are
	Filling    bool    // Crash: it came while a node was filled in to which nothing leads yet, and which lacks a field
	Sole       bool    // Crash: nothing is broken
	Read       WasRead // Followed: what the program read
	Depth      int     // Followed: through so many pointers more it led there
	ByAddress  bool    // Followed: it leads to where the program died; which way it came there is not known
	Bytes      uint64  // Tallied: the size of the blocks
	Moved      int64   // Tallied: so many came, below 0: went; 0: it stored the number itself
	But        int64   // Tallied: so many more there were always than the number said
	Falls      bool    // Tallied: the number has become less with the blocks, as none does that numbers them
	Survives   bool    // Followed: with what was there before the program would not have died, and all would hold
	Onward     bool    // RepairCell, Counterfactual: it counted on from a number that was wrong already
	Unchanged  bool    // Doomed: the pointer was there already
	Flips      int     // Flip: inconsistencies that it turned from holding to broken; Outdated: it leads to a node whose birth did, or did until its death
	Called     bool    // Outdated: Beside was done in a call of its function, and may be missing next to that call; Freed: it was in another call of what called both
	Often      int     // Missing: in how many of Of like nodes the statement wrote the field; Habit: in how many of Of cases it ran
	Emptied    bool    // Dropped: the node was not freed, but its own pointer taken away after that
	Released   bool    // Missing: the nodes are those that were freed before where this one was, and it took such a pointer to them away
	There      int     // Missing: so many like nodes the statement led where the repair leads, since the last healthy C-point
	// Beside is Habit's other statement, or what concerned the node last (Missing): where this
	// one should have run; Outdated: what the function did last for the node, if more than the
	// change; Unlike: the operation that is otherwise related to it; Beside: the one that wrote on the
	// other side of the field, as near.
	Beside mgpp.Timestamp
	// Inside: Habit: an operation near Beside, of the function in which this statement stands; 0: Beside's is it, or there is none.
	Inside mgpp.Timestamp
	// Between: Habit: between that operation and Beside something has always run, this statement in
	// Often of Of cases.
	Between mgpp.Timestamp
	Law     Law            // Unlike: what held in all of Of executions
	Origin  Origin         // Unlike: LawOrigin's
	At      mgpp.Timestamp // Unlike, Doomed: the execution; Outdated: the change beside which the store is missing
	By      trace.Addr     // Used: the instruction that used it; Unwritten: that read it, where nothing was copied; Outlived: that came there by the pointer; Followed: what stored the pointer by which the freed block was still reached
	Led     bool           // Unwritten: what was read there led to where the program died
	Exact   bool           // Unlike: LawStep, and the number is wrong by as much
	Turned  bool           // Unlike: the law is Beside's statement's
	Later   bool           // Unlike: another statement broke a law before; Crash: all is broken since an earlier call
	Times   int            // Counterfactual: of so many of its operations together; 0: of one
	Alone   bool           // Habit: to write what the statement writes would not mend all
	Only    bool           // Habit: what usually runs on its other side did run; Uncalled: nothing else that is known would mend all
	Left    bool           // Habit: of a free, a node was taken out to which nothing leads any more, and is there still
}

// Repair is a cell and a value for it that would make inconsistencies hold and
// break nothing.
type Repair struct {
	Cell    Cell
	Value   uint64
	Others  []Number    // further numbers of the node, which are set as well
	Target  graph.ObjID // Pointer: the object that Value points to, 0 for NULL
	Cured   int         // of Input.Found
	Created int         // new ones that there would be: fewer
	Follows int         // and further ones of that node, which ask for what the program would have done then, as with one that nothing leads to any more
	Hides   bool        // a constraint would look at less
	Dangles bool        // the node that it would lead to leads to what was freed
	Orphans int         // nodes that nothing would lead to any more
	Given   bool        // the cell holds what the program was given
	Flag    bool        // all like cells hold 0 or 1, and this one would not
	cured   []bool      // by index in Input.Found
}

// Number is a field and what it would hold.
type Number struct {
	Cell  Cell
	Value uint64
}

// Result of a fault location.
type Result struct {
	// Suspects are in order of suspicion.
	Suspects []Suspect
	// Others is what algorithm 3 outputs besides, where the first suspect alone
	// accounts for all inconsistencies: statements that only touched.
	Others  []Suspect
	Repairs []Repair
	// Remaining are inconsistencies that were there when the history began.
	Remaining []eval.Instance
	// Unseen are contributing operations that no statement is known of: an
	// audit found their bytes changed. They are no suspects. Newest first.
	Unseen    []mgpp.Timestamp
	Examined  int  // operations looked at
	Trials    int  // hypothetical graphs checked
	Exhausted bool // the search for a repair was cut short
	// Seeds are the inconsistencies that were traced back, of Of: where there are many,
	// some of each constraint tell as much as all.
	Seeds, Of int
	Bounded   bool      // and the traceback ended before it was through
	Narrowed  *Narrowed // the part of the history in which it was located; nil: all of it
	Stopped   bool      // Input.Stopped ended the search: there would be more to say
}

// Settled: the first suspect accounts for all that is broken, and no experiment would say more.
func (r *Result) Settled() bool { return len(r.Suspects) > 0 && settled(r.Suspects[0]) }

// Locate answers the question. If it is stopped it answers with what it knows.
func Locate(in Input) Result {
	n, found, ok := narrow(&in)
	if !ok {
		r := locate(in)
		r.addInner(in)
		return r.inRound(in)
	}
	part := n.within(in, found)
	r := locate(part)
	r.addInner(part)
	r.Narrowed = &n
	if n.Unsure && !r.Stopped {
		r.add(in, locate(in))
	}
	return r
}

// add puts the suspects of all of a short run beside those of the part in which the fault was located, by what they are
// worth: where no calls are known it may lie before that. The program may have been at making a part of the structure when it
// was whole for the last time, and what was wrong already broke nothing yet.
func (r *Result) add(in Input, all Result) {
	r.append(in, all)
	r.Suspects, _ = rank(r.Suspects)
}

// same: a suspect is another one's statement, which has done, or not done, the same.
func (in *Input) same(s *Suspect) func(Suspect) bool {
	return func(o Suspect) bool { return o.Kind == s.Kind && in.Statement(o.PC) == in.Statement(s.PC) }
}

// append puts them behind those.
func (r *Result) append(in Input, all Result) {
	part := r.Suspects
	for _, s := range all.Suspects {
		if !slices.ContainsFunc(part, in.same(&s)) {
			r.Suspects = append(r.Suspects, s)
			r.Narrowed.Added++
		}
	}
	r.Stopped = all.Stopped
}

// locate answers it for all that lies between the two C-points.
func locate(in Input) Result {
	in.core = core(&in)
	tb := traceback(in)
	if in.looksFor(Entered) {
		entered(in, tb)
	}
	suspects, unseen := statements(in, tb)
	lab := newLab(in)
	if in.looksFor(Counterfactual) {
		lab.weigh(tb, suspects)
	}
	var repairs []Repair
	if in.looksFor(RepairCell) {
		told := lab.toldTogether()
		repairs = lab.repair(tb)
		suspects = lab.accuseTold(suspects, told, repairs)
	}
	if in.looksFor(Instead) && in.Cells != nil {
		lab.instead(suspects, repairs)
		suspects = lab.meant(suspects, repairs)
	}
	if !in.stopped() {
		suspects = blame(in, tb, suspects, repairs, lab)
		markWhole(in, suspects)
		suspects = followed(in, odd(in, suspects))
		if in.Cells != nil && in.looksFor(Dropped) {
			suspects = lab.dropped(tb, suspects)
		}
		if in.Cells != nil && in.looksFor(Doomed) {
			suspects = storedAgain(in, doomed(in, suspects), repairs)
		}
		if in.Cells != nil && in.looksFor(Stale) {
			suspects = stale(in, suspects)
		}
		if in.Cells != nil && in.looksFor(Lost) {
			suspects = lost(in, tb, suspects)
		}
		if in.Cells != nil {
			carried(in, suspects) // from what those have found
		}
	}
	lab.unasked(suspects)
	if !in.stopped() {
		suspects = decided(in, suspects)
	}
	suspects, others := rank(suspects)
	return Result{
		Suspects: suspects, Others: others, Repairs: repairs, Remaining: tb.remaining,
		Unseen: unseen, Examined: tb.examined, Trials: lab.trials, Exhausted: lab.exhausted(),
		Seeds: tb.seeds, Of: len(in.Found), Bounded: tb.bounded, Stopped: in.stopped(),
	}
}
