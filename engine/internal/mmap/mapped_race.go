//go:build race

package mmap

import (
	"fmt"
	"io"
	"os"
	"sync/atomic"
	"unsafe"
)

// The race detector ignores addresses outside the Go heap, so race builds keep arenas and rings on
// the heap. The only loss is that the journal does not outlive a killed process: its files are
// written when they are closed. The contracts are in mapped.go.

// Lazy reports whether memory of Memory costs something only where it is touched.
const Lazy = false

func Memory(sizeBytes int) []byte {
	words := make([]atomic.Uint64, sizeBytes/8) // aligned for them
	return unsafe.Slice((*byte)(unsafe.Pointer(&words[0])), sizeBytes)
}

func HugeMemory(sizeBytes int) []byte { return Memory(sizeBytes) }

func MakeHuge([]byte) {}

func Collapse([]byte) {}

func File(f *os.File, sizeBytes int) ([]byte, error) {
	b := Memory(sizeBytes)
	if _, err := io.ReadFull(io.NewSectionReader(f, 0, int64(sizeBytes)), b); err != nil {
		return nil, fmt.Errorf("reading %s: %w", f.Name(), err)
	}
	return b, nil
}

func Unmap([]byte) {}

func MakeWritable([]byte) error { return nil }

func Sync([]byte) {}

func WriteBack(f *os.File, b []byte) error {
	_, err := f.WriteAt(b, 0)
	return err
}

func StoreWord(p *atomic.Uint64, w uint64) { p.Store(w) }

func StoreLast(p *atomic.Uint64, w uint64) { p.Store(w) }

func StoreHalf(p *atomic.Uint32, w uint32) { p.Store(w) }
