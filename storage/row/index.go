package row

import (
	"encoding/binary"

	"shunt/engine"
	"shunt/engine/search"
)

const (
	indexVersion = 1

	// indexFlags are the flags of a link that an index value keeps, because lists select by them.
	indexFlags = engine.FlagExpires | engine.FlagCapped | engine.FlagDisabled

	// Bits of an index value that no flag of indexFlags has: the row by owner has the text; the link has a start.
	flagTextByOwner engine.Flags = 1 << 7
	flagStarts      engine.Flags = 1 << 0
	ownIndexFlags                = flagTextByOwner | flagStarts

	// MaxTagTextBytes bounds the text of a row by tag. A link may have 32 tags, and a text as long as 32 KiB; so a
	// longer text is in its row by owner alone.
	MaxTagTextBytes = 512
)

// AppendIndexValue appends the part of a link that the indexes by owner and by tag hold, so that a list that is
// filtered or sorted reads no other record. The id is in the row's key.
//
//	┌───────────┬────────┬──────┬─────────┬───────────────┬───────────────┬───────────────┬──────────────┬───────────┐
//	│ version 1 │ domain │ code │ flags 1 │ created, ms   │ updated −     │ [expires, ms] │ [starts, ms] │ text …end │
//	│           │        │      │         │ zigzag        │ created       │ zigzag        │              │           │
//	└───────────┴────────┴──────┴─────────┴───────────────┴───────────────┴───────────────┴──────────────┴───────────┘
//
// Expiry and start are present if their flags are set. With TextByOwner the text is not.
func AppendIndexValue(dst []byte, e *engine.LinkEntry) []byte {
	dst = append(dst, indexVersion)
	dst = appendString(binary.AppendUvarint(dst, uint64(e.Domain)), e.Code)
	flags := e.Flags & indexFlags
	if e.TextByOwner {
		flags |= flagTextByOwner
	}
	if e.StartsAtMs != 0 {
		flags |= flagStarts
	}
	dst = append(dst, byte(flags))
	dst = binary.AppendVarint(dst, e.CreatedAtMs)
	dst = binary.AppendVarint(dst, e.UpdatedAtMs-e.CreatedAtMs)
	if flags&engine.FlagExpires != 0 {
		dst = binary.AppendVarint(dst, e.ExpiresAtMs)
	}
	if e.StartsAtMs != 0 {
		dst = binary.AppendUvarint(dst, uint64(e.StartsAtMs))
	}
	if e.TextByOwner {
		return dst
	}
	return append(dst, e.Text...)
}

// ReadIndexValue decodes an index value into all fields of e but the id. e aliases v.
func ReadIndexValue(e *engine.LinkEntry, v []byte) error {
	r := readValue("index value", v, indexVersion)
	e.KeyView = r.key()
	flags := engine.Flags(r.byte())
	if flags&^(indexFlags|ownIndexFlags) != 0 {
		r.fail("unknown flags")
	}
	e.Flags, e.TextByOwner = flags&indexFlags, flags&flagTextByOwner != 0
	e.CreatedAtMs = r.varint()
	e.UpdatedAtMs = e.CreatedAtMs + r.varint()
	e.ExpiresAtMs, e.StartsAtMs = 0, 0
	if flags&engine.FlagExpires != 0 {
		e.ExpiresAtMs = r.varint()
	}
	if flags&flagStarts != 0 {
		e.StartsAtMs = int64(r.uvarint())
		r.require(e.StartsAtMs > 0)
	}
	limit := search.MaxTextBytes
	if e.TextByOwner {
		limit = 0
	}
	e.Text = r.remaining(limit)
	return r.end()
}

// DecodeIndexKey decodes the key of an index value, and nothing else. It aliases v.
func DecodeIndexKey(v []byte) (engine.KeyView, error) {
	r := readValue("index value", v, indexVersion)
	return r.key(), r.err
}
