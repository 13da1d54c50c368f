package e2e

import (
	"crypto/sha256"
	"fmt"
	"io/fs"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/valyala/fasthttp"
	"golang.org/x/sys/unix"

	"shunt/engine/expect"
)

// In these tests the disk is full to the last page, again and again: sometimes for a moment, which
// no watch notices, sometimes for long.
const (
	diskFullVariable = "SHUNTTEST_DISKFULL" // seconds

	fullDiskBytes = 1 << 30
	fullShortly   = 300 * time.Millisecond // at most
	fullLong      = 3 * time.Second
	betweenFull   = time.Second // at most

	// readOnlyLimit is the time within which a server must report that it is read-only, or no longer
	// read-only.
	readOnlyLimit = 10 * time.Second

	// stopLimit is the time within which a server that cannot write any more must end.
	stopLimit = 30 * time.Second
)

func TestAFullDiskCostsNoRedirectAndNoAcknowledgedLink(t *testing.T) {
	lasts := secondsOf(t, diskFullVariable)
	t.Parallel() // with the other test, which mostly waits
	disk := newMounts(t).tmpfs(fullDiskBytes)
	l := newSickLoad(t, filepath.Join(disk.dir, "data"))
	l.paths = strings.Repeat("a/", 1000) // so that the store begins new logs now and then
	l.serve(nil)
	l.begin()
	f := &fullDisk{sickLoad: l, disk: disk}
	for begun, i := time.Now(), 0; time.Since(begun) < lasts; i++ {
		time.Sleep(time.Duration(l.random.Int64N(int64(betweenFull))))
		if i%3 == 2 {
			f.fullLong()
		} else {
			f.fullForMoments()
		}
		expect.MustThat(t, !t.Failed(), "the server said:\n%s", l.server.lastWords())
	}
	l.end()
	l.summary(fmt.Sprintf("%v on a disk that is full at times", lasts), f.lines()...)
	l.restart()
	l.server.terminate()
}

// fullDisk is a load on a disk that is filled.
type fullDisk struct {
	*sickLoad
	disk *mount

	moments, longs                     int
	slowestNotice, slowestNoticeOfRoom time.Duration
	slowestCreate                      time.Duration // after there was room again
}

func (f *fullDisk) lines() []string {
	return []string{
		fmt.Sprintf("full %d times for at most %v, %d times for longer", f.moments, fullShortly, f.longs),
		fmt.Sprintf("said read-only at most %v after the disk was full, and well %v after it was not",
			rounded(f.slowestNotice), rounded(f.slowestNoticeOfRoom)),
		fmt.Sprintf("creates succeeded at most %v after there was room", rounded(f.slowestCreate)),
	}
}

// fullForMoments fills the disk several times in a row.
func (f *fullDisk) fullForMoments() {
	f.t.Helper()
	f.during(f.sick, func() {
		for range 1 + f.random.IntN(4) {
			empty := f.disk.fill()
			time.Sleep(time.Duration(f.random.Int64N(int64(fullShortly))))
			empty()
			f.moments++
		}
		f.awaitRoom(time.Now())
	})
}

// fullLong fills the disk until the server reports it, and for longer.
func (f *fullDisk) fullLong() {
	f.t.Helper()
	f.during(f.sick, func() {
		empty := f.disk.fill()
		defer empty()
		notice := f.await("readiness and metric say read-only", readOnlyLimit, func() bool { return f.admin.Load().saysReadOnly() })
		f.slowestNotice = max(f.slowestNotice, notice)
		for until := time.Now().Add(fullLong); time.Now().Before(until); time.Sleep(watchInterval) {
			v := f.admin.Load()
			expect.That(f.t, v.saysReadOnly(), "while the disk is full, the admin address reports %+v", v)
		}
		empty()
		f.longs++
		f.awaitRoom(time.Now())
	})
}

func (f *fullDisk) awaitRoom(emptied time.Time) {
	f.t.Helper()
	f.slowestCreate = max(f.slowestCreate, f.awaitCreate(emptied))
	f.await("readiness and metric say that all is well", readOnlyLimit, func() bool { return f.admin.Load().saysWell() })
	f.slowestNoticeOfRoom = max(f.slowestNoticeOfRoom, time.Since(emptied))
}

func TestAServerOnAFullDiskStopsAndStartsLater(t *testing.T) {
	secondsOf(t, diskFullVariable)
	t.Parallel()
	disk := newMounts(t).tmpfs(fullDiskBytes)
	l := newSickLoad(t, filepath.Join(disk.dir, "data"))
	l.paths = strings.Repeat("a/", 3500)
	l.serve(nil, "--min-free-space", "off") // so that creates go on until the store itself waits for room
	l.begin()
	time.Sleep(time.Second)
	l.end()

	defer disk.fill()()
	l.createUntilStalled()
	random := rand.New(rand.NewPCG(l.seed, 1))
	l.each(1_000, func(c *fasthttp.HostClient, _ int) { l.visit(c, visit{l.randomLink(random), 1}) })
	took := l.terminateSick()
	t.Logf("SIGTERM on a full disk: exit code %d after %v", l.server.cmd.ProcessState.ExitCode(), rounded(took))

	before := contents(t, l.dir)
	p := launch(t, l.dir, sickArgs()...)
	select {
	case <-p.ended:
	case <-p.ready:
		t.Fatalf("a server is ready on a full disk:\n%s", p.lastWords())
	case <-time.After(stopLimit):
		t.Fatalf("a start on a full disk has not ended after %v:\n%s", stopLimit, p.lastWords())
	}
	code, said := p.cmd.ProcessState.ExitCode(), lastLine(p.stderr())
	t.Logf("start on a full disk: exit code %d: %s", code, said)
	expect.That(t, code == exitFailed && saysNoSpace(said),
		"start on a full disk: got exit code %d and %q, want %d and a message about the space", code, said, exitFailed)
	after := contents(t, l.dir)
	expect.That(t, maps.Equal(before, after), "a start that failed has changed files: %v, were %v", after, before)
	disk.empty()
	l.serve(nil)
	l.timed("all of it with room", l.check)
	l.server.terminate()
}

// createUntilStalled makes links until there is no room for one.
func (l *sickLoad) createUntilStalled() {
	l.t.Helper()
	const mostCreates = 20_000 // of 8 KB each: more than a log preallocates
	for range mostCreates / connections {
		l.each(connections, func(c *fasthttp.HostClient, _ int) { l.create(c) })
		expect.MustThat(l.t, !l.t.Failed(), "the server said:\n%s", l.server.lastWords())
		if l.unknowns() > 0 {
			return
		}
	}
	l.t.Fatal("every create succeeded on a full disk")
}

func (l *sickLoad) randomLink(random *rand.Rand) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return random.IntN(len(l.mu.links))
}

// terminateSick sends SIGTERM to a server that cannot write: it must end in time, and log why it
// failed.
func (l *sickLoad) terminateSick() (took time.Duration) {
	l.t.Helper()
	begun := time.Now()
	expect.OK(l.t, l.server.cmd.Process.Signal(syscall.SIGTERM))
	select {
	case <-l.server.ended:
	case <-time.After(stopLimit):
		l.t.Fatalf("the server has not ended %v after SIGTERM:\n%s", stopLimit, l.server.lastWords())
	}
	code, said := l.server.cmd.ProcessState.ExitCode(), lastLine(l.server.stderr())
	expect.That(l.t, code == exitFailed && saysNoSpace(said),
		"SIGTERM on a full disk: got exit code %d and %q, want %d and a message about the space", code, said, exitFailed)
	return time.Since(begun)
}

func saysNoSpace(line string) bool {
	return strings.Contains(line, "space") || strings.Contains(line, "full")
}

func lastLine(text string) string {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	return lines[len(lines)-1]
}

// contents returns the checksums of the files in a folder.
func contents(t *testing.T, dir string) map[string]string {
	t.Helper()
	sums := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		b, err := os.ReadFile(path)
		sums[strings.TrimPrefix(path, dir)] = fmt.Sprintf("%d bytes, %.4x", len(b), sha256.Sum256(b))
		return err
	})
	expect.OK(t, err)
	return sums
}

const (
	fillerName    = "filler"
	largestChunk  = 64 << 20
	smallestChunk = 4096
	topUpInterval = 2 * time.Millisecond
)

// fill takes all space of m, also space that becomes free later, until empty is called. empty may
// be called several times.
func (m *mount) fill() (empty func()) {
	m.t.Helper()
	f, err := os.Create(filepath.Join(m.dir, fillerName))
	expect.OK(m.t, err)
	var sizeBytes int64
	m.topUp(f, &sizeBytes)
	stopping, stopped := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(stopped)
		for tick := time.NewTicker(topUpInterval); ; {
			select {
			case <-tick.C:
				m.topUp(f, &sizeBytes)
			case <-stopping:
				tick.Stop()
				return
			}
		}
	}()
	m.emptyFiller = func() {
		m.emptyFiller = func() {}
		close(stopping)
		<-stopped
		f.Close()
		expect.NoError(m.t, os.Remove(f.Name()))
	}
	return m.empty
}

// empty frees the space that fill has taken.
func (m *mount) empty() { m.emptyFiller() }

// topUp extends f until no space is left, not even a page.
func (m *mount) topUp(f *os.File, sizeBytes *int64) {
	for chunk := int64(largestChunk); chunk >= smallestChunk; {
		if err := unix.Fallocate(int(f.Fd()), 0, *sizeBytes, chunk); err != nil {
			chunk /= 2
			continue
		}
		*sizeBytes += chunk
	}
}
