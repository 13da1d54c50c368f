package e2e

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"shunt/engine/expect"
)

// TestFiguresOfWhatLimitsWrites has 128 writers make links at the leader, and says how its entries, the
// time of an append and the CPU time of all processes make the rate. Then the same again under profilers:
// shares of CPU by function, of the leader and of the server of etcd that leads.
func TestFiguresOfWhatLimitsWrites(t *testing.T) {
	during := figureSeconds(t)
	s := newSiteOn(t, siteOptions{etcd: append([]string{"--enable-pprof"}, shippedEtcd...), nodes: []string{"--flush-interval", "1s"}}, "a", "b", "c")
	leader, writers := s.leader(), 128
	s.load(leader, writers, 0, 2*time.Second) // warm up
	for range 3 {
		before, begun := s.usage(leader), time.Now()
		n, took := s.load(leader, writers, 0, during)
		passed := time.Since(begun)
		u := s.usage(leader)
		entries, appended := u.entries-before.entries, u.appendSeconds-before.appendSeconds
		t.Logf("%d writers: %.0f writes/s, p50 %v, p99 %v; %.0f entries/s of %.1f writes; an append takes %.2f ms, one is under way for %.0f %% of the time",
			writers, float64(n)/passed.Seconds(), took(0.5), took(0.99), entries/passed.Seconds(), float64(n)/entries,
			1e3*appended/entries, 100*appended/passed.Seconds())
		t.Log("  CPU: " + u.since(before, passed))
	}
	s.profile(leader, writers)
	s.alike()
}

// A usage is what processes have used up to a moment.
type usage struct {
	entries, appendSeconds float64
	names                  []string
	clocks                 map[string]time.Duration
	busy                   time.Duration // of all cores
}

func (s *site) usage(leader *siteNode) usage {
	u := usage{
		entries: leader.metric("shunt_cluster_append_seconds_count"), appendSeconds: leader.metric("shunt_cluster_append_seconds_sum"),
		clocks: make(map[string]time.Duration),
	}
	note := func(name string, pid int) {
		u.names = append(u.names, name)
		u.clocks[name] = clockOf(s.t, pid)
	}
	note("the node that leads", leader.cmd.Process.Pid)
	for _, n := range s.without(leader) {
		note("node "+n.name, n.cmd.Process.Pid)
	}
	main := s.etcd.Leader()
	note("the server of etcd that leads", main.PID())
	for i, m := range s.etcd.Members {
		if m != main {
			note(fmt.Sprintf("server %d", i), m.PID())
		}
	}
	note("clients", os.Getpid())
	u.busy = busyTime(s.t)
	return u
}

// busyTime returns how long the cores of this machine have been busy.
func busyTime(t *testing.T) (busy time.Duration) {
	t.Helper()
	stat, err := os.ReadFile("/proc/stat")
	expect.OK(t, err)
	all, _, _ := strings.Cut(string(stat), "\n") // cpu, user, nice, system, idle, iowait, irq, softirq, in hundredths of a second
	for n, field := range strings.Fields(all)[1:8] {
		ticks, err := strconv.ParseInt(field, 10, 64)
		expect.OK(t, err)
		if n != 3 && n != 4 {
			busy += time.Duration(ticks) * time.Second / 100
		}
	}
	return busy
}

// since describes what was used since an earlier moment.
func (u *usage) since(before usage, passed time.Duration) string {
	var parts []string
	for _, name := range u.names {
		parts = append(parts, fmt.Sprintf("%s %.2f", name, (u.clocks[name]-before.clocks[name]).Seconds()/passed.Seconds()))
	}
	return strings.Join(parts, ", ") + fmt.Sprintf("; %.2f cores of the machine busy", (u.busy-before.busy).Seconds()/passed.Seconds())
}

// profile profiles the leaders under load.
func (s *site) profile(leader *siteNode, writers int) {
	const during = 10 * time.Second
	dir := s.t.TempDir()
	var joined sync.WaitGroup
	joined.Go(func() { s.load(leader, writers, 0, during+2*time.Second) })
	time.Sleep(time.Second)
	for name, address := range map[string]string{"leader": leader.adminURL, "etcd": "http://" + s.etcd.Leader().Endpoint} {
		joined.Go(func() { s.goProfile(address, filepath.Join(dir, name+".pprof"), during) })
	}
	joined.Go(func() { s.systemProfile(filepath.Join(dir, "perf.data"), during) })
	joined.Wait()
	for _, name := range []string{"leader", "etcd"} {
		out, err := exec.Command("go", "tool", "pprof", "-top", "-cum", "-nodecount=70", filepath.Join(dir, name+".pprof")).CombinedOutput()
		s.t.Logf("%s, by what functions call (%v):\n%s", name, err, out)
	}
}

// goProfile writes the profile that a Go program makes of itself.
func (s *site) goProfile(address, file string, during time.Duration) {
	r, err := try(http.DefaultTransport, "GET", fmt.Sprintf("%s/debug/pprof/profile?seconds=%.0f", address, during.Seconds()), "")
	if err == nil && r.StatusCode != http.StatusOK {
		err = fmt.Errorf("%s: %.200s", r.Status, r.text)
	}
	if err == nil {
		err = os.WriteFile(file, []byte(r.text), 0o600)
	}
	expect.NoError(s.t, err, "a profile of %s", address)
}

// systemProfile has perf look at all processes and the kernel, if it is there and may.
func (s *site) systemProfile(file string, during time.Duration) {
	ctx, cancel := context.WithTimeout(s.t.Context(), during+10*time.Second)
	defer cancel()
	args := []string{"record", "-q", "-e", "cpu-clock", "-F", "499", "-a", "-o", file, "--", "sleep", fmt.Sprint(during.Seconds())}
	if out, err := exec.CommandContext(ctx, "perf", args...).CombinedOutput(); err != nil {
		s.t.Logf("perf: %v: %s", err, out)
		return
	}
	for _, by := range []string{"comm,dso", "comm,sym"} {
		out, err := exec.CommandContext(ctx, "perf", "report", "-i", file, "--stdio", "--sort", by, "--percent-limit", "0.5").Output()
		lines := slices.DeleteFunc(strings.Split(string(out), "\n"), func(l string) bool { return l == "" || l[0] == '#' })
		s.t.Logf("perf, by %s (%v):\n%s", by, err, strings.Join(lines[:min(len(lines), 60)], "\n"))
	}
}
