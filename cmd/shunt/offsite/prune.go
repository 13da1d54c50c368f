package offsite

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"
)

// A Keep says which backups stay: the newest Least, and all of the last Span. The newest one always stays. Which is
// newer, and what time it is, says the server's clock, so a wrong clock of this machine removes none too early.
type Keep struct {
	Least int           // 0: all
	Span  time.Duration // before now; 0: none
}

// expired returns those of entries, which are all but the one that was just made, that do not stay, the oldest first.
func (k Keep) expired(entries []Entry, now time.Time) []Entry {
	if k.Least == 0 {
		return nil
	}
	slices.SortFunc(entries, func(a, b Entry) int {
		return cmp.Or(a.written.Compare(b.written), a.At.Compare(b.At)) // many servers tell whole seconds
	})
	old := 0
	for old < len(entries)-(k.Least-1) && (k.Span == 0 || now.Sub(entries[old].written) > k.Span) {
		old++
	}
	return entries[:old]
}

// expire removes the manifests of a store that do not stay after the one named made, the oldest first, and returns the
// times of those.
func (b *bucket) expire(ctx context.Context, store string, keep Keep, made string) (removed []time.Time, err error) {
	entries, err := b.entries(ctx, store)
	if err != nil {
		return nil, err
	}
	i := slices.IndexFunc(entries, func(e Entry) bool { return e.name == made })
	if i < 0 {
		return nil, fmt.Errorf("%s does not list the backup that was just made", b.place)
	}
	now := entries[i].written
	for _, e := range keep.expired(slices.Delete(entries, i, i+1), now) {
		if err := b.remove(ctx, store+"/"+backupsFolder+e.name); err != nil {
			return removed, err
		}
		removed = append(removed, e.At)
	}
	return removed, nil
}

// sweep removes the objects of a store that no manifest names, and returns how many. The run must have its turn. It
// removes nothing if it cannot read every manifest.
func (b *bucket) sweep(ctx context.Context, store string, say func(string)) (removed int, err error) {
	entries, err := b.entries(ctx, store)
	if err != nil {
		return 0, err
	}
	named := make(map[string]bool)
	for i, e := range entries {
		say(fmt.Sprintf("looking for what no backup needs: %d of %d lists", i, len(entries)))
		m, err := b.manifest(ctx, store, e.name)
		if err != nil {
			return 0, err
		}
		for i := range m.Files {
			named[m.object(&m.Files[i])] = true
		}
	}
	found, err := b.list(ctx, store+"/"+filesFolder)
	if err != nil {
		return 0, err
	}
	now, err := b.entries(ctx, store)
	if err != nil {
		return 0, err
	}
	if !slices.EqualFunc(now, entries, func(a, b Entry) bool { return a.name == b.name }) {
		return 0, errors.New("another run has changed the backups meanwhile")
	}
	var useless []string
	for _, o := range found {
		if objectName.MatchString(o.name) && !named[o.name] {
			useless = append(useless, store+"/"+filesFolder+o.name)
		}
	}
	const batch = 100
	for len(useless) > 0 {
		n := min(batch, len(useless))
		if err := b.remove(ctx, useless[:n]...); err != nil {
			return removed, err
		}
		removed, useless = removed+n, useless[n:]
		say(fmt.Sprintf("removing what no backup needs: %d objects", removed))
	}
	return removed, nil
}
