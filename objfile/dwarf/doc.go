// Package dwarf reads DWARF 2 to 5 debugging information of x86-64 programs:
// entries, line tables, address ranges and location lists.
//
// It exists beside debug/dwarf for what that package does not do: references
// into a supplementary file (dwz), split units from .dwo and .dwp files,
// location lists, and walking a file of a hundred megabytes without an
// allocation per entry. It never panics and never loops on corrupted input:
// every step of every reader consumes input, and what can not be read is absent.
//
//	d := dwarf.New(dwarf.Sections{Info: info, Abbrev: abbrev, Str: str})
//	for _, u := range d.Units() {
//		u.Walk(u.Root(), func(e *dwarf.Entry, depth int) dwarf.Action {
//			fmt.Println(e.Tag, e.String(dwarf.AttrName))
//			return dwarf.Into
//		})
//	}
//
// It does not relocate (object files before linking), does not know other byte
// orders than little-endian, and gives expressions as bytes: what they mean at
// an address is the caller's business.
package dwarf
