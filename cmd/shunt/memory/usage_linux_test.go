package memory

import (
	"testing"

	"golang.org/x/sys/unix"

	"shunt/engine/expect"
)

func TestMemoryOutsideOfGosHeapCounts(t *testing.T) {
	const size = 64 << 20
	l, _ := testLimit(0, Links{MappedBytes: size})
	defer l.kernel.close()
	before := l.Used().Total()
	b, err := unix.Mmap(-1, 0, size, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_ANON|unix.MAP_PRIVATE)
	expect.OK(t, err)
	for i := 0; i < size; i += 4096 {
		b[i] = 1
	}
	u := l.Used()
	expect.OK(t, unix.Munmap(b))
	grown := u.Total() - before
	expect.That(t, grown >= size && grown <= size+size/4, "64 MiB that are mapped add %d MiB", grown>>20)
	expect.That(t, u.Mapped == size && u.Go != 0 && u.Total() == u.Go+u.Mapped+u.Shared, "got %+v", u)
}

func TestTheKernelsLinesAreRead(t *testing.T) {
	for _, c := range []struct {
		name, text        string
		anonymous, shared uint64
		ok                bool
	}{
		{"all lines", "Name:\tx\nRssAnon:\t   112 kB\nRssFile:\t  1572 kB\nRssShmem:\t   8 kB\nVmSwap:\t   4 kB\n", 116 << 10, 8 << 10, true},
		{"no swap", "\nRssAnon:\t1 kB\nRssShmem:\t0 kB\n", 1 << 10, 0, true},
		{"an old kernel", "\nVmRSS:\t1 kB\n", 0, 0, false},
		{"another unit", "\nRssAnon:\t1 MB\nRssShmem:\t0 kB\n", 0, 0, false},
		{"cut off", "\nRssAnon:\t1", 0, 0, false},
		{"nothing", "", 0, 0, false},
	} {
		anonymous, shared, ok := parseStatus([]byte(c.text))
		expect.That(t, ok == c.ok && (!ok || anonymous == c.anonymous && shared == c.shared),
			"%s: got %d, %d, %v, want %d, %d, %v", c.name, anonymous, shared, ok, c.anonymous, c.shared, c.ok)
	}
}

func TestALookAllocatesNothingMuch(t *testing.T) {
	l, _ := testLimit(0, Links{})
	defer l.kernel.close()
	if n := testing.AllocsPerRun(100, func() { l.Used() }); n > 16 {
		t.Errorf("a look makes %v allocations, want at most 16", n)
	}
}
