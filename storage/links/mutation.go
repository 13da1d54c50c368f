package links

import (
	"cmp"
	"encoding/binary"
	"maps"
	"math"
	"math/bits"
	"slices"

	"github.com/cockroachdb/pebble/v2"

	"shunt/engine"
	"shunt/storage/audit"
	"shunt/storage/kv"
	"shunt/storage/row"
)

// Batch writes mutations into a Pebble batch. It reuses its buffers for each row.
type Batch struct {
	batch      *pebble.Batch
	key, value []byte

	creations []*engine.Mutation // whose rows writeCreations writes
	waiting   int                // bytes of these rows, at most
	byKey     []keyOfCreation    // of these creations
	texts     []byte             // of these creations, one after another
	textEnds  []int              // where each ends

	entry engine.AuditEntry // the last one, kept for its memory
	after engine.Record     // its
	audit audit.Entries
}

// NewBatch returns a batch that writes into b. Mutations that say who made them need entries.
func NewBatch(b *pebble.Batch, entries audit.Entries) *Batch { return &Batch{batch: b, audit: entries} }

// Size returns the number of bytes of the batch, or a little more: see creationBytes.
func (b *Batch) Size() int { return b.batch.Len() + b.audit.SizeBytes() + b.waiting }

// Finish writes the creations and entries that wait.
func (b *Batch) Finish() {
	b.writeCreations()
	b.audit.Put(b.batch)
	b.entry, b.after = engine.AuditEntry{}, engine.Record{} // releases strings
}

// Add writes the rows that m changes. It always writes the hot record. A creation or an edit writes
// the cold record and the index rows. An edit or a deletion removes the index rows that are no
// longer true. A deletion, and a reset of figures, writes the row by which a purge finds it. The receipt is written if
// there is one, and an entry of the audit log if the mutation says who made it. m must stay as it is until
// Finish.
func (b *Batch) Add(m *engine.Mutation) {
	if m.Receipt != nil {
		b.key = row.AppendReceiptKey(b.key[:0], &m.Receipt.RequestKey)
		b.value = row.AppendReceipt(b.value[:0], m.Receipt, &m.Hot, &m.Cold)
		kv.Set(b.batch, b.key, b.value)
	}
	deleted := m.Hot.Flags&engine.FlagTombstone != 0
	if m.By != nil {
		fillEntry(&b.entry, &b.after, m, deleted)
		b.audit.Add(&b.entry)
	}
	if m.Before == nil && !deleted {
		b.addCreation(m)
		return
	}
	b.writeCreations()
	b.addHot(m)
	if m.Cap != nil {
		b.addCap(m.Cap)
	}
	switch {
	case m.Trash == engine.TrashRestored:
		b.removeTrashed(&m.Before.Hot)
		b.remove(row.AppendLeavingKey(b.key[:0], row.HourAt(m.Before.Hot.DeletedAtMs), m.Hot.ID))
	case m.Before != nil:
		b.removeIndexRows(m.Before, m, deleted)
	}
	if deleted {
		b.addDeleted(m)
		return
	}
	if m.ResetAtMs != 0 { // as if the link of that id was deleted
		b.addLeaving(row.HourAt(m.ResetAtMs), m.Before.Hot.ID, m.Hot.Key)
	}
	b.addCold(m)
	b.texts = engine.AppendSearched(b.texts[:0], &m.Hot, &m.Cold)
	b.addIndexRows(m, b.texts)
	b.texts = b.texts[:0]
}

func (b *Batch) addHot(m *engine.Mutation) {
	b.key = row.AppendHotKey(b.key[:0], m.Hot.Key)
	b.value = row.AppendHot(b.value[:0], &m.Hot)
	kv.Set(b.batch, b.key, b.value)
}

func (b *Batch) addCold(m *engine.Mutation) {
	b.key = row.AppendColdKey(b.key[:0], m.Hot.ID)
	b.value = row.AppendCold(b.value[:0], &m.Cold)
	kv.Set(b.batch, b.key, b.value)
}

// addImportedHits begins the life row of a link that brings hits along, and its day rows if it brings their days.
func (b *Batch) addImportedHits(m *engine.Mutation) {
	if m.Cold.ImportedHits > 0 {
		b.key = row.AppendLinkLifeKey(b.key[:0], m.Hot.ID)
		b.mergeHits(m.Cold.ImportedHits)
	}
	for d := range m.Cold.Daily.All() {
		b.key = row.AppendLinkDayKey(b.key[:0], m.Hot.ID, d.Day)
		b.mergeHits(d.Hits)
	}
}

// mergeHits adds hits to the row of b.key.
func (b *Batch) mergeHits(hits uint64) {
	b.value = row.AppendTally(b.value[:0], &engine.Tally{Hits: hits})
	kv.Merge(b.batch, b.key, b.value)
}

// addOwnersImports adds what creations brought along to the rows of their owners: hits with their days to these days,
// and the others with one operand for neighbours of one owner and hour.
func (b *Batch) addOwnersImports(all []*engine.Mutation) {
	b.addOwnersDays(all)
	owner, hour, hits := uint32(0), uint32(0), uint64(0)
	add := func() {
		if hits > 0 {
			b.key = row.AppendImportKey(b.key[:0], owner, hour)
			b.mergeHits(hits)
		}
	}
	for _, m := range all {
		undated := m.Cold.UndatedHits()
		if undated == 0 {
			continue
		}
		at := row.HourAt(m.Cold.ImportedAtMs)
		sum, carry := bits.Add64(hits, undated, 0)
		if m.Hot.Owner != owner || at != hour || carry != 0 {
			add()
			owner, hour, sum = m.Hot.Owner, at, undated
		}
		hits = sum
	}
	add()
}

// ownerDay is a day of an owner.
type ownerDay struct{ owner, day uint32 }

// addOwnersDays adds the hits by day that creations brought along to the days of their owners, one operand a day.
// Nearly all creations bring none.
func (b *Batch) addOwnersDays(all []*engine.Mutation) {
	var sums map[ownerDay]uint64
	for _, m := range all {
		for d := range m.Cold.Daily.All() {
			if sums == nil {
				sums = make(map[ownerDay]uint64)
			}
			of := ownerDay{m.Cold.DailyOwner, d.Day}
			sums[of] += min(d.Hits, math.MaxUint64-sums[of])
		}
	}
	for _, of := range slices.SortedFunc(maps.Keys(sums), func(x, y ownerDay) int {
		return cmp.Or(cmp.Compare(x.owner, y.owner), cmp.Compare(x.day, y.day))
	}) {
		b.key = row.AppendOwnerDayKey(b.key[:0], of.owner, of.day)
		b.mergeHits(sums[of])
	}
}

// addBulk writes the creations of one request, its receipt, and one entry of the audit log.
func (b *Batch) addBulk(x *engine.Bulk) {
	b.writeCreations()
	for i := range x.Creations {
		b.addCreation(&x.Creations[i])
	}
	b.writeCreations()
	if x.Receipt != nil {
		b.key = row.AppendReceiptKey(b.key[:0], &x.Receipt.RequestKey)
		b.value = row.AppendBulkReceipt(b.value[:0], x.Receipt)
		kv.Set(b.batch, b.key, b.value)
	}
	if x.By != nil {
		b.audit.Add(auditOfBulk(x))
	}
}

// removeIndexRows removes the index rows of before, except those that m writes again anyway.
func (b *Batch) removeIndexRows(before *engine.Record, m *engine.Mutation, deleted bool) {
	old := &before.Hot
	stays := !deleted && old.Owner == m.Hot.Owner && old.ID == m.Hot.ID
	if !stays {
		b.key = row.AppendByOwnerKey(b.key[:0], old.Owner, old.ID)
		kv.Remove(b.batch, b.key)
	}
	b.removeReuse(before, m, stays)
	for _, tag := range before.Cold.Tags {
		if !stays || !engine.HasTag(m.Cold.Tags, tag) {
			b.key = row.AppendByTagKey(b.key[:0], old.Owner, tag, old.ID)
			kv.Remove(b.batch, b.key)
		}
	}
}

// addIndexRows writes the rows of a link by its owner, by its tags and for reuse; text is what is searched of it.
func (b *Batch) addIndexRows(m *engine.Mutation, text []byte) {
	b.addByOwner(m, text)
	b.addByTag(m, text)
	b.addReuse(m)
}

func (b *Batch) addByOwner(m *engine.Mutation, text []byte) {
	b.key = row.AppendByOwnerKey(b.key[:0], m.Hot.Owner, m.Hot.ID)
	e := entryOf(&m.Hot, &m.Cold, text)
	b.value = row.AppendIndexValue(b.value[:0], &e)
	kv.Set(b.batch, b.key, b.value)
}

func (b *Batch) addByTag(m *engine.Mutation, text []byte) {
	if len(m.Cold.Tags) == 0 {
		return
	}
	e := entryOf(&m.Hot, &m.Cold, text)
	e.TextByOwner = len(text) > row.MaxTagTextBytes
	b.value = row.AppendIndexValue(b.value[:0], &e)
	for _, tag := range m.Cold.Tags {
		b.key = row.AppendByTagKey(b.key[:0], m.Hot.Owner, tag, m.Hot.ID)
		kv.Set(b.batch, b.key, b.value)
	}
}

// entryOf returns the entry of a link in the indexes.
func entryOf(h *engine.Hot, c *engine.Cold, text []byte) engine.LinkEntry {
	return engine.LinkEntry{
		KeyView: h.Key.View(), ID: h.ID, Flags: h.Flags, CreatedAtMs: c.CreatedAtMs, UpdatedAtMs: c.UpdatedAtMs, ExpiresAtMs: h.ExpiresAtMs,
		StartsAtMs: h.StartsAtMs(), Text: text,
	}
}

// The rows of creations are written table by table, each in the order of its keys: those of a bulk, and
// those of callers that share a commit. Pebble's memtable then finds the place of a row from that of the
// row before, and the hot rows, whose codes are random, on the way that was just walked. Link by link, a
// link of a bulk of 1,000 took 2.0–2.3 µs to commit and 3.9–4.3 µs with the flush of the memtable, as
// against 1.6 µs and 3.3–3.5 µs in this order, sorting included (400,000 links, Pebble alone, one core).
// With 64 callers, of which some 34 share a commit, a creation over HTTP took about 0.97 of what it had
// taken. Only keys need sorting: ids rise, or nearly so.
//
// Readers see no difference: rows of one key, which only mutations of one code have, stay in the order
// of their mutations, and everything but a creation is written after the creations before it.

// keyOfCreation is the key of a creation, for sorting.
type keyOfCreation struct {
	first uint64 // the domain and the first six bytes of the code, filled up with zeros, big-endian
	index int32  // of the creation
}

// addCreation adds a creation whose rows are written later.
func (b *Batch) addCreation(m *engine.Mutation) {
	b.creations = append(b.creations, m)
	before := len(b.texts)
	b.texts = engine.AppendSearched(b.texts, &m.Hot, &m.Cold)
	b.textEnds = append(b.textEnds, len(b.texts))
	b.waiting += creationBytes(m, len(b.texts)-before)
}

// rowHeadBytes is at most what a row of a creation has in a batch besides the texts of the link: its kind,
// two lengths, the numbers of its key, and those of its value. A cold row has the most.
const rowHeadBytes = 79

// dayRowsBytes is at most what a day that an import brings along has in a batch: the row of the link and that of the
// owner, each with a kind, two lengths, a key of 13 bytes or of 9, and a tally of hits alone (at most 24).
const dayRowsBytes = 80

// creationBytes returns how many bytes the rows that writeCreations makes of m have at most. textBytes is the length of
// what is searched of the link.
func creationBytes(m *engine.Mutation, textBytes int) int {
	code, target := len(m.Hot.Code), len(m.Hot.Target)+len(m.Hot.Extras)
	indexed := rowHeadBytes + code + textBytes
	total := 2*rowHeadBytes + 2*code + target + m.Cold.TextBytes() + indexed // hot, cold, by owner
	if textBytes > row.MaxTagTextBytes {
		textBytes = 0
	}
	for _, tag := range m.Cold.Tags {
		total += rowHeadBytes + code + textBytes + 2*len(tag) // in the row by tag, and in the cold one
	}
	if m.Cold.ImportedHits > 0 {
		total += 2*rowHeadBytes + len(m.Cold.Daily) + m.Cold.Daily.Len()*dayRowsBytes // of the link's life and of its owner, and days
	}
	if m.Cap != nil {
		total += rowHeadBytes
	}
	if m.Cold.Reuse {
		total += rowHeadBytes
	}
	if m.Replaced != nil {
		total += 2*rowHeadBytes + len(m.Replaced.Cold.Code) + len(m.Replaced.Cold.Daily) // out of the trash, and numbers
	}
	return total
}

// writeCreations writes the rows of the creations that wait, but for receipts and entries of the audit
// log.
func (b *Batch) writeCreations() {
	all := b.creations
	for _, m := range all {
		b.addCold(m)
	}
	for i, m := range all {
		b.addByOwner(m, b.textOf(i))
	}
	for i, m := range all { // few have any of these
		b.addByTag(m, b.textOf(i))
		b.addReuse(m)
		b.addImportedHits(m)
		if m.Cap != nil {
			b.addCap(m.Cap)
		}
		if m.Replaced != nil {
			b.removeTrashed(&m.Replaced.Hot)
			b.addColdNumbers(m.Replaced)
		}
	}
	b.addOwnersImports(all)
	b.sortByKey(all)
	for _, c := range b.byKey {
		b.addHot(all[c.index])
	}
	clear(all)
	b.creations, b.waiting = all[:0], 0
	b.texts, b.textEnds = b.texts[:0], b.textEnds[:0]
}

// textOf returns what is searched of a creation that waits.
func (b *Batch) textOf(i int) []byte {
	start := 0
	if i > 0 {
		start = b.textEnds[i-1]
	}
	return b.texts[start:b.textEnds[i]]
}

// sortByKey sets byKey.
func (b *Batch) sortByKey(all []*engine.Mutation) {
	b.byKey = b.byKey[:0]
	for i, m := range all {
		b.byKey = append(b.byKey, keyOfCreation{firstBytes(m.Hot.Key), int32(i)})
	}
	slices.SortFunc(b.byKey, func(x, y keyOfCreation) int {
		if x.first != y.first {
			return cmp.Compare(x.first, y.first)
		}
		return cmp.Or(all[x.index].Hot.Compare(all[y.index].Hot.Key), cmp.Compare(x.index, y.index))
	})
}

// firstBytes returns the first eight bytes of a key in the store, filled up with zeros, so that numbers have the
// order of keys.
func firstBytes(k engine.Key) uint64 {
	var word [8]byte
	binary.BigEndian.PutUint16(word[:], uint16(k.Domain))
	copy(word[2:], k.Code)
	return binary.BigEndian.Uint64(word[:])
}

func (b *Batch) addCap(c *engine.CapChange) {
	b.key = row.AppendCapKey(b.key[:0], c.ID)
	b.value = row.AppendCap(b.value[:0], &c.Cap)
	kv.Set(b.batch, b.key, b.value)
}

// addDeleted writes the rows of a link that is deleted, beside its tombstone.
func (b *Batch) addDeleted(m *engine.Mutation) {
	b.addLeaving(row.HourAt(m.Hot.DeletedAtMs), m.Hot.ID, m.Hot.Key)
	switch {
	case m.Trash == engine.TrashPurged:
		b.removeTrashed(&m.Hot)
		b.addColdNumbers(m.Before)
	case m.Before != nil:
		b.key = row.AppendTrashKey(b.key[:0], m.Hot.Owner, placeOf(&m.Hot))
		b.value = row.AppendTrashed(b.value[:0], &m.Before.Hot)
		kv.Set(b.batch, b.key, b.value)
	}
}

// placeOf returns the place in the trash of the link that has a tombstone.
func placeOf(tombstone *engine.Hot) engine.TrashPlace {
	return engine.TrashPlace{DeletedAtMs: tombstone.DeletedAtMs, ID: tombstone.ID}
}

// removeTrashed takes the link that has a tombstone out of the trash, if it is there.
func (b *Batch) removeTrashed(tombstone *engine.Hot) {
	b.remove(row.AppendTrashKey(b.key[:0], tombstone.Owner, placeOf(tombstone)))
}

// addColdNumbers leaves nothing but numbers of the cold record of a deleted link, if it still has one.
func (b *Batch) addColdNumbers(r *engine.Record) {
	if r.Cold.Code == "" {
		return
	}
	b.key = row.AppendColdKey(b.key[:0], r.Hot.ID)
	b.value = row.AppendColdNumbers(b.value[:0], &r.Cold)
	kv.Set(b.batch, b.key, b.value)
}

// addLeaving writes the row by which a purge finds a link with figures.
func (b *Batch) addLeaving(hour uint32, id uint64, k engine.Key) {
	b.key = row.AppendLeavingKey(b.key[:0], hour, id)
	b.value = row.AppendDeletion(b.value[:0], k, 0)
	kv.Set(b.batch, b.key, b.value)
}

// addDeletion writes the row by which a purge finds a tombstone, and a new link with its code its version.
func (b *Batch) addDeletion(r *engine.Record) {
	b.key = row.AppendByDeletionKey(b.key[:0], row.HourAt(r.Hot.DeletedAtMs), r.Hot.ID)
	b.value = row.AppendDeletion(b.value[:0], r.Hot.Key, r.Cold.Version)
	kv.Set(b.batch, b.key, b.value)
}

// remove deletes a row whose key was made in b.key.
func (b *Batch) remove(key []byte) {
	b.key = key
	kv.Remove(b.batch, key)
}
