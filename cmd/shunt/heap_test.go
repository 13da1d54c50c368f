package main

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"strconv"
	"strings"
	"testing"
	"time"

	"shunt/storage"
)

func TestLargeBlocksDoNotDoubleTheHeap(t *testing.T) {
	const mib = 1 << 20
	for _, c := range []struct {
		name         string
		live, blocks uint64
		want         int
	}{
		{"nothing is known", 0, 0, 100},
		{"a small server", 40 * mib, 5 * mib, 100},
		{"a large heap without blocks", 1000 * mib, 0, 100},
		{"256 MiB of memtables", 290 * mib, 256 * mib, 44},
		{"memtables and a large cache", 1700 * mib, 1664 * mib, 7},
		{"blocks that came after the last collection", 40 * mib, 256 * mib, 100},
		{"more than anybody has", 1 << 50, 1 << 50, 1},
	} {
		if got := gcPercent(c.live, c.blocks); got != c.want {
			t.Errorf("%s: the heap may grow by %d %%, want %d", c.name, got, c.want)
		}
	}
}

// garbage is memory that nobody uses any more.
var garbage []byte

func TestMemoryIsGivenBackOnceWritesAreOver(t *testing.T) {
	const size = 256 << 20
	store := storage.Metrics{}
	k := newHeapKeeper(func() storage.Metrics { return store })
	defer k.pace(defaultGCPercent)
	memory := func() (held uint64, given uint32) {
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return m.HeapSys - m.HeapReleased, m.NumForcedGC
	}
	debug.FreeOSMemory()
	base, before := memory()
	garbage = make([]byte, size)
	for i := range garbage {
		garbage[i] = 1
	}
	garbage = nil
	for range 2 * quietLooks {
		store.MemTableFlushes++
		k.look()
	}
	if _, given := memory(); given != before {
		t.Errorf("while memtables were written, memory was given back %d times", given-before)
	}
	for range 2 * quietLooks {
		k.look()
	}
	held, given := memory()
	if given != before+1 {
		t.Errorf("when writes were over, memory was given back %d times, want once", given-before)
	}
	if held > base+size/4 {
		t.Errorf("the heap has %d MiB, %d more than before %d MiB of it were not used any more", held>>20, (held-base)>>20, size>>20)
	}
}

// importVariable says how many links are imported to look at the memory that takes.
const importVariable = "SHUNTTEST_IMPORT"

func TestMemoryOfAnImportIsGivenBackWithinAMinute(t *testing.T) {
	links := numberOf(t, importVariable, 0)
	if links == 0 {
		t.Skipf("it takes minutes; %s=N asks for an import of N links, and so does make import-memory", importVariable)
	}
	dir := t.TempDir()
	p := startServer(t, filepath.Join(dir, "data"))
	t.Logf("with an empty store: %d MiB", residentBytes(t, p)>>20)
	if r := shunt(t, dir, nil, "import", manyLinks(t, dir, links), "--data", p.dir); r.code != exitDone {
		t.Fatalf("import: exit code %d:\n%s", r.code, r.stderr)
	}
	t.Logf("at the end of an import of %d links: %d MiB", links, residentBytes(t, p)>>20)
	for end := time.Now().Add(time.Minute); ; time.Sleep(time.Second) {
		resident, most, of := residentBytes(t, p), uint64(0), ask(t, p.admin+"/metrics", "")
		for _, part := range []string{
			`engine_bytes{part="arena"}`, `engine_bytes{part="index"}`, `engine_bytes{part="counters"}`,
			"storage_memtable_reserved_bytes", "storage_block_cache_bytes",
		} {
			bytes, err := strconv.ParseFloat(metricIn(of, "shunt_"+part), 64)
			if err != nil {
				t.Fatalf("shunt_%s: %v", part, err)
			}
			most += uint64(bytes)
		}
		most += 128<<20 + 32<<20 // a memtable that Pebble's queue holds on to; the program and all else
		if resident <= most {
			t.Logf("%v after it: %d MiB, at most %d are of use", (time.Minute - time.Until(end)).Round(time.Second), resident>>20, most>>20)
			return
		}
		if time.Now().After(end) {
			t.Fatalf("a minute after it: %d MiB, want at most %d", resident>>20, most>>20)
		}
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
	if err := os.WriteFile(path, []byte(b.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// residentBytes is what a server has of memory, files that are mapped included.
func residentBytes(t *testing.T, p *process) uint64 {
	t.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", p.cmd.Process.Pid))
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(text), "VmRSS:")
	kib, err := strconv.ParseUint(strings.Fields(rest)[0], 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	return kib << 10
}
