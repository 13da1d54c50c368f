package e2e

import (
	"net"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"shunt/engine/expect"
)

// A service manager kills a server from which it hears no sign of life for the time of its watchdog.
// A disk that does not answer is no reason for that: a new server would need the same disk.
//
// One case is beyond the server, and not tested: the file system of the journal is frozen under load.
// Threads that store a hit then wait in the kernel, the next garbage collection waits for them, and
// all of Go waits for that.

// watchdogTime is a fifth of the watchdog's time in the unit of the packages.
const watchdogTime = 6 * time.Second

func TestAStalledDiskDoesNotSilenceTheServer(t *testing.T) {
	stall := max(secondsOf(t, diskStallVariable), 2*watchdogTime)
	t.Run("the file system is frozen, the journal in memory", func(t *testing.T) { newSilence(t, false, true).underLoad(stall) })
	t.Run("the device hangs, the journal on it", func(t *testing.T) { newSilence(t, true, false).underLoad(stall) })
	t.Run("the file system is frozen, the journal on it, one redirect", func(t *testing.T) { newSilence(t, false, false).onceFollowed(stall) })
}

// A silence is a server on a disk that stalls, and the signs of life that it sends.
type silence struct {
	*sickLoad
	freeze  func(time.Duration) (thaw func())
	manager *net.UnixConn

	mu    sync.Mutex
	signs []time.Time
}

func newSilence(t *testing.T, device, inMemory bool) *silence {
	m := newMounts(t)
	memory := m.tmpfs(3 * stallDiskBytes)
	outer := m.loop("ext4", memory.dir, 2*stallDiskBytes, "")
	disk := m.loop("ext4", outer.dir, stallDiskBytes, "")
	stalled := disk
	if device {
		stalled = outer
	}
	socket := filepath.Join(t.TempDir(), "notify")
	manager, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: socket, Net: "unixgram"})
	expect.OK(t, err)
	s := &silence{sickLoad: newSickLoad(t, disk.dir+"/data"), manager: manager, freeze: func(d time.Duration) func() {
		disk.sync()
		return stalled.freeze(d)
	}}
	var args []string
	if inMemory {
		args = []string{"--journal-dir", memory.dir}
	}
	s.serve([]string{"env", "NOTIFY_SOCKET=" + socket, "WATCHDOG_USEC=" + strconv.FormatInt(watchdogTime.Microseconds(), 10)}, args...)
	go s.listen()
	return s
}

// listen notes the signs of life until manager is closed.
func (s *silence) listen() {
	for b := make([]byte, 4096); ; {
		n, err := s.manager.Read(b)
		if err != nil {
			return
		}
		if strings.Contains(string(b[:n]), "WATCHDOG=1") {
			s.mu.Lock()
			s.signs = append(s.signs, time.Now())
			s.mu.Unlock()
		}
	}
}

// underLoad stalls the disk under redirects and creates.
func (s *silence) underLoad(stall time.Duration) {
	s.unnamed = true
	s.createLimit += stall
	s.begin()
	time.Sleep(calm)
	begun := time.Now()
	s.during(s.sick, func() { s.stall(stall) })
	time.Sleep(calm)
	s.end()
	s.finish(begun)
}

// onceFollowed stalls the disk of a server that gets one request.
func (s *silence) onceFollowed(stall time.Duration) {
	added := shunt(s.t, "", nil, "add", "http://target/", "--alias", "once", "--data", s.dir)
	expect.MustEqual(s.t, added.code, exitDone, "%+v", added)
	begun := time.Now()
	var followed sync.WaitGroup
	thaw := s.freeze(stall)
	followed.Go(func() {
		c, err := net.Dial("tcp", strings.TrimPrefix(s.server.public, "http://"))
		if err != nil {
			s.t.Error(err)
			return
		}
		defer c.Close()
		_, _ = c.Write([]byte("GET /once HTTP/1.1\r\nHost: sho.rt\r\n\r\n"))
		n, err := c.Read(make([]byte, 12))
		expect.That(s.t, n == 12 && err == nil, "the redirect: got %d bytes, %v", n, err)
	})
	time.Sleep(stall)
	thaw()
	followed.Wait()
	s.finish(begun)
}

// stall stalls the disk and waits until the server has recovered.
func (s *silence) stall(stall time.Duration) {
	thaw := s.freeze(stall)
	time.Sleep(stall)
	thaw()
	thawed := time.Now()
	s.await("a redirect is answered", recoveryLimit, func() bool { return s.lastRedirect.Load() > thawed.UnixNano() })
}

// finish checks the signs of life since begun, and ends the server.
func (s *silence) finish(begun time.Time) {
	s.server.terminate()
	_ = s.manager.Close()
	s.mu.Lock()
	defer s.mu.Unlock()
	longest, last, n := time.Duration(0), begun, 0
	for _, at := range s.signs {
		if at.After(begun) {
			longest, last, n = max(longest, at.Sub(last)), at, n+1
		}
	}
	longest = rounded(max(longest, time.Since(last)))
	s.t.Logf("%d signs of life; the longest time without one was %v", n, longest)
	expect.That(s.t, longest <= watchdogTime, "no sign of life for %v: a watchdog of %v would have killed the server", longest, watchdogTime)
}
