package console

import (
	"fmt"
	"io"
	"log/slog"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/mattn/go-isatty"

	"shunt/engine/plural"
)

// A Console writes to standard error what a server is doing: a few lines for a person at a
// terminal, log lines otherwise. Standard output stays free for results.
type Console struct {
	Log    *slog.Logger
	w      io.Writer
	level  slog.LevelVar // of Log
	person bool          // somebody reads along

	progress struct {
		sync.Mutex // progress comes from several goroutines
		shown      time.Time
		drawn      bool // there is an unfinished line on the terminal
	}
}

// New returns a console on w. format is text or json; only text to a terminal is for a person.
func New(w io.Writer, format string, level slog.Level) *Console {
	c := &Console{w: w}
	c.level.Set(level)
	options := &slog.HandlerOptions{Level: &c.level, ReplaceAttr: forPeople}
	c.Log = slog.New(slog.NewTextHandler(w, options))
	if format == "json" {
		c.Log = slog.New(slog.NewJSONHandler(w, options))
		return c
	}
	f, ok := w.(*os.File)
	c.person = ok && isatty.IsTerminal(f.Fd())
	return c
}

// forPeople writes a duration as 1.2s in every format; in JSON it would be a number of nanoseconds.
// It writes an error as commands print it; with text's %+v, errors of Pebble would be stack traces.
func forPeople(_ []string, a slog.Attr) slog.Attr {
	switch v := a.Value.Any().(type) {
	case time.Duration:
		a.Value = slog.StringValue(v.String())
	case error:
		a.Value = slog.StringValue(PlainText(v))
	}
	return a
}

// Addresses are where a server can be reached.
type Addresses struct {
	Version                      string // of the program
	BaseURL, Public, Admin, Data string
}

// Listening says where the server can be reached; created: that the data folder is new.
func (c *Console) Listening(a Addresses, created bool) {
	if !c.person {
		c.Log.Info("listening", "base_url", a.BaseURL, "public", a.Public, "admin", a.Admin, "data", a.Data, "new", created)
		return
	}
	folder := a.Data
	if created {
		folder += " (new)"
	}
	fmt.Fprintf(c.w, "shunt %s\n\n", a.Version)
	fmt.Fprintf(c.w, "  short links and API  %s\n", a.BaseURL)
	if a.Public != a.BaseURL {
		fmt.Fprintf(c.w, "  listening on         %s\n", a.Public)
	}
	fmt.Fprintf(c.w, "  health and metrics   %s\n", a.Admin)
	fmt.Fprintf(c.w, "  data                 %s\n\n", folder)
}

// SetLevel changes the least level of what is logged.
func (c *Console) SetLevel(level slog.Level) { c.level.Set(level) }

// Person reports whether a person reads along at a terminal.
func (c *Console) Person() bool { return c.person }

// Deserted reports whether a person read along at a terminal that has been closed.
func (c *Console) Deserted() bool {
	return c.person && !isatty.IsTerminal(c.w.(*os.File).Fd()) // the ioctl of one that is closed fails with EIO
}

// Open shows a person the address to open next. It may hold a secret, so it is not logged: call it
// only if Person.
func (c *Console) Open(address string) { fmt.Fprintf(c.w, "open %s\n\n", address) }

// Next shows the command to run next. address is where the server is found meanwhile; it is not secret, and a log
// has it, because whoever reads that may not know.
func (c *Console) Next(why, address string, command ...string) {
	for i, word := range command {
		command[i] = Quote(word)
	}
	line := strings.Join(command, " ")
	if !c.person {
		c.Log.Info(why, "run", line, "address", address)
		return
	}
	fmt.Fprintf(c.w, "%s. In another terminal, run:\n\n  %s\n\n", why, line)
}

const (
	personProgressInterval = 200 * time.Millisecond
	logProgressInterval    = 5 * time.Second
)

// Loading shows how many links are loaded; any goroutine may call it, as often as needed.
func (c *Console) Loading(start time.Time, loaded uint64) {
	p := &c.progress
	p.Lock()
	defer p.Unlock()
	interval := logProgressInterval
	if c.person {
		interval = personProgressInterval
	}
	if p.shown.IsZero() {
		p.shown = start
	}
	if time.Since(p.shown) < interval {
		return
	}
	p.shown = time.Now()
	if !c.person {
		c.Log.Info("loading", "links", loaded)
		return
	}
	p.drawn = true
	fmt.Fprintf(c.w, "\rloading links: %d", loaded)
}

// Loaded ends the progress line.
func (c *Console) Loaded(links uint64, took time.Duration) {
	took = took.Round(time.Millisecond)
	if !c.person {
		c.Log.Info("loaded", "links", links, "took", took)
	} else if c.progress.drawn {
		fmt.Fprintf(c.w, "\rloading links: %d in %v\n", links, took)
	}
}

// Ready says that all links are loaded.
func (c *Console) Ready(links uint64) {
	if !c.person {
		c.Log.Info("ready")
		return
	}
	fmt.Fprintf(c.w, "Ready: %s. Ctrl-C stops.\n", plural.Of(links, "link", "links"))
}

// Draining says that the server finishes open requests and then stops.
func (c *Console) Draining() {
	if !c.person {
		c.Log.Info("draining; a second signal stops at once")
		return
	}
	fmt.Fprintln(c.w, "\nFinishing open requests; press Ctrl-C again to stop at once.")
}

// Stopped says that the server has stopped and everything is on disk.
func (c *Console) Stopped() {
	if !c.person {
		c.Log.Info("stopped")
		return
	}
	fmt.Fprintln(c.w, "Stopped; everything is on disk.")
}
