package folder

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"shunt/api/table"
)

var (
	// ErrNoFolder means that there is no such folder, or none for who asks.
	ErrNoFolder = errors.New("no such folder")
	// ErrInUse means that a folder has links.
	ErrInUse = errors.New("the folder has links")
	// ErrNoMember means that a user is no member of a folder.
	ErrNoMember = errors.New("no such member")
	// ErrVersion means that a folder has another version than the one that who asks has seen.
	ErrVersion = errors.New("folder has another version")
)

// Folders are the folders of a server. nil has none, and takes none.
type Folders struct {
	table *table.Writer
	now   func() time.Time

	changing sync.Mutex // held while known is replaced
	known    atomic.Pointer[known]
}

// known is what memory has of all folders. It never changes.
type known struct {
	byNumber map[uint32]*Folder
	all      []*Folder // by name, then by number
}

// New returns the folders in rows. Nothing else may write to that table. If now is nil, it is time.Now. Changed is to
// be called before all else.
func New(rows table.Table, now func() time.Time) *Folders {
	if now == nil {
		now = time.Now
	}
	f := &Folders{table: table.NewWriter(rows), now: now}
	f.known.Store(newKnown(nil))
	return f
}

// Changed reads the folders again: this process begins, or another node has changed rows.
func (f *Folders) Changed() error {
	f.changing.Lock()
	defer f.changing.Unlock()
	var all []*Folder
	err := f.table.Scan(folderKeys, func(key, value []byte) (bool, error) {
		one, err := decodeFolder(key, value)
		all = append(all, &one)
		return true, err
	})
	if err != nil {
		return fmt.Errorf("read folders: %w", err)
	}
	f.known.Store(newKnown(all))
	return nil
}

func newKnown(all []*Folder) *known {
	k := &known{byNumber: make(map[uint32]*Folder, len(all)), all: all}
	for _, one := range all {
		k.byNumber[one.Number] = one
	}
	slices.SortFunc(k.all, func(a, b *Folder) int {
		return cmp.Or(strings.Compare(strings.ToLower(a.Name), strings.ToLower(b.Name)), cmp.Compare(a.Number, b.Number))
	})
	return k
}

// Numbered returns a folder, nil if there is none. It must not be changed.
func (f *Folders) Numbered(n uint32) *Folder {
	if f == nil || n == 0 {
		return nil
	}
	return f.known.Load().byNumber[n]
}

// Right returns what a user may do with the links in a folder.
func (f *Folders) Right(n, user uint32) Right { return f.Numbered(n).Right(user) }

// All returns all folders, by name. They must not be changed.
func (f *Folders) All() []*Folder {
	if f == nil {
		return nil
	}
	return f.known.Load().all
}

// Of returns the folders in which a user may do something, by name.
func (f *Folders) Of(user uint32) (mine []*Folder) {
	for _, one := range f.All() {
		if one.Right(user) != None {
			mine = append(mine, one)
		}
	}
	return mine
}

// Lead is table.Writer.Lead: folders are written by the node that leads.
func (f *Folders) Lead(ctx context.Context, begin func() error) error {
	return f.table.Lead(ctx, begin)
}
