// Package translate turns straight-line code into code that does the same and
// records what it executed and which addresses it touched.
//
//	c, err := translate.Translate(pc, code, id, addr, env)
//	// c.Bytes go to addr; c.Exits are its jumps to other blocks, c.Traps its stops
//	m, ok := c.Where(off)         // what holds at an instruction of the translation
//	ranges := c.Ranges(nil, rec, len(c.Insts), fsBase)   // what a record says
//
// It knows neither processes nor files: package translate/engine runs translations.
package translate
