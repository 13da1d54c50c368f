package bench

import (
	"math/rand/v2"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"
)

// BenchmarkDependentLoad is the machine's own measure: one load from memory that has to wait for the one before, over
// 1 GiB in huge pages. A look-up of a link out of 10 M has two such loads, and a hit no more. Machines are shared, and
// this figure moves with what the neighbours do: compare with it, not with yesterday.
func BenchmarkDependentLoad(b *testing.B) {
	const sizeBytes, lineWords = 1 << 30, 8
	m, err := unix.Mmap(-1, 0, sizeBytes, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANON)
	if err != nil {
		b.Fatal(err)
	}
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
	if err := unix.Munmap(m); err != nil {
		b.Fatal(err)
	}
}
