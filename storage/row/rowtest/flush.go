package rowtest

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"shunt/engine"
)

// Key returns the key of a code in the default domain.
func Key(code string) engine.Key { return engine.Key{Domain: engine.DefaultDomain, Code: code} }

// Newer is what a newer program may have stored with a link: a field with an unknown tag.
const Newer = "\x63\x05hello"

// Link returns the record of a link that had three targets. One in three has extras, and a field of a newer program.
func Link(code string, id uint64, owner uint32, tags ...string) engine.Record {
	r := engine.Record{
		Hot:  engine.Hot{Key: Key(code), ID: id, Owner: owner, Target: "https://example.com/" + code},
		Cold: engine.Cold{Key: Key(code), Version: 1, CreatedAtMs: 1000, UpdatedAtMs: 1000, Texts: engine.Texts{Title: "title of " + code}, Tags: tags, LastTarget: 3},
	}
	if id%3 == 0 {
		r.SetStart(time.UnixMilli(int64(id)))
		r.SetExpiredURL("https://example.com/after/" + code)
		r.SetQuery(engine.ForwardKeep)
		r.SetCard(engine.Card{Title: "card of " + code, Image: "https://example.com/" + code + ".png"})
		r.Cold.Newer = Newer
	}
	return r
}

func Creation(r engine.Record) engine.Mutation { return engine.Mutation{Hot: r.Hot, Cold: r.Cold} }

func Edit(before, after engine.Record) engine.Mutation {
	return engine.Mutation{Hot: after.Hot, Cold: after.Cold, Before: &before}
}

func Deletion(r engine.Record) engine.Mutation {
	return engine.Mutation{
		Hot:    engine.Hot{Key: r.Hot.Key, ID: r.Hot.ID, Owner: r.Hot.Owner, Flags: engine.FlagTombstone, DeletedAtMs: 2000},
		Before: &r,
	}
}

// Leaving is the purge of a link that was deleted by Deletion: of its tombstone, too, if its code is to be free.
func Leaving(r engine.Record, freesCode bool) engine.Mutation {
	p := engine.Purge{Deletion: engine.Deletion{ID: r.Hot.ID, Key: r.Hot.Key}, FreesCode: freesCode, Figures: true}
	p.Left = &engine.Record{Hot: Deletion(r).Hot, Cold: r.Cold}
	return engine.Mutation{Purge: &p}
}

// Restore takes back Deletion.
func Restore(r engine.Record) engine.Mutation {
	return engine.Mutation{
		Hot: r.Hot, Cold: r.Cold, Before: &engine.Record{Hot: Deletion(r).Hot, Cold: r.Cold}, Trash: engine.TrashRestored,
	}
}

// Again is a creation of r with the code of a link that was deleted by Deletion.
func Again(r, before engine.Record) engine.Mutation {
	m := Creation(r)
	m.Replaced = &engine.Record{Hot: Deletion(before).Hot, Cold: before.Cold}
	return m
}

// LinkHour is a key of a model of a flush: a link, or an owner, in an hour.
type LinkHour struct {
	Hour uint32
	ID   uint64
}

// Flush is a model of a flush.
type Flush struct{ Links, Owners map[LinkHour]*Model }

// NewFlush returns an empty one.
func NewFlush() *Flush {
	return &Flush{Links: map[LinkHour]*Model{}, Owners: map[LinkHour]*Model{}}
}

func (f *Flush) Add(hour uint32, id uint64, owner uint32, m *Model) {
	for _, x := range []struct {
		rows map[LinkHour]*Model
		key  LinkHour
	}{{f.Links, LinkHour{hour, id}}, {f.Owners, LinkHour{hour, uint64(owner)}}} {
		if x.rows[x.key] == nil {
			x.rows[x.key] = &Model{}
		}
		x.rows[x.key].Add(m)
	}
}

// AddTarget counts for a target of a link, whose hit Add has counted.
func (f *Flush) AddTarget(hour uint32, link uint64, target uint8, m *Model) {
	key := LinkHour{hour, engine.TargetID(link, target)}
	if f.Links[key] == nil {
		f.Links[key] = &Model{}
	}
	f.Links[key].Add(m)
}

func (f *Flush) Batch(p engine.Positions) engine.FlushBatch {
	return engine.FlushBatch{
		Positions: p,
		Links: func(yield func(uint32, uint64, *engine.Tally) error) error {
			return eachSorted(f.Links, yield)
		},
		Owners: func(yield func(uint32, uint32, *engine.Tally) error) error {
			return eachSorted(f.Owners, func(hour uint32, owner uint64, t *engine.Tally) error {
				return yield(hour, uint32(owner), t)
			})
		},
	}
}

func eachSorted(rows map[LinkHour]*Model, yield func(uint32, uint64, *engine.Tally) error) error {
	keys := slices.SortedFunc(maps.Keys(rows), func(a, b LinkHour) int {
		return cmp.Or(cmp.Compare(a.Hour, b.Hour), cmp.Compare(a.ID, b.ID))
	})
	for _, k := range keys {
		if err := yield(k.Hour, k.ID, rows[k].Tally()); err != nil {
			return err
		}
	}
	return nil
}
