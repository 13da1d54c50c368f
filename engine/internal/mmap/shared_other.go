//go:build !linux || race

package mmap

// Elsewhere, dropped pages need not be zero, and race builds keep all memory on the heap: each part
// is memory of its own.
func sharedMemory(int) []byte { return nil }

func sizeOfPages(sizeBytes int) int { return sizeBytes }

func drop([]byte) bool { return false }
