package link

import "shunt/engine/index"

// RequestKey names a request that its sender may repeat: SHA-256 of the sender, and SHA-256 of the
// key that the sender gave it.
type RequestKey struct{ Sender, Key [32]byte }

// Request is a request that its sender may repeat. Body is the start of a SHA-256 of the request's
// content: a sender that makes two contents with the same start (2^64 attempts) deceives only
// itself.
type Request struct {
	RequestKey
	Body [16]byte
}

// Receipt is the durable answer to a request that made a link, committed together with it, so that
// a repeat gets the same answer even if the link or the rules have changed. A receipt for several
// links has Items instead.
type Receipt struct {
	Request
	CreatedAtMs int64  // when the request succeeded
	Existed     bool   // the link was there already
	Hits        uint64 // of the link at that time; in a receipt that was read, Link.Cold.ImportedHits is the same
	Link        Record
	Items       []ReceiptItem // of a request for several links, at most MaxBulk; nil: the request was for one link
}

// ReceiptItem is one link in the receipt of a request for several.
type ReceiptItem struct {
	Outcome   Outcome
	ID        uint64 // of a link
	index.Key        // of a link
}

// Outcome is how a BulkItem ended. Its numbers are durable.
type Outcome uint8

const (
	OutcomeCreated Outcome = iota
	OutcomeExisted
	OutcomeTaken
	OutcomeRefused
	NumOutcomes
)
