// Package doctor tells what this machine, kernel and user can do for a capture,
// what one program allows, and how to get what is missing.
//
//	for _, f := range doctor.Check() {
//		if f.Required && !f.OK && f.Engine == "" {
//			fmt.Println(f.Name+":", f.Detail, "-", f.Fix)
//		}
//	}
//
// It looks and tries, and changes nothing. It does not print.
package doctor
