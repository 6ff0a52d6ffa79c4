# mgtrace: the two commands are `make demo` and `make test`.
GO    ?= go
CLANG ?= clang-14
STRIP ?= llvm-strip-14

.PHONY: all build demo test vet lint generate bench bench-capture bench-mgpp bench-slice bench-locate bench-real bench-spec soak fuzz setup-demo setup-test setup-bench clean

all: build

# Without cgo, which only Go's net package would use: no dynamic linker at each start, and
# one file that runs on any distribution. Vet and the tests do without it too, or most packages
# would be compiled twice.
export CGO_ENABLED = 0

# mgtrace begins at an entry of its own, which notes what Go's runtime hides: target/standard.go.
build:
	$(GO) build -ldflags=-E=mgtrace/target.entry -o mgtrace ./cmd/mgtrace

# What a fresh Debian needs, installed if it is missing.
setup-demo:
	@scripts/setup demo
setup-test:
	@scripts/setup test
setup-bench:
	@scripts/setup bench

demo: setup-demo build
	@scripts/demo

# The tests are not vetted again: vet does, and more of it.
test: setup-test build vet
	$(GO) test -vet=off -timeout 3h -parallel 4 ./...

vet:
	@test -z "$$(gofmt -l $$(git ls-files '*.go'))" || { echo 'not gofmt-ed:'; gofmt -l $$(git ls-files '*.go'); exit 1; }
	$(GO) vet ./...

# Before each commit. On a fresh machine staticcheck alone, which is compiled there and reads
# the whole of every library, takes four minutes of processor time.
lint: vet
	$(GO) tool staticcheck ./...

# Recompiles the eBPF programs; the objects are checked in.
generate: setup-test
	BPF2GO_CC=$(CLANG) BPF2GO_STRIP=$(STRIP) HOOK_CC=$(CLANG) $(GO) generate ./bpf ./inline/hook

# Prints the numbers that the README states.
bench: setup-test build
	$(GO) test -run '^$$' -bench . -benchtime 1s ./trace ./mgpp ./x86 ./constraints/... ./bpf ./inline

# Prints what capture costs real programs, beside other tools: an hour or two.
# BENCHFLAGS='-quick' tries everything; see bench/capture/doc.go.
bench-capture: setup-bench build
	$(GO) run ./bench/capture -mgtrace ./mgtrace $(BENCHFLAGS)

# Breaks programs on purpose and prints how well the faults are located: an hour.
# LOCATEFLAGS='-n 2 -run avl' is a short one; see bench/locate/doc.go.
bench-locate: setup-demo build
	$(GO) run ./bench/locate -mgtrace ./mgtrace $(LOCATEFLAGS)
	$(GO) run ./bench/locate -mgtrace ./mgtrace -healthy

# Finds faults in programs built from Debian's source packages: see docs/design/real.md.
# REALFLAGS='-run tsort -optimise -O0' is a part; see bench/real/doc.go.
bench-real: setup-test build
	$(GO) run ./bench/real -mgtrace ./mgtrace $(REALFLAGS)

# bench-spec measures proposed specifications against hand-written ones.
bench-spec: setup-test
	$(GO) run ./bench/spec $(BENCHFLAGS)

# Prints what questions to a history of a hundred million changes cost, on disk, in
# memory and in time, and the thesis's tables 3.3 and 3.4: half an hour.
# BENCHFLAGS='-changes 1000000 -thesis -' is a short one; see bench/mgpp/doc.go.
bench-mgpp: setup-bench build
	$(GO) run ./bench/mgpp -mgtrace ./mgtrace $(BENCHFLAGS)

# Prints what slices cost, by the thesis's algorithms and by the index: the tables of its
# chapter 5. SLICEFLAGS='-lengths 1 -programs options' is a short one; see
# bench/slice/doc.go.
bench-slice: setup-bench
	$(GO) run ./bench/slice $(SLICEFLAGS)

# Starts and kills mgtrace thousands of times and looks for what is left behind: some
# hours. SOAKFLAGS='-launches 200' is a short one; see bench/soak/doc.go.
soak: setup-demo build
	$(GO) run ./bench/soak -mgtrace ./mgtrace $(SOAKFLAGS)

# Fuzzes every decoder of outside input for a little while each.
FUZZTIME ?= 20s
fuzz:
	@for p in $$($(GO) list ./...); do \
	  for f in $$($(GO) test -list '^Fuzz' $$p | grep '^Fuzz'); do \
	    echo "$$p $$f"; $(GO) test -run '^$$' -fuzz "^$$f$$" -fuzztime $(FUZZTIME) $$p || exit 1; \
	  done; \
	done

clean:
	rm -rf mgtrace out
