package storage

import (
	"slices"

	"github.com/cockroachdb/pebble/v2"

	"shunt/engine"
	"shunt/storage/row"
)

// mutationBatch writes mutations into a Pebble batch. It reuses its buffers for each row.
//
// Entries of the audit log wait until finish: keys that follow each other cost Pebble's memtable less
// when they come together.
type mutationBatch struct {
	batch      *pebble.Batch
	stamps     *auditStamps
	key, value []byte

	entry   engine.AuditEntry // the last one, kept for its memory
	after   engine.Record     // its
	entries []byte            // encoded
	places  []auditPlace      // of the entries
}

// auditPlace is where an entry ends in mutationBatch.entries, and its stamp.
type auditPlace struct {
	stamp uint64
	end   int
}

// size returns the number of bytes of the batch.
func (b *mutationBatch) size() int { return b.batch.Len() + len(b.entries) }

// finish writes the entries that wait.
func (b *mutationBatch) finish() {
	begin := 0
	for _, p := range b.places {
		b.key = row.AppendAuditKey(b.key[:0], p.stamp)
		set(b.batch, b.key, b.entries[begin:p.end])
		begin = p.end
	}
	if b.entries, b.places = b.entries[:0], b.places[:0]; cap(b.entries) > commitBatchBytes {
		b.entries = nil
	}
	b.entry, b.after = engine.AuditEntry{}, engine.Record{} // releases strings
}

// add writes the rows that m changes. It always writes the hot record. A creation or an edit writes
// the cold record and the index rows. An edit or a deletion removes the index rows that are no
// longer true. A deletion writes the row of the index by deletion. The receipt is written if there
// is one, and an entry of the audit log if the mutation says who made it.
func (b *mutationBatch) add(m *engine.Mutation) {
	b.key = row.AppendHotKey(b.key[:0], m.Hot.Code)
	b.value = row.AppendHot(b.value[:0], &m.Hot)
	set(b.batch, b.key, b.value)
	if m.Receipt != nil {
		b.key = row.AppendReceiptKey(b.key[:0], &m.Receipt.RequestKey)
		b.value = row.AppendReceipt(b.value[:0], m.Receipt, &m.Hot, &m.Cold)
		set(b.batch, b.key, b.value)
	}
	if m.Cap != nil {
		b.addCap(m.Cap)
	}
	deleted := m.Hot.Flags&engine.FlagTombstone != 0
	if m.By != nil {
		b.addAudit(b.auditOf(m, deleted))
	}
	if m.Before != nil {
		b.removeIndexRows(m.Before, m, deleted)
	}
	if deleted {
		b.addDeletion(row.DeletionHour(m.Hot.DeletedAtMs), m.Hot.ID, m.Hot.Code)
		return
	}
	b.key = row.AppendColdKey(b.key[:0], m.Hot.ID)
	b.value = row.AppendCold(b.value[:0], &m.Cold)
	set(b.batch, b.key, b.value)
	b.addIndexRows(m)
	if m.Before == nil && m.Cold.ImportedHits > 0 {
		b.key = row.AppendLinkLifeKey(b.key[:0], m.Hot.ID)
		b.value = row.AppendTally(b.value[:0], &engine.Tally{Hits: m.Cold.ImportedHits})
		merge(b.batch, b.key, b.value)
	}
}

// addBulk writes the creations of one request, its receipt, and one entry of the audit log.
func (b *mutationBatch) addBulk(x *engine.Bulk) {
	for i := range x.Creations {
		b.add(&x.Creations[i])
	}
	if x.Receipt != nil {
		b.key = row.AppendReceiptKey(b.key[:0], &x.Receipt.RequestKey)
		b.value = row.AppendBulkReceipt(b.value[:0], x.Receipt)
		set(b.batch, b.key, b.value)
	}
	if x.By != nil {
		b.addAudit(auditOfBulk(x))
	}
}

// removeIndexRows removes the index rows of before, except those that m writes again anyway.
func (b *mutationBatch) removeIndexRows(before *engine.Record, m *engine.Mutation, deleted bool) {
	old := &before.Hot
	stays := !deleted && old.Owner == m.Hot.Owner && old.ID == m.Hot.ID
	if !stays {
		b.key = row.AppendByOwnerKey(b.key[:0], old.Owner, old.ID)
		remove(b.batch, b.key)
	}
	for _, tag := range before.Cold.Tags {
		if !stays || !slices.Contains(m.Cold.Tags, tag) {
			b.key = row.AppendByTagKey(b.key[:0], old.Owner, tag, old.ID)
			remove(b.batch, b.key)
		}
	}
}

func (b *mutationBatch) addIndexRows(m *engine.Mutation) {
	b.value = row.AppendIndexValue(b.value[:0], row.IndexValue{Code: m.Hot.Code, Host: row.HostOf(m.Hot.Target), Title: m.Cold.Title})
	b.key = row.AppendByOwnerKey(b.key[:0], m.Hot.Owner, m.Hot.ID)
	set(b.batch, b.key, b.value)
	for _, tag := range m.Cold.Tags {
		b.key = row.AppendByTagKey(b.key[:0], m.Hot.Owner, tag, m.Hot.ID)
		set(b.batch, b.key, b.value)
	}
}
