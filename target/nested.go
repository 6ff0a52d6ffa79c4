package target

import "errors"

// Hold stops all threads until release is called. Unlike Interrupt and Resume
// it nests, and leaves a process held that was. With ErrBusy one of them
// could not be stopped; release is to be called all the same.
func (p *Process) Hold() (release func() error, err error) {
	e := p.do(func() {
		if p.t.status != nil {
			err = ErrExited
			return
		}
		p.t.holds++
		err = p.t.stopAll()
	})
	if err = errors.Join(e, err); err != nil && !errors.Is(err, ErrBusy) {
		return func() error { return nil }, err
	}
	return func() error {
		return p.do(func() {
			if p.t.holds == 0 {
				return // killed or detached meanwhile
			}
			if p.t.holds--; !p.t.holding() {
				p.t.release()
			}
		})
	}, err
}
