package probe

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// errAllocForm says how --alloc is written; ADDR=ROLE gives the behaviour of a
// standard allocator to a function without a name.
var errAllocForm = errors.New("write NAME(size=N), NAME(size=N, count=M), NAME(size=N, old=M), NAME(bytes=N) or 0xADDR=malloc (calloc, realloc, free)")

// ParseAllocator parses an allocator as the user writes it: "pool_get(size=2)",
// "0x401136=malloc", "obstack_get". Without a size the first argument is it.
func ParseAllocator(s string) (Allocator, error) {
	name, params, err := splitCall(s)
	if err != nil {
		return Allocator{}, err
	}
	a := Allocator{Func: name}
	if fn, like, ok := strings.Cut(name, "="); ok {
		if params != "" {
			return a, errAllocForm
		}
		return allocatorLike(fn, like)
	}
	if params == "" {
		a.Size = 1
		return a, nil
	}
	for _, p := range strings.Split(params, ",") {
		key, value, ok := strings.Cut(strings.TrimSpace(p), "=")
		n, err := strconv.ParseUint(strings.TrimSpace(value), 0, 31)
		if !ok || err != nil {
			return a, errAllocForm
		}
		switch strings.TrimSpace(key) {
		case "size":
			a.Size = int(n)
		case "count":
			a.Count = int(n)
		case "bytes", "fixed": // as in a specification; as it was called here once
			a.Fixed = n
		case "old":
			a.Old = int(n)
		default:
			return a, errAllocForm
		}
	}
	if a.Size > 6 || a.Count > 6 || a.Old > 6 || a.Size == 0 && (a.Fixed == 0 || a.Old > 0) {
		return a, errors.New("arguments count from 1 to 6")
	}
	return a, nil
}

// allocatorLike is ADDR=malloc and its kin, for programs without symbols.
func allocatorLike(fn, like string) (Allocator, error) {
	switch like {
	case "malloc", "calloc", "realloc", "free", "reallocarray", "aligned_alloc", "memalign", "posix_memalign", "valloc":
		return Allocator{Func: fn, Like: like}, nil
	}
	return Allocator{}, fmt.Errorf("there is no standard allocator %q", like)
}

// ParseFree parses "pool_put(1)" or "0x401200": what frees, and which argument.
func ParseFree(s string) (Allocator, error) {
	name, params, err := splitCall(s)
	if err != nil {
		return Allocator{}, err
	}
	a := Allocator{Free: name, FreeArg: 1}
	if params != "" {
		n, err := strconv.Atoi(strings.TrimSpace(params))
		if err != nil || n < 1 || n > 6 {
			return a, errors.New("write NAME(N), the N-th argument, from 1 to 6")
		}
		a.FreeArg = n
	}
	return a, nil
}

// splitCall takes "name(params)" apart.
func splitCall(s string) (name, params string, err error) {
	name, params, ok := strings.Cut(strings.TrimSpace(s), "(")
	if ok {
		if !strings.HasSuffix(params, ")") {
			return "", "", errAllocForm
		}
		params = strings.TrimSuffix(params, ")")
	}
	if name = strings.TrimSpace(name); name == "" {
		return "", "", errAllocForm
	}
	return name, params, nil
}
