package console

import (
	"fmt"
	"io"
	"os"
	"sync"
	"time"

	"github.com/mattn/go-isatty"
)

// A Progress shows how a long command goes: to a person one line that changes, else a line now and then.
type Progress struct {
	w      io.Writer
	person bool

	mu    sync.Mutex
	shown time.Time
	drawn int // bytes of the unfinished line on the terminal
}

// progressDelay is after which time there is something to tell at all.
const progressDelay = time.Second

// NewProgress returns a progress on w.
func NewProgress(w io.Writer) *Progress {
	f, ok := w.(*os.File)
	return &Progress{w: w, person: ok && isatty.IsTerminal(f.Fd()), shown: time.Now()}
}

// Say may be called from any goroutine, and as often as one likes.
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
