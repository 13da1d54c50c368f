package engine

import (
	"fmt"
	"strings"
	"sync"
)

const (
	// MaxFaults bounds the faults of files, and the other faults, that a check names in full. All
	// are counted.
	MaxFaults = 20
	// maxFaultGroups is more than there are tables.
	maxFaultGroups = 64
)

// Fault is something that a check found and that no crash explains.
type Fault struct {
	Where string `json:"where"` // a file, or a table and a key
	What  string `json:"what"`
	// Follows: it was found after a damaged file of tables, which most likely caused it.
	Follows bool `json:"follows,omitempty"`
}

// A FaultGroup is the faults of one table that follow from a damaged file.
type FaultGroup struct {
	Where string `json:"where"` // the table
	Count uint64 `json:"count"`
	First Fault  `json:"first"`
}

// Faults gathers the faults that the parts of a check find. The zero value is ready for use; any
// goroutine may call its methods.
type Faults struct {
	mu    sync.Mutex
	files []Fault // at most MaxFaults, and so is first
	first []Fault
	total uint64

	following bool // see Follow
	groups    []FaultGroup
}

// Add adds a fault.
func (f *Faults) Add(where, format string, args ...any) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.total++
	fault := Fault{Where: where, What: fmt.Sprintf(format, args...), Follows: f.following}
	if len(f.first) < MaxFaults {
		f.first = append(f.first, fault)
	}
	if f.following {
		f.group(fault)
	}
}

// AddFile adds the fault of a whole file. Found returns faults of files before all others.
func (f *Faults) AddFile(path, format string, args ...any) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.total++
	if len(f.files) < MaxFaults {
		f.files = append(f.files, Fault{Where: path, What: fmt.Sprintf(format, args...)})
	}
}

// Follow marks the faults that Add is given from now on as following from damage: files of tables
// are damaged, and most likely caused them.
func (f *Faults) Follow() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.following = true
}

// group counts a fault that follows from a damaged file.
func (f *Faults) group(fault Fault) {
	table, _, _ := strings.Cut(fault.Where, ", key ")
	for i := range f.groups {
		if f.groups[i].Where == table {
			f.groups[i].Count++
			return
		}
	}
	if len(f.groups) < maxFaultGroups {
		f.groups = append(f.groups, FaultGroup{table, 1, fault})
	}
}

// Found returns the first faults, those of files before all others, and the number of all faults.
func (f *Faults) Found() (first []Fault, total uint64) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return append(append([]Fault{}, f.files...), f.first...), f.total
}

// Groups returns the faults that follow from damaged files, by table.
func (f *Faults) Groups() []FaultGroup {
	f.mu.Lock()
	defer f.mu.Unlock()
	return append([]FaultGroup(nil), f.groups...)
}
