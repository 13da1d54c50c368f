//go:build race

package engine

import (
	"fmt"
	"io"
	"os"
	"sync/atomic"
	"unsafe"
)

// The race detector ignores addresses outside the Go heap, so that race builds keep arenas and rings on it. What is
// lost is only that the journal outlives a killed process: its files are written when they are closed.

func mapMemory(sizeBytes int) []byte {
	words := make([]uint64, sizeBytes/8) // aligned for atomics
	return unsafe.Slice((*byte)(unsafe.Pointer(&words[0])), sizeBytes)
}

func mapHuge(sizeBytes int) []byte { return mapMemory(sizeBytes) }

func collapse([]byte) {}

func mapFile(f *os.File, sizeBytes int) ([]byte, error) {
	b := mapMemory(sizeBytes)
	if _, err := io.ReadFull(io.NewSectionReader(f, 0, int64(sizeBytes)), b); err != nil {
		return nil, fmt.Errorf("reading %s: %w", f.Name(), err)
	}
	return b, nil
}

func unmap([]byte) {}

func makeWritable([]byte) error { return nil }

func syncPages([]byte) {}

func writeBack(f *os.File, b []byte) error {
	_, err := f.WriteAt(b, 0)
	return err
}

func storeWord(p *uint64, w uint64) { atomic.StoreUint64(p, w) }

func storeLast(p *uint64, w uint64) { atomic.StoreUint64(p, w) }
