package bpf

// BPF2GO_CC and BPF2GO_STRIP name the compiler and the strip tool where they
// are not called clang and llvm-strip (Debian: clang-14, llvm-strip-14).
//go:generate go run github.com/cilium/ebpf/cmd/bpf2go -target amd64 -no-global-types programs kernel/mgtrace.bpf.c -- -O2 -g -mcpu=v3 -Wall -Werror -I/usr/include/x86_64-linux-gnu
