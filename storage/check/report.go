package check

import "shunt/engine"

// Options are the settings of a check.
type Options struct {
	Faults *engine.Faults // receives the faults

	// KnowsOwner reports whether a user with that number exists. Any goroutine may call it. If it
	// is nil, all owners count as known.
	KnowsOwner func(owner uint32) (bool, error)

	// Progress is called now and then, from any goroutine, with the step and the number of rows or
	// bytes that it has read. It may be nil.
	Progress func(step string, done uint64)
}

// Report counts the records that a check has read.
type Report struct {
	Links          uint64 `json:"links"`
	Tombstones     uint64 `json:"tombstones"`
	DeletedRecords uint64 `json:"deleted_records"` // cold records of deleted links
	ByOwner        uint64 `json:"by_owner"`
	ByTag          uint64 `json:"by_tag"`
	ByDeletion     uint64 `json:"by_deletion"`
	Reuse          uint64 `json:"reuse,omitempty"`   // links that were made to be reused
	Trash          uint64 `json:"trash,omitempty"`   // links that can be restored
	Leaving        uint64 `json:"leaving,omitempty"` // links that were deleted, or reset, and still have figures
	Receipts       uint64 `json:"receipts"`
	LinkHours      uint64 `json:"link_hours"`
	OwnerHours     uint64 `json:"owner_hours"`
	LinkDays       uint64 `json:"link_days"`
	OwnerDays      uint64 `json:"owner_days"`
	LinkLives      uint64 `json:"link_lives"`
	Imports        uint64 `json:"imports"` // hours in which owners imported hits
	Summaries      uint64 `json:"summaries"`
	SummariesDue   uint64 `json:"summaries_due,omitempty"`
	Accounts       uint64 `json:"accounts"`
	Domains        uint64 `json:"domains"`
	Certificates   uint64 `json:"certificates,omitempty"`
	Audit          uint64 `json:"audit"`
	Outbox         uint64 `json:"outbox,omitempty"` // records that other nodes of the cluster have not pulled yet
	Pulled         uint64 `json:"pulled,omitempty"` // positions in the outboxes of other nodes
	Caps           uint64 `json:"caps,omitempty"`   // of links, in a cluster
	Meta           uint64 `json:"meta"`
	Files          uint64 `json:"files"` // of the database
	FileBytes      uint64 `json:"file_bytes"`
	Skipped        string `json:"skipped,omitempty"` // the steps that were left out, and why
}
