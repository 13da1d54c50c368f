package e2e

import (
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"shunt/engine/expect"
)

// idleVariable says how many links an idle server has.
const idleVariable = "SHUNTTEST_IDLE_LINKS"

// TestAnIdleServerSleepsAndWritesNothing has a server under a service manager, as it is shipped, which had a create, a
// redirect, a miss and a probe. Then it wants a minute with fewer than five wake-ups a second and not a byte written: a
// loop of a second alone wakes threads some six times. What it has to finish before, or every ten minutes, may come
// first.
func TestAnIdleServerSleepsAndWritesNothing(t *testing.T) {
	expect.Long(t)
	t.Parallel()
	links := numberOf(t, idleVariable, 0)
	manager, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: fmt.Sprintf("@shunt-idle-%d", os.Getpid()), Net: "unixgram"})
	expect.OK(t, err)
	var reader sync.WaitGroup
	reader.Go(func() { _, _ = io.Copy(io.Discard, manager) }) // until it is closed
	t.Cleanup(func() {
		_ = manager.Close()
		reader.Wait()
	})
	dir := t.TempDir()
	p := launchThrough(t, []string{"env", "NOTIFY_SOCKET=" + manager.LocalAddr().String(), "WATCHDOG_USEC=90000000"}, filepath.Join(dir, "data")).waitReady()
	token := p.token()
	if links > 0 {
		shunt(t, dir, nil, "import", manyLinks(t, dir, links), "--data", p.dir).done(t)
	}
	add := []string{"add", "https://example.com/", "--alias", "idle", "--server", p.public}
	shunt(t, "", []string{"SHUNT_TOKEN=" + token}, add...).want(t, exitDone, "idle", "")
	for _, url := range []string{p.public + "/idle", p.public + "/missing", p.public + "/api/v1/links", p.admin + "/readyz"} {
		ask(t, url, token)
	}
	http.DefaultTransport.(*http.Transport).CloseIdleConnections()
	const stretch, inMinute, most = 20 * time.Second, 3, 18
	proc := fmt.Sprintf("/proc/%d", p.cmd.Process.Pid)
	var wakes, written []uint64 // at the end of each stretch
	for i := 0; ; i++ {
		wakes, written = append(wakes, field(t, proc+"/task/*/status", "voluntary_ctxt_switches")), append(written, field(t, proc+"/io", "write_bytes"))
		if before := i - inMinute; before >= 0 {
			each, bytes := float64(wakes[i]-wakes[before])/(inMinute*stretch).Seconds(), written[i]-written[before]
			t.Logf("in the minute after %v, with %d links: %.1f wake-ups a second, %d bytes written", time.Duration(before)*stretch, links+1, each, bytes)
			if each < 5 && bytes == 0 {
				return
			}
		}
		expect.MustThat(t, i < most, "it does not sleep")
		time.Sleep(stretch)
	}
}

func TestANewFolderIsSmall(t *testing.T) {
	t.Parallel()
	p := startServer(t, t.TempDir())
	var bytes int64
	err := filepath.WalkDir(p.dir, func(path string, _ fs.DirEntry, err error) error {
		var s unix.Stat_t
		if err == nil {
			err = unix.Lstat(path, &s)
		}
		bytes += s.Blocks * 512
		return err
	})
	expect.That(t, err == nil && bytes <= 64<<20, "it takes %d MiB, %v", bytes>>20, err)
}

// TestASmallDiskStarts has disks on which one reservation of a start once took the room of another.
func TestASmallDiskStarts(t *testing.T) {
	secondsOf(t, diskFullVariable)
	m := newMounts(t)
	for _, mib := range []int64{50, 60, 70, 80, 90, 100, 120, 160, 180, 200, 215, 230, 240, 300} {
		disk := m.tmpfs(mib << 20)
		for range 2 { // a first start, and another one
			startServer(t, filepath.Join(disk.dir, "data")).terminate()
		}
	}
}
