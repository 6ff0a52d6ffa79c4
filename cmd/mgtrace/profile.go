package main

import (
	"os"
	"runtime/pprof"

	"github.com/spf13/cobra"
)

// profile is where mgtrace itself spends its processor time, written to a file: what `make profile` gives the compiler.
type profile struct {
	path string // "": nobody asks
	file *os.File
}

// addTo gives a command the flag that asks for it. Users have no need of it.
func (p *profile) addTo(root *cobra.Command) {
	root.PersistentFlags().StringVar(&p.path, "cpuprofile", "", "write where mgtrace spends its processor time to this `file`")
	_ = root.PersistentFlags().MarkHidden("cpuprofile") // which there is
	root.PersistentPreRunE = func(*cobra.Command, []string) error { return p.start() }
}

func (p *profile) start() (err error) {
	if p.path == "" {
		return nil
	}
	if p.file, err = os.Create(p.path); err != nil {
		return err
	}
	return pprof.StartCPUProfile(p.file)
}

func (p *profile) stop() error {
	if p.file == nil {
		return nil
	}
	pprof.StopCPUProfile()
	return p.file.Close()
}
