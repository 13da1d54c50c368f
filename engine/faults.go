package engine

import (
	"fmt"
	"sync"
)

// MaxFaults is how many faults of a check are told in full. All are counted.
const MaxFaults = 20

// Fault is something that a check found and that no crash explains.
type Fault struct {
	Where string `json:"where"` // a file, or a table and a key
	What  string `json:"what"`
}

// Faults gathers what the parts of a check find. The zero value is ready; any goroutine may call its methods.
type Faults struct {
	mu    sync.Mutex
	first []Fault // at most MaxFaults
	total uint64
}

// Add adds a fault.
func (f *Faults) Add(where, format string, args ...any) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.total++
	if len(f.first) < MaxFaults {
		f.first = append(f.first, Fault{Where: where, What: fmt.Sprintf(format, args...)})
	}
}

// Found returns the first faults, and how many there are in all.
func (f *Faults) Found() (first []Fault, total uint64) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return append([]Fault{}, f.first...), f.total
}
