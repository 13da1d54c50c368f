package engine

import "io"

// DrawFrom lets codes be drawn from r.
func (e *Engine) DrawFrom(r io.Reader) { e.random = r }

// Abandon leaves the engine as a killed process would: nothing is folded or flushed, and the journal's files hold what
// was recorded.
func (e *Engine) Abandon() error { return e.journal.close() }
