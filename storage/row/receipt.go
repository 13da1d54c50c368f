package row

import (
	"encoding/binary"
	"fmt"

	"shunt/engine"
	"shunt/engine/extras"
)

const (
	receiptVersion = 1

	// The outcome of a receipt is the answer that the request got.
	outcomeCreated = 0
	outcomeExisted = 1
	outcomeSeveral = 2 // to a request for several links: each item has an outcome of its own

	// maxHotBytes is larger than any hot record.
	maxHotBytes = engine.MaxTargetBytes + extras.MaxBytes + 64
)

// maxColdBytes is larger than any cold record.
var maxColdBytes = func() int {
	n := engine.MaxCodeBytes + engine.MaxTags*(engine.MaxTagBytes+2) + maxNewerBytes + 128
	for _, text := range coldTexts {
		n += text.Max
	}
	return n
}()

// AppendReceipt appends a receipt; sender and key are in the row's key. The receipt holds the whole
// link as it was answered, since the link may be edited or deleted later. In its cold record, the
// hits at that moment replace the imported hits.
//
//	┌───────────┬──────────────┬──────────────┬──────────────────────┬────────────┬─────────────┐
//	│ version 1 │ created, ms  │ body hash 16 │ outcome 1: 0 created │ hot record │ cold record │
//	│           │ zigzag       │              │            1 existed │            │ …end        │
//	└───────────┴──────────────┴──────────────┴──────────────────────┴────────────┴─────────────┘
//
// Outcome 2 is that of a request for several links; AppendBulkReceipt draws the fields that follow
// it.
func AppendReceipt(dst []byte, r *engine.Receipt, hot *engine.Hot, cold *engine.Cold) []byte {
	outcome := byte(outcomeCreated)
	if r.Existed {
		outcome = outcomeExisted
	}
	dst = appendString(appendReceiptStart(dst, r, outcome), AppendHot(nil, hot))
	answered := *cold
	answered.ImportedHits = r.Hits
	return appendShown(dst, answered)
}

// appendReceiptStart appends the fields that all receipts begin with.
func appendReceiptStart(dst []byte, r *engine.Receipt, outcome byte) []byte {
	dst = binary.AppendVarint(append(dst, receiptVersion), r.CreatedAtMs)
	return append(append(dst, r.Body[:]...), outcome)
}

// AppendBulkReceipt appends the receipt of a request for several links. It has only the key and
// the id of each link: its 1,000 items of at most 78 bytes each take at most 78 KB, and usually
// some 16 KB.
//
//	┌───────────┬─────────────┬──────────────┬─────────────┬───────┐ ┌──────────────────────┬───────────┬────────────────┐
//	│ version 1 │ created, ms │ body hash 16 │ outcome 1:  │ items │ │ outcome 1: 0 created │ [link id] │ [domain, code] │ …
//	│           │ zigzag      │              │  2 several  │       │ │ 1 existed            │           │                │
//	└───────────┴─────────────┴──────────────┴─────────────┴───────┘ │ 2 taken  3 refused   │           │                │
//	                                                                 └──────────────────────┴───────────┴────────────────┘
//
// Fields in brackets are present for an item's outcomes 0 and 1.
func AppendBulkReceipt(dst []byte, r *engine.Receipt) []byte {
	dst = binary.AppendUvarint(appendReceiptStart(dst, r, outcomeSeveral), uint64(len(r.Items)))
	for i := range r.Items {
		x := &r.Items[i]
		dst = append(dst, byte(x.Outcome))
		if x.Outcome <= engine.OutcomeExisted {
			dst = appendKey(binary.AppendUvarint(dst, x.ID), x.Key)
		}
	}
	return dst
}

// DecodeReceipt decodes the receipt v of a request, for one link or for several. The result shares
// no memory with v.
func DecodeReceipt(k engine.RequestKey, v []byte) (engine.Receipt, error) {
	r := readValue("receipt", v, receiptVersion)
	x := engine.Receipt{Request: engine.Request{RequestKey: k}, CreatedAtMs: r.varint()}
	copy(x.Body[:], r.fixed(len(x.Body)))
	switch outcome := r.byte(); outcome {
	case outcomeCreated, outcomeExisted:
		x.Existed = outcome == outcomeExisted
		err := readReceiptLink(&r, &x)
		return x, err
	case outcomeSeveral:
		x.Items = readReceiptItems(&r)
	default:
		r.fail("unknown outcome")
	}
	return x, r.end()
}

// readReceiptLink reads the fields after the outcome in the receipt of one link.
func readReceiptLink(r *reader, x *engine.Receipt) error {
	hot, cold := r.bytes(maxHotBytes), r.remaining(maxColdBytes)
	err := r.end()
	if err != nil {
		return err
	}
	if x.Link.Cold, err = DecodeCold(cold); err != nil {
		return err
	}
	x.Hits = x.Link.Cold.ImportedHits
	view, err := DecodeHot(x.Link.Cold.View(), hot)
	x.Link.Hot = OwnHot(&view)
	return err
}

// readReceiptItems reads the fields after the outcome in the receipt of several links.
func readReceiptItems(r *reader) []engine.ReceiptItem {
	n := r.uvarint()
	if n == 0 || n > engine.MaxBulk {
		r.fail("no items, or too many")
		return nil
	}
	items := make([]engine.ReceiptItem, n)
	for i := range items {
		x := &items[i]
		if x.Outcome = engine.Outcome(r.byte()); x.Outcome >= engine.NumOutcomes {
			r.fail("unknown outcome")
		}
		if x.Outcome > engine.OutcomeExisted {
			continue
		}
		x.ID, x.Key = r.uvarint(), r.key().Own()
		if x.Code == "" {
			r.fail("item without a code")
		}
	}
	return items
}

// checkReceiptItems returns an error for items that could be written but not read back.
func checkReceiptItems(items []engine.ReceiptItem) error {
	if len(items) == 0 || len(items) > engine.MaxBulk {
		return fmt.Errorf("receipt of %d items", len(items))
	}
	for i := range items {
		x := &items[i]
		if x.Outcome >= engine.NumOutcomes || x.Outcome <= engine.OutcomeExisted && (x.Code == "" || len(x.Code) > engine.MaxCodeBytes) {
			return fmt.Errorf("receipt with an item of outcome %d and a code of %d bytes", x.Outcome, len(x.Code))
		}
	}
	return nil
}

// DecodeReceiptTime decodes the time at which a receipt's request succeeded, and nothing else.
func DecodeReceiptTime(v []byte) (createdAtMs int64, err error) {
	r := readValue("receipt", v, receiptVersion)
	createdAtMs = r.varint()
	return createdAtMs, r.err
}
