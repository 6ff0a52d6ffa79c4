package inline

// Detach takes everything out of the process, which must be held, and ends the
// recording: Run returns when what was recorded is with its sink. Close is still
// to be called then, and before that Sync, or what threads wrote last is missing.
// On an error the process stays patched and traced: it must not be let go.
func (e *Engine) Detach() error {
	if _, ended := e.proc.Status(); ended || e.removed {
		return nil
	}
	if err := e.remove(); err != nil {
		return err
	}
	e.removed = true
	e.streams.Lock()
	e.over = true
	e.streams.Unlock()
	e.awake()
	return nil
}
