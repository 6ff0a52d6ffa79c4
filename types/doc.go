// Package types describes the layouts of C and C++ types.
package types
