package e2e

import (
	"fmt"
	"io/fs"
	"net/http"
	"path/filepath"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"shunt/engine/expect"
)

// TestAnIdleServerSleepsAndWritesNothing has had a create, a redirect, a miss and a probe. Then it wants a
// stretch with fewer than five wake-ups a second and not a byte written: a loop of a second alone wakes
// threads some six times.
func TestAnIdleServerSleepsAndWritesNothing(t *testing.T) {
	expect.Long(t)
	t.Parallel()
	p := startServer(t, t.TempDir())
	token := p.token()
	add := []string{"add", "https://example.com/", "--alias", "idle", "--server", p.public}
	shunt(t, "", []string{"SHUNT_TOKEN=" + token}, add...).want(t, exitDone, "idle", "")
	for _, url := range []string{p.public + "/idle", p.public + "/missing", p.public + "/api/v1/links", p.admin + "/readyz"} {
		ask(t, url, token)
	}
	http.DefaultTransport.(*http.Transport).CloseIdleConnections()
	const stretch, most = 20 * time.Second, 6
	proc := fmt.Sprintf("/proc/%d", p.cmd.Process.Pid)
	for i := 1; ; i++ {
		wakes, bytes := field(t, proc+"/task/*/status", "voluntary_ctxt_switches"), field(t, proc+"/io", "write_bytes")
		time.Sleep(stretch)
		wakes, bytes = field(t, proc+"/task/*/status", "voluntary_ctxt_switches")-wakes, field(t, proc+"/io", "write_bytes")-bytes
		t.Logf("stretch %d: %.1f wake-ups a second, %d bytes written", i, float64(wakes)/stretch.Seconds(), bytes)
		switch {
		case float64(wakes) < 5*stretch.Seconds() && bytes == 0:
			return
		case i == most:
			t.Fatal("it does not sleep")
		}
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
