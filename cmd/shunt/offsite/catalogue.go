package offsite

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"
)

const (
	backupsFolder = "backups/"
	filesFolder   = "files/"
)

// An Entry is a backup that is at a place.
type Entry struct {
	Store     string    `json:"store"`
	At        time.Time `json:"at"` // it has nothing that was written later
	Links     uint64    `json:"links"`
	Files     int       `json:"files"`
	Bytes     uint64    `json:"bytes"` // restored
	Encrypted bool      `json:"encrypted"`
	Program   string    `json:"program"`           // the version that made it
	Problem   string    `json:"problem,omitempty"` // why it cannot be restored, as far as its list says
	name      string
	written   time.Time // by the server's clock
}

// List returns the newest backups at a place, at most that many, the newest first, of the store with that id, or of all
// if it is "". There may be more.
func List(ctx context.Context, place Place, s *Settings, store string, most int) (entries []Entry, more bool, err error) {
	b, err := openBucket(ctx, place, s)
	if err != nil {
		return nil, false, err
	}
	if entries, err = b.entries(ctx, store); err != nil {
		return nil, false, err
	}
	if more = len(entries) > most; more {
		entries = entries[:most]
	}
	g, within := errgroup.WithContext(ctx)
	g.SetLimit(workers)
	for i := range entries {
		g.Go(func() error { return b.fill(within, &entries[i]) })
	}
	return entries, more, g.Wait()
}

// entries returns the backups at the place with their times and names, the newest first.
func (b *bucket) entries(ctx context.Context, store string) (entries []Entry, err error) {
	stores := []string{store}
	if store == "" {
		if stores, err = b.stores(ctx); err != nil {
			return nil, err
		}
	}
	for _, store := range stores {
		found, err := b.list(ctx, store+"/"+backupsFolder)
		if err != nil {
			return nil, err
		}
		for _, o := range found {
			if at, ok := timeOf(o.name); ok {
				entries = append(entries, Entry{Store: store, At: at, name: o.name, written: o.written})
			}
		}
	}
	slices.SortFunc(entries, func(a, b Entry) int {
		return cmp.Or(b.At.Compare(a.At), cmp.Compare(b.Store, a.Store), strings.Compare(b.name, a.name))
	})
	return entries, nil
}

// fill reads the manifest of an entry.
func (b *bucket) fill(ctx context.Context, e *Entry) error {
	m, err := b.manifest(ctx, e.Store, e.name)
	if errors.Is(err, errDamaged) || errors.Is(err, errNewer) {
		e.Problem = err.Error()
		return nil
	}
	if err != nil {
		return err
	}
	e.Links, e.Files, e.Bytes, e.Encrypted, e.Program = m.Links, len(m.Files), m.bytes(), m.EncryptedTo != "", m.Program
	return nil
}

func (b *bucket) manifest(ctx context.Context, store, name string) (*manifest, error) {
	text, err := b.read(ctx, store+"/"+backupsFolder+name, maxManifest)
	if err != nil {
		return nil, err
	}
	return decode(name, store, text)
}

// Newest returns the time of the newest backup of a store at a place; zero: there is none.
func Newest(ctx context.Context, place Place, s *Settings, store [16]byte) (time.Time, error) {
	b, err := openBucket(ctx, place, s)
	if err != nil {
		return time.Time{}, err
	}
	entries, err := b.entries(ctx, storeText(store))
	if err != nil || len(entries) == 0 {
		return time.Time{}, err
	}
	return entries[0].At, nil
}

// choose returns the backup to restore: the last one of a time that is not after at; zero: the newest.
func (b *bucket) choose(ctx context.Context, store string, at time.Time) (Entry, error) {
	entries, err := b.entries(ctx, store)
	if err != nil {
		return Entry{}, err
	}
	stores := map[string]time.Time{} // by id: the newest
	var found *Entry
	for i := range entries {
		e := &entries[i]
		if _, seen := stores[e.Store]; !seen {
			stores[e.Store] = e.At
		}
		if found == nil && (at.IsZero() || !e.At.After(at)) {
			found = e
		}
	}
	switch {
	case len(entries) == 0 && store != "":
		return Entry{}, fmt.Errorf("%s has no backup of the store %s ('shunt backup ls %s' lists what is there)", b.place, store, b.place)
	case len(entries) == 0:
		return Entry{}, fmt.Errorf("%s has no backup", b.place)
	case len(stores) > 1:
		return Entry{}, fmt.Errorf("%s has backups of several stores; choose one with --store:%s", b.place, storesText(stores))
	case found == nil:
		oldest := entries[len(entries)-1].At
		return Entry{}, fmt.Errorf("%s has no backup of %s or before; the oldest is of %s", b.place, shown(at), shown(oldest))
	}
	return *found, nil
}

func storesText(newest map[string]time.Time) string {
	var lines []string
	for id, at := range newest {
		lines = append(lines, fmt.Sprintf("\n%s, the newest of %s", id, shown(at)))
	}
	slices.Sort(lines)
	const most = 20
	if more := len(lines) - most; more > 0 {
		lines = append(lines[:most], fmt.Sprintf("\nand %d more", more))
	}
	return strings.Join(lines, "")
}

func shown(at time.Time) string { return at.UTC().Format(time.RFC3339) }
