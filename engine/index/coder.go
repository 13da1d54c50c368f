package index

import (
	"slices"
	"sync"
	"sync/atomic"

	"shunt/engine/internal/limits"
	"shunt/engine/internal/symbols"
)

const (
	// recentBytes is how many bytes of targets a shard puts before it compares how they were coded.
	recentBytes = 64 << 10

	maxCodedBytes = limits.MaxTargetBytes + symbols.MaxGrowthBytes
)

// maxRecodedBytes is up to which size an arena is replaced by one with another table of symbols. That
// takes some 0.6 µs a link with the shard locked, six times as long as a copy, and the size bounds it to
// some 60 ms. The first training takes less than a tenth of a second, in which links that are loaded fill
// less than this. A larger shard keeps its table until the next start. It is a variable for tests.
var maxRecodedBytes uint64 = 4 << 20

// coder has the table of symbols that new arenas code their targets by, and trains it: on the first
// targets that are put, and again when recent ones code much worse. Training runs in a goroutine of its
// own, one at a time, and ends by itself. An arena keeps the table that it began with.
type coder struct {
	table    atomic.Pointer[symbols.Table] // nil: plain, until the first training ends
	sampling atomic.Bool                   // targets are being collected; changed with mu held

	mu struct {
		sync.Mutex
		samples  [][]byte
		training bool
	}
}

// see takes target as a sample, if samples are wanted.
func (c *coder) see(target []byte) {
	if len(target) > 0 && c.sampling.Load() {
		c.sample(target)
	}
}

func (c *coder) sample(target []byte) {
	const maxSampleBytes = 1 << 10 // training takes no more of each
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.sampling.Load() {
		return
	}
	c.mu.samples = append(c.mu.samples, slices.Clone(target[:min(len(target), maxSampleBytes)]))
	if len(c.mu.samples) == symbols.MaxSamples {
		c.sampling.Store(false)
		c.mu.training = true
		go c.train(c.mu.samples)
		c.mu.samples = nil
	}
}

func (c *coder) train(samples [][]byte) {
	c.table.Store(symbols.Train(samples))
	c.mu.Lock()
	defer c.mu.Unlock()
	c.mu.training = false
}

// sampleAgain begins to collect samples, unless that or a training is under way.
func (c *coder) sampleAgain() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.mu.training {
		c.sampling.Store(true)
	}
}

// recent sums up the targets that a shard has put lately. The shard's mutex guards it.
type recent struct{ plainBytes, codedBytes uint64 }

// count counts a target that was put into arena a. It asks for another table when recent
// targets code much worse by the newest one than its samples did.
func (c *coder) count(r *recent, a *arena, plainBytes, codedBytes int) {
	if a.symbols == nil || a.symbols != c.table.Load() {
		*r = recent{}
		return
	}
	r.plainBytes += uint64(plainBytes)
	r.codedBytes += uint64(codedBytes)
	if r.plainBytes < recentBytes {
		return
	}
	if a.symbols.Stale(r.plainBytes, r.codedBytes) {
		c.sampleAgain()
	}
	*r = recent{}
}

// coded returns target as an arena with this table keeps it: in room if it fits, or target itself if
// there is no table.
func coded(room []byte, table *symbols.Table, target []byte) []byte {
	if table == nil {
		return target
	}
	return table.Append(room[:0], target)
}

// appendPlain appends to dst the target that arena a keeps as kept.
func (a *arena) appendPlain(dst, kept []byte) []byte {
	if a.symbols == nil {
		return append(dst, kept...)
	}
	return a.symbols.AppendPlain(dst, kept)
}
