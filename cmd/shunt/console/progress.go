package console

import (
	"fmt"
	"io"
	"os"
	"sync"
	"time"

	"github.com/mattn/go-isatty"
)

// A Progress shows the progress of a long command: one changing line for a person, otherwise a line
// now and then.
type Progress struct {
	w      io.Writer
	person bool

	mu    sync.Mutex
	shown time.Time
	drawn int // bytes of the unfinished line on the terminal
}

// progressDelay is how long a command runs before progress is shown.
const progressDelay = time.Second

// NewProgress returns a progress on w.
func NewProgress(w io.Writer) *Progress {
	f, ok := w.(*os.File)
	return &Progress{w: w, person: ok && isatty.IsTerminal(f.Fd()), shown: time.Now()}
}

// Person reports whether a person reads along at a terminal.
func (p *Progress) Person() bool { return p.person }

// Say shows text, at most once in a while. Any goroutine may call it, as often as needed.
func (p *Progress) Say(text string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	interval := logProgressInterval
	if p.person {
		interval = progressDelay
	}
	if text == "" || time.Since(p.shown) < interval {
		return
	}
	p.shown = time.Now()
	if !p.person {
		fmt.Fprintf(p.w, "shunt: %s\n", text)
		return
	}
	fmt.Fprintf(p.w, "\r%-*s", p.drawn, text)
	p.drawn = len(text)
}

// End clears the line.
func (p *Progress) End() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.drawn > 0 {
		fmt.Fprintf(p.w, "\r%*s\r", p.drawn, "")
		p.drawn = 0
	}
}
