package blocklist

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"shunt/api/admin"
	"shunt/engine"
)

const (
	// interval is the time between two checks of the block list's file. A million hosts
	// take 0.3 s to read, so a new host is blocked within two seconds.
	interval = time.Second

	// settles is how long after a change the file is read again whatever its stat reports:
	// a second change within one tick of the file system's clock shows only in the content.
	settles = 2 * time.Second

	// maxBytes is 32 bytes for each of engine.MaxBlocked.
	maxBytes = 32 * engine.MaxBlocked

	// maxLineWarnings bounds the log lines about one version of the file.
	maxLineWarnings = 20
)

// A File is a block list in a file that is read again when it changes.
type File struct {
	List engine.BlockList
	path string
	log  *slog.Logger

	mu      sync.Mutex        // held while the file is read
	stat    os.FileInfo       // when content was read
	readAt  time.Time         // when content was read
	content [sha256.Size]byte // the hash of the text that list was made from
	warned  map[string]bool   // skipped lines of that content
	failing bool              // the last check failed, and that was logged

	shown atomic.Pointer[admin.Blocks] // for metrics; replaced, never changed
}

// Figures returns the state of the list. Any number of goroutines may call it at once.
func (f *File) Figures() admin.Blocks { return *f.shown.Load() }

// show publishes the state of the list.
func (f *File) show(loadedAt time.Time, took time.Duration) {
	f.shown.Store(&admin.Blocks{Entries: f.List.Len(), LoadedAt: loadedAt, Took: took, Failing: f.failing})
}

// Prepare reads the file, and returns a function that puts in force what the file has then. If it
// returns an error, nothing has changed.
func (f *File) Prepare() (commit func(), err error) {
	if _, err := statRegular(f.path); err != nil {
		return nil, err
	}
	text, err := readUpTo(f.path, maxBytes)
	if err != nil {
		return nil, err
	}
	if _, err := new(engine.BlockList).Replace(text); err != nil {
		return nil, fmt.Errorf("%s: %w", f.path, err)
	}
	return f.look, nil
}

// Open reads the list at path.
func Open(path string, log *slog.Logger) (*File, error) {
	f := &File{path: path, log: log}
	if err := f.update(); err != nil {
		return nil, err
	}
	return f, nil
}

// Run keeps the list up to date with the file until ctx ends. If the file cannot be read, the list
// stays as it was.
func (f *File) Run(ctx context.Context) error {
	ticker := time.NewTicker(interval)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-ticker.C:
			f.look()
		}
	}
}

// look checks the file once.
func (f *File) look() {
	f.mu.Lock()
	defer f.mu.Unlock()
	err := f.update()
	switch {
	case err != nil && !f.failing:
		f.log.Error("cannot read the block list; the last one stays in force", slog.Any("cause", err), slog.Int("entries", f.List.Len()))
	case err == nil && f.failing:
		f.log.Info("the block list can be read again", slog.Int("entries", f.List.Len()))
	}
	if f.failing != (err != nil) {
		f.failing = err != nil
		was := f.Figures()
		f.show(was.LoadedAt, was.Took)
	}
}

// update reads the file if it may have changed since it was last read. mu must be held.
func (f *File) update() error {
	stat, err := statRegular(f.path)
	if err != nil {
		return err
	}
	if f.stat != nil && f.unchanged(stat) {
		return nil
	}
	now := time.Now()
	text, err := readUpTo(f.path, maxBytes)
	if err != nil {
		return err
	}
	if content := sha256.Sum256(text); f.stat == nil || content != f.content {
		if err := f.replace(text); err != nil {
			return err
		}
		f.content = content
		f.show(now, time.Since(now))
	}
	f.stat, f.readAt = stat, now
	return nil
}

// statRegular returns the stat of a regular file; opening a pipe would wait for its writer.
func statRegular(path string) (os.FileInfo, error) {
	stat, err := os.Stat(path)
	if err == nil && !stat.Mode().IsRegular() {
		err = fmt.Errorf("%s is not a regular file", path)
	}
	return stat, err
}

// unchanged reports whether the file is certainly the same as when it was last read.
func (f *File) unchanged(stat os.FileInfo) bool {
	return os.SameFile(f.stat, stat) && f.stat.Size() == stat.Size() && f.stat.ModTime().Equal(stat.ModTime()) &&
		f.readAt.Sub(stat.ModTime()) > settles
}

func (f *File) replace(text []byte) error {
	was := f.List.Len()
	skipped, err := f.List.Replace(text)
	if err != nil {
		return fmt.Errorf("%s: %w", f.path, err)
	}
	f.warn(text, skipped)
	switch {
	case f.stat == nil:
	case was > 0 && f.List.Len() == 0: // somebody may want that, but a script that fails empties a file, too
		f.log.Warn("the block list is empty now, so nothing is blocked", slog.String("file", f.path), slog.Int("entries_before", was))
	default:
		f.log.Info("the block list has changed", slog.Int("entries", f.List.Len()))
	}
	return nil
}

// warn logs the lines that were skipped. A line that keeps its place and text is logged only once.
func (f *File) warn(text []byte, skipped []engine.LineError) {
	warned := make(map[string]bool)
	number, unnamed := 0, 0
	for _, e := range skipped {
		var line []byte
		for ; number < e.Line; number++ {
			line, text, _ = bytes.Cut(text, []byte{'\n'})
		}
		if len(warned) == maxLineWarnings {
			unnamed++
			continue
		}
		key := fmt.Sprintf("%d %x", e.Line, sha256.Sum256(line))
		if warned[key] = true; !f.warned[key] {
			f.log.Warn("a line of the block list is skipped", slog.String("file", f.path), slog.Int("line", e.Line),
				slog.String("cause", e.Reason))
		}
	}
	if unnamed > 0 {
		f.log.Warn("more lines of the block list are skipped", slog.String("file", f.path), slog.Int("lines", unnamed))
	}
	f.warned = warned
}

// readUpTo reads a file of at most limit bytes.
func readUpTo(path string, limit int64) (text []byte, err error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	if text, err = io.ReadAll(io.LimitReader(file, limit+1)); err != nil {
		return nil, err
	}
	if int64(len(text)) > limit {
		return nil, fmt.Errorf("%s has more than %d bytes", path, limit)
	}
	return text, nil
}
