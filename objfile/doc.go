// Package objfile reads one ELF file with its debug information.
package objfile
