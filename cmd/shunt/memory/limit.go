package memory

import (
	"context"
	"io/fs"
	"log/slog"
	"math"
	"os"
	"runtime/debug"
	"runtime/metrics"
	"sync/atomic"
	"time"
)

const (
	// By default a server takes 85 % of the memory that it may use. The rest is for the kernel's
	// buffers of connections and files, which count in a control group, and for what grows between
	// two looks.
	limitPercent = 85

	// limitInterval: an import on two cores takes 100 MB/s, so 20 MB come between two looks. A look
	// takes some 20 µs.
	limitInterval = 200 * time.Millisecond

	// While the memory stays the same within sameBytes, each pause between two looks is twice as long as the
	// one before, up to restInterval, or nearRestInterval if less than an eighth of the limit is free. A
	// write that asks whether memory is full ends it.
	restInterval     = 30 * time.Second
	nearRestInterval = time.Second
	sameBytes        = 4 << 20

	// Go's own limit is lower than ours by a sixteenth, so that the collector runs before garbage
	// makes the server refuse links. A server that was full is so until a 32nd is free again.
	collectShare = 16
	roomShare    = 32

	// Go may allocate an eighth of the limit between two collections, or this much if that is less,
	// however little room there is. With less the collector would never rest.
	goHeadroom      = 32 << 20
	goHeadroomShare = 8

	// freeInterval bounds how often a server that is full collects all garbage. Nothing else would
	// make room if it is refusing all that allocates.
	freeInterval = 10 * time.Second

	// sayInterval bounds how often the log says that the limit is reached.
	sayInterval = time.Minute
)

// LimitBytes returns the limit that a process has by default; 0, that is none, if nothing is known
// about the memory of the machine.
//
// It does not depend on GOMEMLIMIT, which counts Go's memory and not what the engine maps.
func LimitBytes(root fs.FS) uint64 {
	usable := physical(root)
	if usable >= math.MaxInt64 {
		return 0
	}
	return usable / 100 * limitPercent
}

// Usage is the memory of the process in bytes: what nobody can take from it but the OOM killer. It
// lacks mapped files on disk, such as the journal and the program, because the kernel can write
// those back.
type Usage struct {
	Go     uint64 // Go's heap, with the store's memtables and block cache, its stacks and its own needs
	Mapped uint64 // mapped outside Go's heap: the index, links, counters
	Shared uint64 // files in memory: a journal on a tmpfs, as far as it was touched
}

// Total returns the sum of the parts.
func (u Usage) Total() uint64 { return u.Go + u.Mapped + u.Shared }

// A Limit watches the memory of the process, and reports when it reaches a number of bytes. It
// cannot keep the process below it: it only says when to take nothing more in, and makes Go collect
// its garbage in time. Full, AskFull and Used may be called by any goroutine.
type Limit struct {
	bytes   uint64 // 0: none
	fixed   bool   // GOMEMLIMIT is set
	links   func() Links
	log     *slog.Logger
	full    atomic.Bool
	rests   atomic.Bool   // the next look may be later than limitInterval
	woken   chan struct{} // it was to come soon
	pause   time.Duration // until the next look
	seen    uint64        // bytes at the last look
	kernel  kernelUsage
	goLimit int64     // as set; 0: not by us
	freed   time.Time // when all garbage was last collected
	said    time.Time // when the log last said that the limit is reached
	fits    bool      // once loaded, the store was below the limit
}

// Links are what the engine has in memory.
type Links struct {
	N           uint64
	MappedBytes uint64 // outside Go's heap
	Loading     bool   // more will come that cannot be refused
}

// NewLimit returns a limit of bytes; 0: there is none.
func NewLimit(bytes uint64, links func() Links, log *slog.Logger) *Limit {
	return &Limit{bytes: bytes, fixed: os.Getenv("GOMEMLIMIT") != "", links: links, log: log, kernel: openKernelUsage(), woken: make(chan struct{}, 1)}
}

// Bytes returns the limit; 0: there is none.
func (l *Limit) Bytes() uint64 { return l.bytes }

// Full reports whether the limit was reached when Run last looked, and no room has been made since.
func (l *Limit) Full() bool { return l.full.Load() }

// AskFull is Full for who is about to take memory: Run looks more often from then on.
func (l *Limit) AskFull() bool {
	if l.rests.Load() && l.rests.Swap(false) {
		select {
		case l.woken <- struct{}{}:
		default:
		}
	}
	return l.Full()
}

// Used returns the memory of the process at present.
func (l *Limit) Used() Usage {
	mapped := l.links().MappedBytes
	anonymous, shared, ok := l.kernel.read()
	if !ok {
		return Usage{Go: goBytes(), Mapped: mapped}
	}
	// Go's own count has pages that were not touched yet: most of a new memtable.
	mapped = min(mapped, anonymous)
	return Usage{Go: anonymous - mapped, Mapped: mapped, Shared: shared}
}

// Run watches the memory until ctx is done, and leaves Go's limit as it was. It closes l's file.
func (l *Limit) Run(ctx context.Context) error {
	defer l.kernel.close()
	if l.bytes == 0 {
		<-ctx.Done()
		return nil
	}
	defer l.collect(math.MaxInt64)
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-l.woken:
			l.pause = 0
		case <-timer.C:
		}
		used := l.Used()
		l.look(time.Now(), used)
		timer.Reset(l.nextPause(used.Total()))
	}
}

// nextPause returns the time until the next look. used is the number of bytes that this one found.
func (l *Limit) nextPause(used uint64) time.Duration {
	longest := restInterval
	if used+l.bytes/8 >= l.bytes {
		longest = nearRestInterval
	}
	same := max(used, l.seen)-min(used, l.seen) < sameBytes && !l.links().Loading
	if l.seen = used; same {
		l.pause = min(max(2*l.pause, limitInterval), longest)
	} else {
		l.pause = limitInterval
	}
	l.rests.Store(l.pause > limitInterval)
	return l.pause
}

func (l *Limit) look(now time.Time, u Usage) {
	l.collect(goLimitFor(l.bytes, u, liveHeap()))
	if l.reached(u) && now.Sub(l.freed) >= freeInterval {
		l.freed = now
		debug.FreeOSMemory()
		u = l.Used()
	}
	full := l.reached(u)
	l.full.Store(full)
	l.fits = l.fits || !full && !l.links().Loading
	if full && now.Sub(l.said) >= sayInterval {
		l.said = now
		l.say(u)
	}
}

// reached reports whether u is too much. It is for a little longer if it was.
func (l *Limit) reached(u Usage) bool {
	if l.full.Load() {
		return u.Total() > l.bytes-l.bytes/roomShare
	}
	return u.Total() >= l.bytes
}

// say logs that the limit is reached.
func (l *Limit) say(u Usage) {
	links := l.links()
	message := "the memory limit is reached: new links are refused until memory is free; give the server more (--memory-limit)"
	if !l.fits {
		message = "the store does not fit in the memory limit: its links are loaded all the same, and new ones are refused; " +
			"give the server more memory, or the system may end it"
	}
	l.log.Warn(message, "limit_bytes", l.bytes, "used_bytes", u.Total(), "links", links.N,
		"go_bytes", u.Go, "mapped_bytes", u.Mapped, "shared_bytes", u.Shared)
}

// goLimitFor returns the limit of Go's memory that leaves room in limit for the rest of u. live is
// what lived on Go's heap at the last collection.
func goLimitFor(limit uint64, u Usage, live uint64) int64 {
	others := u.Mapped + u.Shared + limit/collectShare
	least := live + live/4 + min(limit/goHeadroomShare, goHeadroom)
	return int64(max(limit-min(others, limit), least))
}

// collect sets Go's limit if it differs by a 64th, because that stops the world.
func (l *Limit) collect(bytes int64) {
	if difference := bytes - l.goLimit; l.fixed || max(difference, -difference) < l.goLimit/64 {
		return
	}
	debug.SetMemoryLimit(bytes)
	l.goLimit = bytes
}

// goBytes returns the memory that Go has from the system: what GOMEMLIMIT counts.
func goBytes() uint64 {
	samples := []metrics.Sample{{Name: "/memory/classes/total:bytes"}, {Name: "/memory/classes/heap/released:bytes"}}
	metrics.Read(samples)
	return samples[0].Value.Uint64() - samples[1].Value.Uint64()
}
