package graphviz

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"
	"github.com/tetratelabs/wazero/imports/wasi_snapshot_preview1"
)

//go:embed graphviz.wasm
var module []byte

// A Format is a kind of output.
type Format string

const (
	SVG  Format = "svg"
	JSON Format = "json0" // the layout alone
)

// Draw lays out a graph with Graphviz's dot and returns it in the format. It may be
// called concurrently: each call has a Graphviz of its own.
func Draw(ctx context.Context, dot []byte, format Format) ([]byte, error) {
	c, err := compile()
	if err != nil {
		return nil, fmt.Errorf("start graphviz: %w", err)
	}
	// Anonymous, so that there can be several.
	m, err := c.runtime.InstantiateModule(ctx, c.module, wazero.NewModuleConfig().WithName(""))
	if err != nil {
		return nil, fmt.Errorf("start graphviz: %w", err)
	}
	g := &instance{ctx: ctx, m: m}
	out := g.draw(dot, format)
	if err := errors.Join(g.err, m.Close(ctx)); err != nil {
		return nil, err
	}
	return out, nil
}

// compiled is Graphviz as machine code.
type compiled struct {
	runtime wazero.Runtime
	module  wazero.CompiledModule
}

// compile makes machine code of Graphviz, or takes it from the cache: seconds, or tens
// of milliseconds.
var compile = sync.OnceValues(func() (*compiled, error) {
	ctx := context.Background()
	config := wazero.NewRuntimeConfig()
	if dir, err := cacheDir(); err == nil {
		if cache, err := wazero.NewCompilationCacheWithDir(dir); err == nil {
			config = config.WithCompilationCache(cache)
		}
	}
	r := wazero.NewRuntimeWithConfig(ctx, config)
	if _, err := wasi_snapshot_preview1.Instantiate(ctx, r); err != nil {
		return nil, err
	}
	m, err := r.CompileModule(ctx, module)
	if err != nil {
		return nil, err
	}
	env := r.NewHostModuleBuilder("env")
	for _, f := range m.ImportedFunctions() {
		if from, name, _ := f.Import(); from == "env" {
			env = env.NewFunctionBuilder().WithGoFunction(callback(name), f.ParamTypes(), f.ResultTypes()).Export(name)
		}
	}
	if _, err := env.Instantiate(ctx); err != nil {
		return nil, err
	}
	return &compiled{r, m}, nil
})

// callback stands for a function by which Graphviz would call plug-ins written in Go.
// There are none. A panic in it is an error of the call from which it came.
func callback(name string) api.GoFunction {
	return api.GoFunc(func(context.Context, []uint64) {
		panic("graphviz calls " + name + ", which nothing has registered")
	})
}

// cacheDir is a directory that only this user can write to.
func cacheDir() (string, error) {
	base, err := os.UserCacheDir()
	if err != nil {
		return "", err
	}
	dir := filepath.Join(base, "mgtrace", "graphviz")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", err
	}
	probe, err := os.CreateTemp(dir, "probe")
	if err != nil {
		return "", err
	}
	return dir, errors.Join(probe.Close(), os.Remove(probe.Name()))
}
