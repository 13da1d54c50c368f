package links

import (
	"errors"

	"github.com/cockroachdb/pebble/v2"

	"shunt/engine"
	"shunt/storage/kv"
	"shunt/storage/row"
)

// IndexTags writes the index by tag again from the links. A repeat has the same result, so it may be cut off
// anywhere.
func (l *Links) IndexTags() (err error) {
	batch := Batch{batch: l.db.NewBatch()}
	defer func() { err = errors.Join(err, batch.batch.Close()) }()
	tags, cold := row.TableRange(row.TableByTag), row.TableRange(row.TableCold)
	kv.Must(batch.batch.DeleteRange(tags.Lower, tags.Upper, nil))
	it, err := l.db.NewIter(&pebble.IterOptions{LowerBound: cold.Lower, UpperBound: cold.Upper})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, it.Close()) }()
	for valid := it.First(); valid; valid = it.Next() {
		if err := l.indexTagsOf(&batch, it); err != nil {
			return err
		}
		if batch.batch.Len() < commitBatchBytes {
			continue
		}
		if err := l.writer.Sync(batch.batch, "writing index rows"); err != nil {
			return err
		}
		batch.batch.Reset()
	}
	return errors.Join(it.Error(), l.writer.Sync(batch.batch, "writing index rows"))
}

// indexTagsOf adds the index rows by tag of the link whose cold record it is at, if the link is live.
func (l *Links) indexTagsOf(b *Batch, it *pebble.Iterator) error {
	id, err := row.SplitColdKey(it.Key())
	if err != nil {
		return err
	}
	value, err := it.ValueAndErr()
	if err != nil {
		return err
	}
	c, err := row.DecodeCold(value)
	if err != nil || len(c.Tags) == 0 {
		return err
	}
	hot, err := l.ReadHot(c.Code)
	if errors.Is(err, engine.ErrNotFound) || err == nil && (hot.ID != id || hot.Flags&engine.FlagTombstone != 0) {
		return nil
	}
	if err == nil {
		b.addByTag(&engine.Mutation{Hot: hot, Cold: c})
	}
	return err
}
