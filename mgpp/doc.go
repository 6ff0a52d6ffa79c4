// Package mgpp keeps the whole history of a program's heap as one memory graph.
package mgpp
