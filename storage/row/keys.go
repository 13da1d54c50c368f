package row

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math"

	"shunt/engine"
)

// LayoutVersion is the version of everything below DIR/db: tables, keys, and the set of value
// formats. It is stored in DIR/format and in the meta table. Each value format also has a version
// byte of its own. Older ones were never released.
const LayoutVersion = 3

// Tables. Every key begins with the byte of its table; numbers in keys are big-endian, so that keys
// sort as numbers do. A table's byte never changes its meaning, and the byte of a removed table is
// not used again.
//
//	 byte  table         key after the byte                              value
//	┌────┬─────────────┬───────────────────────────────────────────────┬──────────────────────────┐
//	│ 10 │ meta        │ name 1 (see MetaKey)                          │ by name                  │
//	├────┼─────────────┼───────────────────────────────────────────────┼──────────────────────────┤
//	│ 20 │ hot         │ domain 2 · code 1…64                          │ hot record, tombstones   │
//	│ 21 │ cold        │ link id 8                                     │ cold record              │
//	│ 22 │ by owner    │ owner 4 · ^link id 8                          │ index value              │
//	│ 23 │ by tag      │ owner 4 · folded tag · 0 · ^link id 8         │ index value              │
//	│ 24 │ by deletion │ hour of deletion 4 · link id 8                │ deletion: key, version   │
//	│ 25 │ caps        │ link id 8                                     │ cap                      │
//	│ 26 │ reuse       │ owner 4 · hash of the target 8 · ^link id 8   │ nothing                  │
//	│ 27 │ trash       │ owner 4 · ^ms of deletion 8 · ^link id 8      │ hot record as it was     │
//	│ 28 │ leaving     │ hour of deletion 4 · link id 8                │ deletion: the key        │
//	├────┼─────────────┼───────────────────────────────────────────────┼──────────────────────────┤
//	│ 30 │ link hours  │ hour 4 · link id 8                            │ tally row (merged)       │
//	│ 31 │ owner hours │ hour 4 · owner 4                              │ tally row (merged)       │
//	│ 32 │ link days   │ link id 8 · day 4                             │ tally row (merged)       │
//	│ 33 │ link lives  │ link id 8                                     │ tally row (merged)       │
//	│ 34 │ owner days  │ owner 4 · day 4                               │ tally row (merged)       │
//	│ 35 │ imports     │ owner 4 · hour of the import 4                │ tally row (merged): hits │
//	│ 36 │ summaries   │ ^link id 8                                    │ summary                  │
//	│ 37 │ due         │ hour 4 · link id 8                            │ nothing                  │
//	├────┼─────────────┼───────────────────────────────────────────────┼──────────────────────────┤
//	│ 40 │ idempotency │ sender hash 32 · key hash 32                  │ receipt                  │
//	│ 50 │ accounts    │ what api/account lays out: users, names,      │ what api/account encodes │
//	│    │             │ tokens, sessions, last uses                   │                          │
//	│ 51 │ domains     │ what api/domain lays out                      │ what api/domain encodes  │
//	│ 52 │ certificates│ what api/certificate lays out: hosts, …       │ … encodes, with keys     │
//	│ 60 │ audit       │ stamp 8                                       │ audit entry              │
//	├────┼─────────────┼───────────────────────────────────────────────┼──────────────────────────┤
//	│ 70 │ outbox      │ position 8: 1, 2, 3 …                         │ outbox record            │
//	│ 71 │ pulled      │ outbox id 16                                  │ position                 │
//	│ 72 │ edge log    │ sequence 8                                    │ entry (clusterlog)       │
//	│ 73 │ edges       │ name 1…63                                     │ outboxes                 │
//	└────┴─────────────┴───────────────────────────────────────────────┴──────────────────────────┘
//
// In the tables of hours, days and lives, link id is the id of a tally: of a link, or of one of its targets
// (engine.TargetID), which come after all links.
//
// Hours are Unix time / 3600, days those of the store's time zone (engine/zone). The complement ^link id makes the
// newest link come first. Hour rows begin with the hour, not the link, so that an hour is rolled up by one
// sequential scan, and old hours are deleted by one range deletion. A tag is folded (engine.FoldTag), so
// that it is found in any case, and ends in a zero byte, which no tag contains, so that tags are in their
// order and no tag is a prefix of another.
//
// Two indexes let a purge find the oldest deleted links. Leaving has a row for each one that still has figures, even
// if its code belongs to another link by now, and for each id that a link had before a reset. When the figures go, the
// tombstone, if there is one, gets its row in the index by deletion. An unknown hour is 0.
//
// The trash has what a deleted link was, the last deletion first, as long as it can be restored: together with the cold
// record of the id that is the whole link. Milliseconds are Unix time with the sign bit turned, so that those before
// 1970 come last.
//
// A link that was made to be reused has a row by which the next create finds it: see engine/link. The hash has no key,
// so that nodes and restores agree on it.
//
// Imports have the hits that an owner's links brought along when they were imported, without those whose days came
// along: these are in rows of days, and the cold record has them, too. The others have no time, so they are in no row
// of an hour or a day.
//
// A summary has what lists sort a link by, in the order of the rows by owner, so that both are read side by side. Due
// are those of links whose lives grew in an hour since; each node makes its own.
//
// In a cluster, each flush also leaves its rows in the outbox, from which other nodes pull them; pulled
// has the positions that this node has reached in their outboxes. Caps say how many hits of the caps of
// links are used. Without a cluster all three are empty.
//
// A server of its own with edges keeps the edge log for them: its own changes of links. Pulled has the positions in
// the outboxes of edges then, and edges says whose these are.
const (
	TableMeta         = 0x10
	TableHot          = 0x20
	TableCold         = 0x21
	TableByOwner      = 0x22
	TableByTag        = 0x23
	TableByDeletion   = 0x24
	TableCaps         = 0x25
	TableReuse        = 0x26
	TableTrash        = 0x27
	TableLeaving      = 0x28
	TableLinkHours    = 0x30
	TableOwnerHours   = 0x31
	TableLinkDays     = 0x32
	TableLinkLives    = 0x33
	TableOwnerDays    = 0x34
	TableImports      = 0x35
	TableSummaries    = 0x36
	TableSummariesDue = 0x37
	TableReceipts     = 0x40
	TableAccounts     = 0x50
	TableDomains      = 0x51
	TableCertificates = 0x52
	TableAudit        = 0x60
	TableOutbox       = 0x70
	TablePulled       = 0x71
	TableEdgeLog      = 0x72
	TableEdges        = 0x73
)

// Names in the meta table.
//
//	f  layout version            4 bytes big-endian
//	s  store id                  16 random bytes
//	v  visitor key               16 random bytes, secret: of the visitor hash
//	n  node                      2 bytes big-endian: 0, as the high 16 bits of all ids of links
//	i  id bound                  8 bytes big-endian: every id below it may have been given
//	p  positions                 epoch, flush sequence number, open hour, rings: see AppendPositions
//	m  roll-up mark              see AppendMark
//	d  sweep mark                see AppendSweep
//	c  clock                     see AppendClock; absent until a server has run
//	h  first whole hour          4 bytes big-endian: hour rows before it are deleted
//	q  sequence of writes        (merged) see AppendSequence
//	z  time zone                 of all days: see AppendZone; absent until a server has run
//	b  base URL                  see AppendBaseURL; absent until a server has run
//	k  last backup               8 bytes big-endian: Unix ms at its end; absent until there was one
//	l  position in the log       of its cluster: see AppendLogPosition; absent if the store is of no cluster
//	o  outbox                    its id and what it holds: see AppendOutboxState; absent if the store is of no cluster
//	w  log for edges             see AppendEdgeLog; absent if the store has never had an edge
//	e  edge                      1 byte, EdgeInService or EdgeRevoked: the store of an edge, with rows of KeptByEdge only; absent in others
const (
	MetaLayout     = 'f'
	MetaStoreID    = 's'
	MetaVisitorKey = 'v'
	MetaNode       = 'n'
	MetaIDBound    = 'i'
	MetaPositions  = 'p'
	MetaMark       = 'm'
	MetaSweep      = 'd'
	MetaFirstHour  = 'h'
	MetaClock      = 'c'
	MetaSequence   = 'q'
	MetaZone       = 'z'
	MetaBaseURL    = 'b'
	MetaLastBackup = 'k'
	MetaLog        = 'l'
	MetaOutbox     = 'o'
	MetaEdge       = 'e'
	MetaEdgeLog    = 'w'
)

// Values of the row MetaEdge.
const (
	EdgeInService = 1
	EdgeRevoked   = 2 // its writer has refused it
)

// IDCounterBits is the width of a link id. In the id of a tally, the 8 bits above it are the number of a target, 0 for
// the link itself (engine.TargetID).
const IDCounterBits = 48

// MetaKey returns the key of a meta row.
func MetaKey(name byte) []byte { return []byte{TableMeta, name} }

// Shared reports whether the row of a key is the same on all nodes of a cluster, or, of a tally or a summary, whether
// other nodes may write into it: an import begins a link's life, perhaps with days of the link and its owner, and a
// purge ends it. An empty key is of no row.
func Shared(key []byte) bool {
	if len(key) == 0 {
		return false
	}
	switch key[0] {
	case TableHot, TableCold, TableByOwner, TableByTag, TableByDeletion, TableCaps, TableReuse, TableTrash, TableLeaving, TableReceipts, TableAccounts, TableDomains, TableCertificates,
		TableAudit, TableLinkLives, TableLinkDays, TableOwnerDays, TableImports, TableSummaries:
		return true
	case TableMeta:
		return len(key) == 2 && key[1] == MetaIDBound
	}
	return false
}

// CertificatesAccount begins the key, in its table, of the account at the authority that gives certificates. Only nodes
// that order need it, and whoever has it can revoke them all.
const CertificatesAccount = 'a'

// KeptByEdge reports whether an edge of a cluster keeps a shared row: only what redirects and previews
// need, with the caps of links, and of cold records a part (ColdOfEdge). An empty key is of no row.
func KeptByEdge(key []byte) bool {
	if len(key) == 0 {
		return false
	}
	switch key[0] {
	case TableHot, TableCold, TableCaps, TableDomains:
		return true
	case TableCertificates:
		return len(key) > 1 && key[1] != CertificatesAccount
	}
	return len(key) == 2 && key[0] == TableMeta && key[1] == MetaIDBound
}

// hotHeadBytes is what the key of a hot record has before the code.
const hotHeadBytes = 1 + 2

// AppendHotKey appends the key of the hot record of a link.
func AppendHotKey(dst []byte, k engine.Key) []byte {
	return append(binary.BigEndian.AppendUint16(append(dst, TableHot), uint16(k.Domain)), k.Code...)
}

// SplitHotKey returns the link of a hot record. The result aliases key.
func SplitHotKey(key []byte) (engine.KeyView, error) {
	if len(key) <= hotHeadBytes || key[0] != TableHot {
		return engine.KeyView{}, fmt.Errorf("%w: key %x in the table of hot records", ErrCorrupt, key)
	}
	return engine.KeyView{Domain: engine.Domain(binary.BigEndian.Uint16(key[1:])), Code: key[hotHeadBytes:]}, nil
}

// AppendColdKey appends the key of the cold record of a link.
func AppendColdKey(dst []byte, id uint64) []byte {
	return binary.BigEndian.AppendUint64(append(dst, TableCold), id)
}

// SplitColdKey returns the id of the link of a cold record.
func SplitColdKey(key []byte) (id uint64, err error) { return splitID(key, TableCold) }

// SplitLinkLifeKey returns the id of the link of a life row.
func SplitLinkLifeKey(key []byte) (id uint64, err error) { return splitID(key, TableLinkLives) }

func splitID(key []byte, table byte) (id uint64, err error) {
	if len(key) != 1+8 || key[0] != table {
		return 0, fmt.Errorf("%w: key %x in table %x", ErrCorrupt, key, table)
	}
	return binary.BigEndian.Uint64(key[1:]), nil
}

// AppendByOwnerKey appends the key of a link in the index by owner. The key without its last 8
// bytes is the prefix of all links of the owner.
func AppendByOwnerKey(dst []byte, owner uint32, id uint64) []byte {
	dst = binary.BigEndian.AppendUint32(append(dst, TableByOwner), owner)
	return binary.BigEndian.AppendUint64(dst, ^id)
}

// AppendByTagKey appends the key of a link in the index by tag. All spellings of a tag have one key. The
// tag must not contain a zero byte. The key without its last 8 bytes is the prefix of all links with the tag.
func AppendByTagKey(dst []byte, owner uint32, tag string, id uint64) []byte {
	dst = AppendTagsPrefix(dst, owner, engine.FoldTag(tag))
	return binary.BigEndian.AppendUint64(append(dst, 0), ^id)
}

// AppendTagsPrefix appends the prefix of the keys in the index by tag of an owner's tags whose folded
// forms begin with prefix.
func AppendTagsPrefix(dst []byte, owner uint32, prefix string) []byte {
	return append(binary.BigEndian.AppendUint32(append(dst, TableByTag), owner), prefix...)
}

// AppendByDeletionKey appends the key of a link in the index by deletion.
func AppendByDeletionKey(dst []byte, hour uint32, id uint64) []byte {
	dst = binary.BigEndian.AppendUint32(append(dst, TableByDeletion), hour)
	return binary.BigEndian.AppendUint64(dst, id)
}

// AppendLeavingKey is AppendByDeletionKey for a link that still has figures.
func AppendLeavingKey(dst []byte, hour uint32, id uint64) []byte {
	at := len(dst)
	dst = AppendByDeletionKey(dst, hour, id)
	dst[at] = TableLeaving
	return dst
}

// SplitByDeletionKey splits a key of the index by deletion, or of the one of links that still have figures.
func SplitByDeletionKey(key []byte) (hour uint32, id uint64, err error) {
	if len(key) != 1+4+8 || key[0] != TableByDeletion && key[0] != TableLeaving {
		return 0, 0, fmt.Errorf("%w: key %x in the index by deletion", ErrCorrupt, key)
	}
	return binary.BigEndian.Uint32(key[1:]), binary.BigEndian.Uint64(key[5:]), nil
}

// trashKeyBytes is the length of a key of the trash.
const trashKeyBytes = 1 + 4 + 8 + 8

// AppendTrashKey appends the key of a link in the trash of its owner. The key without its last 16 bytes is the prefix
// of all of the owner.
func AppendTrashKey(dst []byte, owner uint32, at engine.TrashPlace) []byte {
	dst = binary.BigEndian.AppendUint32(append(dst, TableTrash), owner)
	dst = binary.BigEndian.AppendUint64(dst, ^(uint64(at.DeletedAtMs) ^ 1<<63))
	return binary.BigEndian.AppendUint64(dst, ^at.ID)
}

// SplitTrashKey splits a key of the trash.
func SplitTrashKey(key []byte) (owner uint32, at engine.TrashPlace, err error) {
	if len(key) != trashKeyBytes || key[0] != TableTrash {
		return 0, at, fmt.Errorf("%w: key %x in the trash", ErrCorrupt, key)
	}
	at.DeletedAtMs = int64(^binary.BigEndian.Uint64(key[5:]) ^ 1<<63)
	at.ID = ^binary.BigEndian.Uint64(key[13:])
	return binary.BigEndian.Uint32(key[1:]), at, nil
}

// TrashRange returns the range of an owner's trash behind a place; nil: all of it.
func TrashRange(owner uint32, after *engine.TrashPlace) Range {
	key := AppendTrashKey(nil, owner, engine.TrashPlace{})
	keys := PrefixRange(key[:trashKeyBytes-16])
	if after != nil {
		keys.Lower = append(AppendTrashKey(nil, owner, *after), 0)
	}
	return keys
}

// reuseKeyBytes is the length of a key of the links to reuse.
const reuseKeyBytes = 1 + 4 + 8 + 8

// AppendReuseKey appends the key of a link to reuse. The key without its last 8 bytes is the prefix of all links of the
// owner to targets of that hash (engine.HashTarget).
func AppendReuseKey(dst []byte, owner uint32, hash, id uint64) []byte {
	dst = binary.BigEndian.AppendUint32(append(dst, TableReuse), owner)
	dst = binary.BigEndian.AppendUint64(dst, hash)
	return binary.BigEndian.AppendUint64(dst, ^id)
}

// SplitReuseKey splits a key of the links to reuse.
func SplitReuseKey(key []byte) (owner uint32, hash, id uint64, err error) {
	if len(key) != reuseKeyBytes || key[0] != TableReuse {
		return 0, 0, 0, fmt.Errorf("%w: key %x in the table of links to reuse", ErrCorrupt, key)
	}
	return binary.BigEndian.Uint32(key[1:]), binary.BigEndian.Uint64(key[5:]), ^binary.BigEndian.Uint64(key[13:]), nil
}

// ReuseRange returns the range of the links of an owner to targets of a hash, newest first.
func ReuseRange(owner uint32, hash uint64) Range {
	return PrefixRange(AppendReuseKey(nil, owner, hash, 0)[:reuseKeyBytes-8])
}

// AppendLinkHourKey appends the key of the tally row of a link in an hour.
func AppendLinkHourKey(dst []byte, hour uint32, id uint64) []byte {
	dst = binary.BigEndian.AppendUint32(append(dst, TableLinkHours), hour)
	return binary.BigEndian.AppendUint64(dst, id)
}

// AppendOwnerHourKey appends the key of the tally row of an owner in an hour.
func AppendOwnerHourKey(dst []byte, hour, owner uint32) []byte {
	dst = binary.BigEndian.AppendUint32(append(dst, TableOwnerHours), hour)
	return binary.BigEndian.AppendUint32(dst, owner)
}

// AppendLinkDayKey appends the key of the tally row of a link in a day.
func AppendLinkDayKey(dst []byte, id uint64, day uint32) []byte {
	dst = binary.BigEndian.AppendUint64(append(dst, TableLinkDays), id)
	return binary.BigEndian.AppendUint32(dst, day)
}

// AppendLinkLifeKey appends the key of the tally row of a link over its life.
func AppendLinkLifeKey(dst []byte, id uint64) []byte {
	return binary.BigEndian.AppendUint64(append(dst, TableLinkLives), id)
}

// AppendSummaryKey appends the key of the summary of a link.
func AppendSummaryKey(dst []byte, id uint64) []byte {
	return binary.BigEndian.AppendUint64(append(dst, TableSummaries), ^id)
}

// SplitSummaryKey returns the id of the link of a summary.
func SplitSummaryKey(key []byte) (id uint64, err error) {
	id, err = splitID(key, TableSummaries)
	return ^id, err
}

// AppendSummaryDueKey appends the key that says that the summary of a link is due since an hour.
func AppendSummaryDueKey(dst []byte, hour uint32, id uint64) []byte {
	dst = binary.BigEndian.AppendUint32(append(dst, TableSummariesDue), hour)
	return binary.BigEndian.AppendUint64(dst, id)
}

// SplitSummaryDueKey splits a key of the summaries that are due.
func SplitSummaryDueKey(key []byte) (hour uint32, id uint64, err error) {
	if len(key) != 1+4+8 || key[0] != TableSummariesDue {
		return 0, 0, fmt.Errorf("%w: key %x in the table of summaries that are due", ErrCorrupt, key)
	}
	return binary.BigEndian.Uint32(key[1:]), binary.BigEndian.Uint64(key[5:]), nil
}

// AppendDayKey appends a key of one of the two tables of days.
func AppendDayKey(dst []byte, table byte, id uint64, day uint32) []byte {
	if table == TableLinkDays {
		return AppendLinkDayKey(dst, id, day)
	}
	return AppendOwnerDayKey(dst, uint32(id), day)
}

// AppendOwnerDayKey appends the key of the tally row of an owner in a day.
func AppendOwnerDayKey(dst []byte, owner, day uint32) []byte {
	dst = binary.BigEndian.AppendUint32(append(dst, TableOwnerDays), owner)
	return binary.BigEndian.AppendUint32(dst, day)
}

// AppendImportKey appends the key of what an owner imported in an hour.
func AppendImportKey(dst []byte, owner, hour uint32) []byte {
	dst = binary.BigEndian.AppendUint32(append(dst, TableImports), owner)
	return binary.BigEndian.AppendUint32(dst, hour)
}

// SplitImportKey splits a key of the imports.
func SplitImportKey(key []byte) (owner, hour uint32, err error) {
	if len(key) != 1+4+4 || key[0] != TableImports {
		return 0, 0, fmt.Errorf("%w: key %x in the table of imports", ErrCorrupt, key)
	}
	return binary.BigEndian.Uint32(key[1:]), binary.BigEndian.Uint32(key[5:]), nil
}

// AppendReceiptKey appends the key of the receipt of a request.
func AppendReceiptKey(dst []byte, k *engine.RequestKey) []byte {
	return append(append(append(dst, TableReceipts), k.Sender[:]...), k.Key[:]...)
}

// SplitReceiptKey splits a key of the idempotency table.
func SplitReceiptKey(key []byte) (k engine.RequestKey, err error) {
	if len(key) != 1+len(k.Sender)+len(k.Key) || key[0] != TableReceipts {
		return k, fmt.Errorf("%w: key %x in the table of receipts", ErrCorrupt, key)
	}
	copy(k.Sender[:], key[1:])
	copy(k.Key[:], key[1+len(k.Sender):])
	return k, nil
}

// AppendHourPrefix appends the prefix of an hour in one of the two tables of hours.
func AppendHourPrefix(dst []byte, table byte, hour uint32) []byte {
	return binary.BigEndian.AppendUint32(append(dst, table), hour)
}

// HourSuffix returns the part after the hour in a key of the link hours or the owner hours: the
// link id or the owner.
func HourSuffix(key []byte) (uint64, error) {
	switch {
	case len(key) == 1+4+8 && key[0] == TableLinkHours:
		return binary.BigEndian.Uint64(key[5:]), nil
	case len(key) == 1+4+4 && key[0] == TableOwnerHours:
		return uint64(binary.BigEndian.Uint32(key[5:])), nil
	}
	return 0, fmt.Errorf("%w: key %x in a table of hours", ErrCorrupt, key)
}

// SplitDayKey splits a key of the link days or the owner days.
func SplitDayKey(key []byte) (id uint64, day uint32, err error) {
	switch {
	case len(key) == 1+8+4 && key[0] == TableLinkDays:
		return binary.BigEndian.Uint64(key[1:]), binary.BigEndian.Uint32(key[9:]), nil
	case len(key) == 1+4+4 && key[0] == TableOwnerDays:
		return uint64(binary.BigEndian.Uint32(key[1:])), binary.BigEndian.Uint32(key[5:]), nil
	}
	return 0, 0, fmt.Errorf("%w: key %x in a table of days", ErrCorrupt, key)
}

// DayOf returns the day of a key of the link days or the owner days.
func DayOf(key []byte) (uint32, error) {
	_, day, err := SplitDayKey(key)
	return day, err
}

// LinkOf returns the link id of a key of the link hours or the link lives.
func LinkOf(key []byte) (uint64, error) {
	switch {
	case len(key) == 1+8 && key[0] == TableLinkLives, len(key) == 1+4+8 && key[0] == TableLinkHours:
		return binary.BigEndian.Uint64(key[len(key)-8:]), nil
	}
	return 0, fmt.Errorf("%w: key %x in a table of link tallies", ErrCorrupt, key)
}

// Range is the keys from Lower up to, but not including, Upper.
type Range struct{ Lower, Upper []byte }

// PrefixRange returns the range of the keys that begin with prefix, which must contain a byte other
// than 0xff.
func PrefixRange(prefix []byte) Range {
	upper := bytes.Clone(prefix)
	for upper[len(upper)-1] == 0xff {
		upper = upper[:len(upper)-1]
	}
	upper[len(upper)-1]++
	return Range{Lower: prefix, Upper: upper}
}

// OfLinks returns the range of the rows with a prefix, of an hour of links or of all lives, that are of links and not
// of targets.
func OfLinks(prefix []byte) Range {
	return Range{Lower: prefix, Upper: binary.BigEndian.AppendUint64(bytes.Clone(prefix), 1<<IDCounterBits)}
}

// TableRange returns the range of a table.
func TableRange(table byte) Range { return PrefixRange([]byte{table}) }

// HourOf returns the hour of a key in a table of hours. HourSuffix must accept the key.
func HourOf(key []byte) uint32 { return binary.BigEndian.Uint32(key[1:]) }

// AppendSuffix appends the part after the hour in a key of the given table of hours. It is the
// inverse of HourSuffix.
func AppendSuffix(dst []byte, table byte, suffix uint64) []byte {
	if table == TableLinkHours {
		return binary.BigEndian.AppendUint64(dst, suffix)
	}
	return binary.BigEndian.AppendUint32(dst, uint32(suffix))
}

// SplitIndexKey returns the folded tag and the id of a key of an index. The tag is empty in the index by
// owner.
func SplitIndexKey(key []byte) (tag string, id uint64, ok bool) {
	if len(key) < 1+4+8 {
		return "", 0, false
	}
	middle := key[5 : len(key)-8]
	if key[0] == TableByTag {
		end := bytes.IndexByte(middle, 0)
		if end < 0 || end != len(middle)-1 {
			return "", 0, false
		}
		tag = string(middle[:end])
	} else if len(middle) > 0 {
		return "", 0, false
	}
	return tag, ^binary.BigEndian.Uint64(key[len(key)-8:]), true
}

const msPerHour = 3600 * 1000

// HourAt returns the hour of a time as keys have it: the nearest that a key can hold.
func HourAt(ms int64) uint32 {
	return uint32(min(max(ms/msPerHour, 0), math.MaxUint32))
}

// DaysOfLink returns the range of the day rows of a link.
func DaysOfLink(id uint64) Range {
	return Range{AppendLinkDayKey(nil, id, 0), append(AppendLinkDayKey(nil, id, math.MaxUint32), 0)}
}

// MaxTallyKeyBytes is the length of the longest key of a tally row.
const MaxTallyKeyBytes = 1 + 8 + 4
