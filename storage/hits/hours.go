package hits

import (
	"slices"
	"sync"

	"github.com/cockroachdb/pebble/v2"
)

// hourSet is the set of hours that have, or may have, rows in the tables of hours. An hour enters
// before the batch with its first row is committed, and leaves after the batch that deletes its
// rows is committed. Therefore every hour that has rows in a snapshot taken under mu is in hours at
// that moment. The hours from the roll-up mark on are open.
type hourSet struct {
	mu struct {
		sync.RWMutex
		hours []uint32 // ascending; replaced, never changed; those that are kept, some 800 at most
	}
}

func (o *hourSet) add(hour uint32) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if at, found := slices.BinarySearch(o.mu.hours, hour); !found {
		o.mu.hours = slices.Insert(slices.Clone(o.mu.hours), at, hour)
	}
}

// removeBefore removes the hours before hour.
func (o *hourSet) removeBefore(hour uint32) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.mu.hours = slices.Clone(hoursFrom(o.mu.hours, hour))
}

// first returns the first hour of the set that is not before from.
func (o *hourSet) first(from uint32) (hour uint32, ok bool) {
	o.mu.RLock()
	defer o.mu.RUnlock()
	hours := hoursFrom(o.mu.hours, from)
	if len(hours) == 0 {
		return 0, false
	}
	return hours[0], true
}

// from returns the hours of the set that are not before hour.
func (o *hourSet) from(hour uint32) []uint32 {
	o.mu.RLock()
	defer o.mu.RUnlock()
	return hoursFrom(o.mu.hours, hour)
}

// snapshot returns a snapshot of the database, and the hours of that moment.
func (o *hourSet) snapshot(db *pebble.DB) (*pebble.Snapshot, []uint32) {
	o.mu.RLock()
	defer o.mu.RUnlock()
	return db.NewSnapshot(), o.mu.hours
}

// hoursFrom returns the part of ascending hours that begins at from.
func hoursFrom(hours []uint32, from uint32) []uint32 {
	at, _ := slices.BinarySearch(hours, from)
	return hours[at:]
}
