package audit

import (
	"github.com/cockroachdb/pebble/v2"

	"shunt/engine"
	"shunt/storage/kv"
	"shunt/storage/row"
)

// Entries are entries on their way into a batch. They wait until Put, because keys that follow each other cost
// Pebble's memtable less when they come together.
type Entries struct {
	stamps *stamps
	key    []byte
	bytes  []byte // encoded
	places []place
}

// place is where an entry ends in Entries.bytes, and its stamp.
type place struct {
	stamp uint64
	end   int
}

// maxEntryBytes is the largest buffer that is kept for later entries.
const maxEntryBytes = 4 << 20

// Add gives an entry its stamp. Put writes it into the batch of the change that it describes.
func (e *Entries) Add(entry *engine.AuditEntry) {
	entry.Stamp = e.stamps.next(entry.By.AtMs)
	e.bytes = row.AppendAudit(e.bytes, entry)
	e.places = append(e.places, place{entry.Stamp, len(e.bytes)})
}

// SizeBytes returns the size of the entries that wait.
func (e *Entries) SizeBytes() int { return len(e.bytes) }

// Put writes the entries that wait.
func (e *Entries) Put(b *pebble.Batch) {
	begin := 0
	for _, p := range e.places {
		e.key = row.AppendAuditKey(e.key[:0], p.stamp)
		kv.Set(b, e.key, e.bytes[begin:p.end])
		begin = p.end
	}
	if e.bytes, e.places = e.bytes[:0], e.places[:0]; cap(e.bytes) > maxEntryBytes {
		e.bytes = nil
	}
}
