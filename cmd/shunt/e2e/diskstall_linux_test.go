package e2e

import (
	"fmt"
	"maps"
	"os"
	"slices"
	"testing"
	"time"

	"shunt/engine/expect"
)

// In this test the disk does not answer. There are two such disks: a file system that is frozen, as
// for a snapshot, and one whose device hangs on every write, because the device is a file of
// another file system, which is frozen. The journal is on that disk, or in memory.
const (
	diskStallVariable = "SHUNTTEST_DISKSTALL"         // seconds of each stall
	mountVariable     = "SHUNTTEST_DISKSTALL_OPTIONS" // of the mount of the data, such as lazytime

	stallDiskBytes = 1 << 30
	calm           = time.Second // before and after
)

func TestAStalledDiskStopsNoRedirectAndLosesNothing(t *testing.T) {
	stall := secondsOf(t, diskStallVariable)
	for _, c := range []struct {
		name             string
		device, inMemory bool
	}{
		{"the file system is frozen, the journal in memory", false, true},
		{"the device hangs, the journal in memory", true, true},
		{"the file system is frozen, the journal on it", false, false},
		{"the device hangs, the journal on it", true, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			stallDisk(t, stall, c.device, c.inMemory)
		})
	}
}

func stallDisk(t *testing.T, stall time.Duration, device, inMemory bool) {
	m := newMounts(t)
	memory := m.tmpfs(3 * stallDiskBytes)
	outer := m.loop("ext4", memory.dir, 2*stallDiskBytes, "")
	disk := m.loop("ext4", outer.dir, stallDiskBytes, os.Getenv(mountVariable))
	stalled := disk
	if device {
		stalled = outer
	}
	l := newSickLoad(t, disk.dir+"/data")
	l.unnamed = true
	var args []string
	if inMemory {
		args = []string{"--journal-dir", memory.dir}
	}
	standstill := !device && !inMemory // see checkUndisturbed
	if standstill {
		l.createLimit += stall
	}
	l.serve(nil, args...)
	l.begin()
	time.Sleep(calm)

	var blocked map[string]int
	var resumed, created time.Duration
	l.during(l.sick, func() {
		disk.sync() // the worst moment: every page of the journal is clean
		thaw := stalled.freeze(stall)
		time.Sleep(stall)
		blocked = blockedThreads(l.server.cmd.Process.Pid)
		thaw()
		thawed := time.Now()
		resumed = l.await("a redirect is answered", recoveryLimit, func() bool { return l.lastRedirect.Load() > thawed.UnixNano() })
		created = l.awaitCreate(thawed)
	})
	time.Sleep(calm)
	l.end()
	l.summary(t.Name(), fmt.Sprintf("stall %v; after it the first redirect within %v, the first create within %v",
		stall, rounded(resumed), rounded(created)))
	for _, stack := range slices.Sorted(maps.Keys(blocked)) {
		t.Logf("%d threads blocked in: %s", blocked[stack], stack)
	}
	if !standstill {
		longestGap := time.Second
		if !inMemory {
			longestGap *= 2 // noticing the stall may take another gap
		}
		l.checkUndisturbed(longestGap)
	}
	l.repeatUnknown()
	l.restart(args...)
	l.server.terminate()
}

// checkUndisturbed compares redirects under the sick disk with those before. They must be alike,
// unless the file system of the journal is frozen: a freeze writes all pages back, and the next
// store into one waits in the kernel for the thaw, before the server can notice anything. If the
// device hangs, nothing waits for it until the file system writes its log, after five seconds on
// ext4, and by then hits go to memory.
func (l *sickLoad) checkUndisturbed(longestGap time.Duration) {
	const noise = 250 * time.Millisecond // on two shared cores; a redirect that waits for the disk waits until the disk answers
	well, sick := l.well.paced.percentile(0.99), l.sick.paced.percentile(0.99)
	expect.That(l.t, sick <= max(10*well, noise), "redirects: p99 is %v, before %v", sick, well)
	gap := time.Duration(l.sick.longestGap.Load())
	expect.That(l.t, gap <= longestGap, "no redirect was answered for %v", gap)
}
