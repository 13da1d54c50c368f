package visitor

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"sync"
	"sync/atomic"
	"time"
)

const (
	// countryInterval is the time between two looks at the file. Vendors publish a new one once a day at
	// most, and each look wakes a machine that has nothing else to do.
	countryInterval = time.Minute

	// countrySettles is how long after a change the file is read again whatever its stat reports: a second
	// change within one tick of the file system's clock shows only in the content.
	countrySettles = 2 * time.Second
)

// A CountryFile keeps Countries as its file says, which is read again when it changes. No request fails
// because its country is unknown, so a file that is missing, empty or damaged is a warning: no country is known
// until it can be read, or, if it could be read before, what it said then stays in force.
type CountryFile struct {
	Countries Countries // any number of goroutines may ask it

	path string
	log  *slog.Logger

	mu      sync.Mutex  // held while the file is read
	stat    os.FileInfo // when the file was last read, good or bad; nil: it was not there
	readAt  time.Time   // when the file was last read
	failure string      // of the last look, which was logged; empty: there was none

	shown atomic.Pointer[CountryFileState] // replaced, never changed
}

// CountryFileState is the state of a CountryFile.
type CountryFileState struct {
	LoadedAt time.Time // when what is in force was read; zero: no country is known
	Failing  bool      // the file cannot be read
}

// OpenCountryFile reads the file at path. If it cannot, the log says so.
func OpenCountryFile(path string, log *slog.Logger) *CountryFile {
	f := &CountryFile{path: path, log: log}
	f.shown.Store(new(CountryFileState))
	f.look(true)
	return f
}

// State returns the state of the file. Any number of goroutines may call it at once.
func (f *CountryFile) State() CountryFileState { return *f.shown.Load() }

// Run keeps the countries up to date with the file until ctx ends.
func (f *CountryFile) Run(ctx context.Context) error {
	ticker := time.NewTicker(countryInterval)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-ticker.C:
			f.look(false)
		}
	}
}

// Prepare returns a function that reads the file, changed or not, and logs what is wrong with it. It
// never fails: a file without which everything works is no reason to refuse other settings.
func (f *CountryFile) Prepare() (commit func(), err error) { return func() { f.look(true) }, nil }

// look reads the file if it may have changed, or if asked.
func (f *CountryFile) look(asked bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	stat, err := statRegular(f.path)
	if err == nil && !asked && f.unchanged(stat) {
		return
	}
	state := f.State()
	var table *countryTable
	if f.stat = stat; err == nil {
		f.readAt = time.Now()
		table, err = readTable(f.path)
	}
	if err == nil {
		state.LoadedAt = f.readAt
	}
	state.Failing = err != nil
	f.say(err, asked, table)
	if table != nil {
		f.Countries.now.Store(table)
	}
	f.shown.Store(&state)
}

// unchanged reports whether the file is certainly the same as when it was last read.
func (f *CountryFile) unchanged(stat os.FileInfo) bool {
	return f.stat != nil && os.SameFile(f.stat, stat) && f.stat.Size() == stat.Size() && f.stat.ModTime().Equal(stat.ModTime()) &&
		f.readAt.Sub(stat.ModTime()).Abs() > countrySettles
}

// say logs what became of a look: a failure once, unless somebody has asked for the look, and a table
// that differs from the one in force. mu must be held.
func (f *CountryFile) say(err error, asked bool, table *countryTable) {
	was, known := f.failure, f.Countries.now.Load()
	switch {
	case err == nil:
		if f.failure = ""; was != "" || known != nil && !table.equal(known) {
			f.log.Info("the file of countries has been read again", slog.String("file", f.path))
		}
		return
	case err.Error() == was && !asked:
	case known == nil:
		f.log.Warn("cannot read the file of countries (--geoip); no country is known until it can be read", slog.Any("cause", err))
	default:
		f.log.Warn("cannot read the file of countries (--geoip); the last one stays in force", slog.Any("cause", err))
	}
	f.failure = err.Error()
}

// statRegular returns the stat of a regular file; opening a pipe would wait for its writer.
func statRegular(path string) (os.FileInfo, error) {
	stat, err := os.Stat(path)
	if err == nil && !stat.Mode().IsRegular() {
		err = fmt.Errorf("%s is not a regular file", path)
	}
	if err != nil {
		return nil, err
	}
	return stat, nil
}
