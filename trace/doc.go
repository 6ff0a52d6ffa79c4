// Package trace defines the events of a recorded run, the tables that describe it, and the file format.
package trace
