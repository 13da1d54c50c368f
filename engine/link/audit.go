package link

import (
	"slices"
	"time"

	"shunt/engine/index"
)

// AuditAction is what was done. Its numbers are durable.
type AuditAction uint8

// Actions. LinksCreated and LinksImported are one entry for all links of a request.
const (
	LinkCreated AuditAction = 1 + iota
	LinkEdited
	LinkDeleted
	LinksCreated
	LinksImported
	UserAdded
	UserEdited
	UserDeleted
	TokenIssued
	TokenRevoked
	SetupLinkMade
	SetupLinkUsed
	SessionsEnded
	CopyGiven // to a node that joins the cluster
	LinkReset // its figures
	DomainAdded
	DomainEdited
	DomainDeleted
	CertificateTried // of a host: it was got, or not
	LinkRestored     // from the trash
	LinkPurged       // deleted such that it cannot be restored
	numAuditActions
)

// Valid reports whether a is an action.
func (a AuditAction) Valid() bool { return a >= LinkCreated && a < numAuditActions }

// OfLink reports whether an entry of the action is about one link.
func (a AuditAction) OfLink() bool {
	switch a {
	case LinkCreated, LinkEdited, LinkDeleted, LinkReset, LinkRestored, LinkPurged:
		return true
	}
	return false
}

// AuditEntry is an entry of the audit log. It has no secret: a new password is a change without
// values.
type AuditEntry struct {
	// Stamp is the entry's place in the log: Unix ms << 20, or more, if that is needed for each to be
	// higher than the one before. So the log is in the order of commits, even after the clock was put
	// back; At has the time by the clock.
	Stamp  uint64
	Action AuditAction
	By     By

	// Of a link: its record before and after. A creation and a restore have only After, a deletion only Before.
	Before, After *Record

	// Of a request for several links: how many were made, were there already, and were refused, and
	// the first and the last key that was made, in the order of keys, and the ids of the links that were made.
	Created, Existing, Failed uint32
	First, Last               index.Key
	IDs                       []IDRun

	// Of an account: the user, the token if it is about one, and the fields that changed.
	User    uint32
	TokenID string
	Changes []AuditChange
}

// IDRun is ids that follow each other. The links of a request have one run as a rule, because ids come in blocks.
type IDRun struct{ First, Count uint64 }

// Made reports whether the link with that id is one of several that were made.
func (e *AuditEntry) Made(id uint64) bool {
	return slices.ContainsFunc(e.IDs, func(r IDRun) bool { return id >= r.First && id-r.First < r.Count })
}

// AddID adds the id of a link that was made.
func (e *AuditEntry) AddID(id uint64) {
	if n := len(e.IDs); n > 0 && e.IDs[n-1].First+e.IDs[n-1].Count == id {
		e.IDs[n-1].Count++
		return
	}
	e.IDs = append(e.IDs, IDRun{id, 1})
}

// AuditChange is a field of an account with its value before and after.
type AuditChange struct{ Field, Before, After string }

// Limits of an entry.
const (
	MaxAuditChanges   = 16
	MaxAuditTextBytes = 1024 // of each text
)

// stampShift is the number of low bits of a stamp that are no time.
const stampShift = 20

// AuditStamp returns the lowest stamp of that time. Times before 1970 have that of 1970, and those
// after the year 2527 that of its last moment.
func AuditStamp(atMs int64) uint64 {
	return min(uint64(max(atMs, 0)), 1<<(64-stampShift)-1) << stampShift
}

// StampTime returns the time of a stamp.
func StampTime(stamp uint64) time.Time { return time.UnixMilli(int64(stamp >> stampShift)).UTC() }

// At returns when the change was made, by the clock of that moment.
func (e *AuditEntry) At() time.Time {
	if e.By.AtMs == 0 {
		return StampTime(e.Stamp)
	}
	return time.UnixMilli(e.By.AtMs).UTC()
}

// Detail returns the link of a record in the log. Its hits are those that it was imported with.
func (r *Record) Detail(now time.Time) Detail { return detailOf(r, r.Cold.ImportedHits, now) }
