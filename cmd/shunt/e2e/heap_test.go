package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"shunt/engine/expect"
)

// importVariable says how many links are imported to measure the memory that this takes.
const importVariable = "SHUNTTEST_IMPORT"

func TestMemoryOfAnImportIsReturnedWithinAMinute(t *testing.T) {
	links := numberOf(t, importVariable, 0)
	if links == 0 {
		t.Skipf("this test takes minutes; %s=N runs it with N links, and so does make import-memory", importVariable)
	}
	dir := t.TempDir()
	p := startServer(t, filepath.Join(dir, "data"))
	t.Logf("with an empty store: %d MiB", residentBytes(t, p)>>20)
	shunt(t, dir, nil, "import", manyLinks(t, dir, links), "--data", p.dir).done(t)
	t.Logf("at the end of an import of %d links: %d MiB", links, residentBytes(t, p)>>20)
	for end := time.Now().Add(time.Minute); ; time.Sleep(time.Second) {
		resident, most, of := residentBytes(t, p), uint64(0), ask(t, p.admin+"/metrics", "")
		for _, part := range []string{
			`engine_bytes{part="arena"}`, `engine_bytes{part="index"}`, `engine_bytes{part="counters"}`,
			"storage_memtable_reserved_bytes", "storage_block_cache_bytes",
		} {
			bytes, err := strconv.ParseFloat(metricIn(of, "shunt_"+part), 64)
			expect.OK(t, err, "shunt_%s", part)
			most += uint64(bytes)
		}
		most += 128<<20 + 32<<20 // a memtable that Pebble's queue keeps; the program and all else
		if resident <= most {
			t.Logf("%v after it: %d MiB, at most %d are in use", (time.Minute - time.Until(end)).Round(time.Second), resident>>20, most>>20)
			return
		}
		expect.MustThat(t, !time.Now().After(end), "a minute after it: %d MiB, want at most %d", resident>>20, most>>20)
	}
}

// manyLinks writes a file of links to import.
func manyLinks(t *testing.T, dir string, n uint64) (path string) {
	t.Helper()
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, `{"code":"%08x","url":"https://www.example%d.org/some/path/that/is/long/%d","hits":%d}`+"\n",
			uint32(i*2654435761), i%5000, i, i%100)
	}
	path = filepath.Join(dir, "links.ndjson")
	expect.OK(t, os.WriteFile(path, []byte(b.String()), 0o600))
	return path
}

// residentBytes returns the resident memory of a server, including mapped files.
func residentBytes(t *testing.T, p *process) uint64 {
	t.Helper()
	return field(t, fmt.Sprintf("/proc/%d/status", p.cmd.Process.Pid), "VmRSS") << 10
}

// highWater returns the most that was resident since the server began.
func highWater(t *testing.T, p *process) uint64 {
	t.Helper()
	return field(t, fmt.Sprintf("/proc/%d/status", p.cmd.Process.Pid), "VmHWM") << 10
}

// field returns the sum of a field of files such as /proc/PID/io.
func field(t *testing.T, pattern, name string) (sum uint64) {
	t.Helper()
	paths, err := filepath.Glob(pattern)
	expect.MustThat(t, err == nil && len(paths) != 0, "%s: %d files, %v", pattern, len(paths), err)
	for _, path := range paths {
		text, _ := os.ReadFile(path) // a thread may have ended
		for line := range strings.Lines(string(text)) {
			if value, ok := strings.CutPrefix(line, name+":"); ok {
				n, err := strconv.ParseUint(strings.TrimSpace(strings.TrimSuffix(value, " kB\n")), 10, 64)
				expect.OK(t, err)
				sum += n
			}
		}
	}
	return sum
}
