package disk

import (
	"errors"
	"io"
	"sync"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// lockedHere has the paths of the locks that this process holds. Such a lock (fcntl) does not keep a
// process from itself, and is lost when the process closes any descriptor of the file.
var lockedHere struct {
	sync.Mutex
	names map[string]bool
}

// lockHere calls lock, unless this process holds the lock already.
func lockHere(name string, lock func() (io.Closer, error)) (io.Closer, error) {
	lockedHere.Lock()
	defer lockedHere.Unlock()
	if lockedHere.names[name] {
		return nil, errors.New("lock held by this process")
	}
	c, err := lock()
	if err != nil {
		return nil, err
	}
	if lockedHere.names == nil {
		lockedHere.names = map[string]bool{}
	}
	lockedHere.names[name] = true
	return hereLock{c, name}, nil
}

type hereLock struct {
	io.Closer
	name string
}

func (l hereLock) Close() error {
	lockedHere.Lock()
	defer lockedHere.Unlock()
	delete(lockedHere.names, l.name)
	return l.Closer.Close()
}

// Lockless is a file system without locks, for the copy of a database that nobody else knows.
type Lockless struct{ vfs.FS }

func (l Lockless) Unwrap() vfs.FS { return l.FS }

func (Lockless) Lock(string) (io.Closer, error) { return noLock{}, nil }

type noLock struct{}

func (noLock) Close() error { return nil }
