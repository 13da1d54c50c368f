package crashtest

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"sync"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"
)

// crash is a crash and the files that it left.
type crash struct {
	kill bool // else a power cut
	kept int  // percent of the data that was not synced
	moments
	stale map[string][]byte // the journal's files some time before a power cut; nil: as if never written
	mixed bool              // each page of the journal is from then or from the crash
	rng   *rand.Rand

	opening bool // it came while the files of an earlier crash were being opened

	fs      *vfs.MemFS
	journal string // folder
}

// moments are the two moments between which a crash came.
type moments struct {
	began, ended int64 // by the ledger's clock
	from, to     map[*hits]figures
	atRisk       uint64 // hits that a kill loses, whenever the disk of the journal is slow
}

func (c *crash) String() string {
	switch {
	case c.opening && c.kill:
		return "kill while opening"
	case c.opening:
		return "power cut while opening"
	case c.kill:
		return "kill"
	case c.stale == nil:
		return fmt.Sprintf("power cut, %2d %% kept, no journal", c.kept)
	case c.mixed:
		return fmt.Sprintf("power cut, %2d %% kept, journal partly old", c.kept)
	}
	return fmt.Sprintf("power cut, %2d %% kept, journal old", c.kept)
}

// plan draws the next crash.
func (h *history) plan(journal string) *crash {
	c := &crash{journal: h.newFolder(), rng: rand.New(rand.NewPCG(h.rng.Uint64(), 1))}
	if c.kill = h.rng.IntN(3) == 0 && mapped; c.kill {
		c.kept = 100
		return c
	}
	c.kept = []int{0, 10, 50}[h.rng.IntN(3)]
	if h.rng.IntN(3) > 0 {
		c.stale = files(journal)
		c.mixed = h.rng.IntN(2) == 0
	}
	return c
}

// take is the crash: it copies the files. The journal is copied first, so that hits recorded while
// the file system is cloned came after the crash, and hits flushed meanwhile are not counted twice.
func (c *crash) take(fs *vfs.MemFS, journal string) {
	kept := c.stale
	if c.kill || c.mixed {
		kept = files(journal)
		for name, data := range c.stale {
			c.mix(kept[name], data)
		}
	}
	c.fs = fs.CrashClone(vfs.CrashCloneCfg{UnsyncedDataPercent: c.kept, RNG: c.rng})
	if err := writeFiles(c.journal, kept); err != nil {
		panic(err)
	}
}

// of makes c a crash that came while the files of earlier were being opened: nothing was
// acknowledged between the two.
func (c *crash) of(earlier *crash) {
	c.opening, c.moments = true, earlier.moments
	if c.kill && !earlier.kill { // the journal held only what the power cut had left
		c.kill, c.stale = false, map[string][]byte{}
	}
}

// mix copies old pages over some pages of a file.
func (c *crash) mix(file, old []byte) {
	const page = 4096
	for at := 0; at < min(len(file), len(old)); at += page {
		if c.rng.IntN(2) == 0 {
			copy(file[at:min(at+page, len(file))], old[at:])
		}
	}
}

// files reads a folder; it leaves out files that disappear meanwhile.
func files(dir string) map[string][]byte {
	found := map[string][]byte{}
	entries, _ := os.ReadDir(dir)
	for _, entry := range entries {
		if data, err := os.ReadFile(filepath.Join(dir, entry.Name())); err == nil {
			found[entry.Name()] = data
		}
	}
	return found
}

func writeFiles(dir string, files map[string][]byte) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	for name, data := range files {
		if err := os.WriteFile(filepath.Join(dir, name), data, 0o600); err != nil {
			return err
		}
	}
	return nil
}

// trap springs before the n-th writing operation of a file system.
type trap struct {
	mu     sync.Mutex
	left   int // 0: not set
	spring func()
	sprung chan struct{}
}

// before implements errorfs.Injector. It injects no error.
func (p *trap) before(op errorfs.Op) error {
	if op.Kind.ReadOrWrite() != errorfs.OpIsWrite {
		return nil
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.left == 0 {
		return nil
	}
	if p.left--; p.left == 0 {
		p.spring()
		close(p.sprung)
	}
	return nil
}

func (p *trap) set(n int, spring func()) (sprung <-chan struct{}) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.left, p.spring, p.sprung = n, spring, make(chan struct{})
	return p.sprung
}

// disarm disarms the trap. It reports whether the trap was still set, that is, had not sprung.
func (p *trap) disarm() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	set := p.left > 0
	p.left = 0
	return set
}
