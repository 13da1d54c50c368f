package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"shunt/engine/expect"
)

// A cgroup is a control group of either version (cgroups(7)), with little of a core and of memory.
// With version 1 it is two groups.
type cgroup struct {
	t           *testing.T
	cpu, memory string // folders; the same one with version 2
	version     int
}

// cpuPeriod is how long a quota of the processor is for.
const cpuPeriod = 100 * time.Millisecond

// newCgroup makes a group that may use share of one core, and memoryBytes. It is removed when t
// ends; the processes in it must have ended by then.
func newCgroup(t *testing.T, share float64, memoryBytes uint64) *cgroup {
	t.Helper()
	needRoot(t)
	g := &cgroup{t: t}
	name := "shunt-test-" + strconv.Itoa(os.Getpid())
	quota, period := strconv.Itoa(int(share*float64(cpuPeriod.Microseconds()))), strconv.FormatInt(cpuPeriod.Microseconds(), 10)
	if top := "/sys/fs/cgroup"; isCgroup2(top) {
		g.version, g.cpu = 2, filepath.Join(top, name)
		g.memory = g.cpu
		g.set(top, "cgroup.subtree_control", "+cpu +memory")
		g.makeFolders()
		g.set(g.cpu, "cpu.max", quota+" "+period)
		g.set(g.memory, "memory.max", strconv.FormatUint(memoryBytes, 10))
		return g
	}
	g.version, g.cpu, g.memory = 1, filepath.Join("/sys/fs/cgroup/cpu", name), filepath.Join("/sys/fs/cgroup/memory", name)
	g.makeFolders()
	g.set(g.cpu, "cpu.cfs_period_us", period)
	g.set(g.cpu, "cpu.cfs_quota_us", quota)
	g.set(g.memory, "memory.limit_in_bytes", strconv.FormatUint(memoryBytes, 10))
	return g
}

func isCgroup2(dir string) bool {
	var s unix.Statfs_t
	return unix.Statfs(dir, &s) == nil && s.Type == unix.CGROUP2_SUPER_MAGIC
}

func (g *cgroup) makeFolders() {
	g.t.Helper()
	for _, dir := range slices.Compact([]string{g.cpu, g.memory}) {
		expect.OK(g.t, os.Mkdir(dir, 0o755), "making a control group")
		g.t.Cleanup(func() {
			expect.NoError(g.t, os.Remove(dir))
		})
	}
}

func (g *cgroup) set(dir, file, value string) {
	g.t.Helper()
	expect.OK(g.t, os.WriteFile(filepath.Join(dir, file), []byte(value), 0o600), "control group")
}

// starter returns a command that enters the group and becomes the command in its arguments.
func (g *cgroup) starter() []string {
	script := fmt.Sprintf(`echo $$ >%s/cgroup.procs && echo $$ >%s/cgroup.procs && exec "$@"`, g.cpu, g.memory)
	return []string{"sh", "-c", script, "sh"}
}

// number reads a file of the group with a number in it; with key, the number after that key.
func (g *cgroup) number(dir, file, key string) uint64 {
	g.t.Helper()
	text, err := os.ReadFile(filepath.Join(dir, file))
	expect.OK(g.t, err)
	if key != "" {
		_, after, _ := strings.Cut("\n"+string(text), "\n"+key+" ")
		text = []byte(after)
	}
	fields := strings.Fields(string(text))
	expect.MustThat(g.t, len(fields) != 0, "%s of the control group has no number: %q", file, text)
	n, err := strconv.ParseUint(fields[0], 10, 64)
	expect.OK(g.t, err)
	return n
}

// outOfMemory returns how often the system has ended a process of the group for want of memory.
func (g *cgroup) outOfMemory() uint64 {
	if g.version == 2 {
		return g.number(g.memory, "memory.events", "oom_kill")
	}
	return g.number(g.memory, "memory.oom_control", "oom_kill")
}
