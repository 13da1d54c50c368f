package bench

import (
	"math/rand/v2"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"

	"shunt/engine/expect"
)

// BenchmarkDependentLoad measures the machine: one load from memory that waits for the load before
// it, over 1 GiB in huge pages. A look-up of one of 10 M links has two such loads, and a hit adds
// none. Machines are shared, and this figure moves with the load of the neighbours: compare with
// this figure, not with yesterday's.
func BenchmarkDependentLoad(b *testing.B) {
	const sizeBytes, lineWords = 1 << 30, 8
	m, err := unix.Mmap(-1, 0, sizeBytes, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANON)
	expect.OK(b, err)
	if err := unix.Madvise(m, unix.MADV_HUGEPAGE); err != nil {
		b.Log("no huge pages:", err)
	}
	words := unsafe.Slice((*uint64)(unsafe.Pointer(&m[0])), sizeBytes/8)
	order := rand.New(rand.NewPCG(1, 1)).Perm(sizeBytes / 8 / lineWords)
	for i, line := range order {
		words[line*lineWords] = uint64(order[(i+1)%len(order)] * lineWords)
	}
	at := uint64(0)
	for b.Loop() {
		at = words[at]
	}
	if at%lineWords != 0 {
		b.Fatal("astray")
	}
	expect.OK(b, unix.Munmap(m))
}
