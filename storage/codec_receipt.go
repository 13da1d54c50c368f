package storage

import (
	"encoding/binary"

	"shunt/engine"
)

const (
	receiptVersion = 1

	// A receipt's outcome: what was answered.
	outcomeCreated = 0
	outcomeExisted = 1

	// maxHotBytes and maxColdBytes are more than any record has.
	maxHotBytes  = engine.MaxTargetBytes + 64
	maxColdBytes = engine.MaxCodeBytes + engine.MaxTitleBytes + engine.MaxTags*(engine.MaxTagBytes+2) + 64
)

// appendReceipt appends a receipt; sender and key are in the row's key. The link is there whole, as it was answered: it may
// be edited or deleted since.
//
//	┌───────────┬──────────────┬──────────────┬──────────────────────┬────────────┬─────────────┐
//	│ version 1 │ created, ms  │ body hash 16 │ outcome 1: 0 created │ hot record │ cold record │
//	│           │ zigzag       │              │            1 existed │            │ …end        │
//	└───────────┴──────────────┴──────────────┴──────────────────────┴────────────┴─────────────┘
//
// A request for several links will have receipts of another version.
func appendReceipt(dst []byte, r *engine.Receipt, hot *engine.Hot, cold *engine.Cold) []byte {
	dst = binary.AppendVarint(append(dst, receiptVersion), r.CreatedAtMs)
	dst = append(dst, r.Body[:]...)
	outcome := byte(outcomeCreated)
	if r.Existed {
		outcome = outcomeExisted
	}
	dst = appendString(append(dst, outcome), appendHot(nil, hot))
	return appendCold(dst, cold)
}

// decodeReceipt decodes the receipt v of a request. The result shares no memory with v.
func decodeReceipt(k engine.RequestKey, v []byte) (engine.Receipt, error) {
	r := readValue("receipt", v, receiptVersion)
	x := engine.Receipt{Request: engine.Request{RequestKey: k}, CreatedAtMs: r.varint()}
	copy(x.Body[:], r.fixed(len(x.Body)))
	outcome := r.byte()
	if outcome > outcomeExisted {
		r.fail("unknown outcome")
	}
	x.Existed = outcome == outcomeExisted
	hot, cold := r.bytes(maxHotBytes), r.remaining(maxColdBytes)
	err := r.end()
	if err != nil {
		return x, err
	}
	if x.Link.Cold, err = decodeCold(cold); err != nil {
		return x, err
	}
	view, err := decodeHot([]byte(x.Link.Cold.Code), hot)
	x.Link.Hot = ownHot(&view)
	return x, err
}

// decodeReceiptTime reads when a receipt's request succeeded, and looks at no more than that.
func decodeReceiptTime(v []byte) (createdAtMs int64, err error) {
	r := readValue("receipt", v, receiptVersion)
	createdAtMs = r.varint()
	return createdAtMs, r.err
}
