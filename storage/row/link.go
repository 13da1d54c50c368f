package row

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"strings"

	"shunt/engine"
	"shunt/engine/extras"
)

const (
	hotVersion      = 1
	deletionVersion = 1
	trashedVersion  = 1

	// knownFlags are the flag bits of a hot record of version 1. Three of them determine which
	// fields follow; a new bit without a field needs no change here.
	knownFlags = engine.DurableFlags

	// flagExtras says that the record has extras. No flag of a link has this bit.
	flagExtras engine.Flags = 1 << 7
)

// AppendHot appends a hot record; the link's key is in the row's.
//
//	┌───────────┬─────────┬─────────┬───────┬───────────────┬──────────┬──────────────┬──────────┬────────┐
//	│ version 1 │ flags 1 │ link id │ owner │ [expires, ms] │ [max     │ [deleted,    │ [length, │ target │
//	│           │         │         │       │  zigzag       │    hits] │  ms] zigzag  │  extras] │  …end  │
//	└───────────┴─────────┴─────────┴───────┴───────────────┴──────────┴──────────────┴──────────┴────────┘
//
// A field in brackets is present if its flag is set. Package extras draws the extras. A tombstone has neither them nor
// a target.
func AppendHot(dst []byte, h *engine.Hot) []byte {
	flags := h.Flags
	if h.Extras != "" {
		flags |= flagExtras
	}
	dst = append(dst, hotVersion, byte(flags))
	dst = binary.AppendUvarint(dst, h.ID)
	dst = binary.AppendUvarint(dst, uint64(h.Owner))
	if h.Flags&engine.FlagExpires != 0 {
		dst = binary.AppendVarint(dst, h.ExpiresAtMs)
	}
	if h.Flags&engine.FlagCapped != 0 {
		dst = binary.AppendUvarint(dst, h.MaxHits)
	}
	if h.Flags&engine.FlagTombstone != 0 {
		dst = binary.AppendVarint(dst, h.DeletedAtMs)
	}
	if h.Extras != "" {
		dst = appendString(dst, h.Extras)
	}
	return append(dst, h.Target...)
}

// DecodeHot decodes the hot record v of k. The result aliases both.
func DecodeHot(k engine.KeyView, v []byte) (h engine.HotView, err error) {
	err = ReadHot(&h, k, v)
	return h, err
}

// ReadHot is DecodeHot into h, whatever h was.
func ReadHot(h *engine.HotView, k engine.KeyView, v []byte) error {
	h.KeyView = k
	if readUsualHot(h, v) {
		return nil
	}
	return readAnyHot(h, v)
}

// readAnyHot reads a hot record into all fields of h but the key.
func readAnyHot(h *engine.HotView, v []byte) error {
	h.ExpiresAtMs, h.MaxHits, h.DeletedAtMs, h.CountsAtOnce, h.Extras = 0, 0, 0, false, nil
	r := readValue("hot record", v, hotVersion)
	flags := engine.Flags(r.byte())
	h.Flags, h.ID, h.Owner = flags&^flagExtras, r.uvarint(), r.uint32()
	if h.Flags&^knownFlags != 0 {
		r.fail("unknown flags")
	}
	if h.Flags&engine.FlagExpires != 0 {
		h.ExpiresAtMs = r.varint()
	}
	if h.Flags&engine.FlagCapped != 0 {
		h.MaxHits = r.uvarint()
	}
	targetLimit := engine.MaxTargetBytes
	if h.Flags&engine.FlagTombstone != 0 {
		h.DeletedAtMs = r.varint()
		targetLimit = 0
	}
	if flags&flagExtras != 0 {
		h.Extras = r.extras(targetLimit > 0)
	}
	h.Target = r.remaining(targetLimit)
	return r.end()
}

// extras reads the extras of a record, which alias the value. A tombstone, which is not live, has none.
func (r *reader) extras(live bool) []byte {
	b := r.bytes(extras.MaxBytes)
	if _, err := extras.Read(b); err != nil || len(b) == 0 || !live {
		r.fail("malformed extras, or some that this program does not know")
	}
	return b
}

// fieldFlags are the flags of records that have a field which most have not.
const fieldFlags = engine.FlagExpires | engine.FlagCapped | engine.FlagTombstone | flagExtras

// readUsualHot is readAnyHot for the record of a link without expiry, cap and extras, as most are, in a third of the
// time. If it returns false, the record is another one or damaged, and h is undefined.
func readUsualHot(h *engine.HotView, v []byte) bool {
	if len(v) < 4 || v[0] != hotVersion || engine.Flags(v[1])&(^knownFlags|fieldFlags) != 0 {
		return false
	}
	id, idBytes := binary.Uvarint(v[2:])
	if idBytes <= 0 || idBytes > 1 && v[1+idBytes] == 0 {
		return false
	}
	rest := v[2+idBytes:]
	owner, ownerBytes := binary.Uvarint(rest)
	if ownerBytes <= 0 || ownerBytes > 1 && rest[ownerBytes-1] == 0 || owner > math.MaxUint32 {
		return false
	}
	h.Flags, h.ID, h.Owner, h.Target = engine.Flags(v[1]), id, uint32(owner), rest[ownerBytes:]
	h.ExpiresAtMs, h.MaxHits, h.DeletedAtMs, h.CountsAtOnce, h.Extras = 0, 0, 0, false, nil
	return len(h.Target) <= engine.MaxTargetBytes
}

// OwnHot returns a copy of h that shares no memory with it.
func OwnHot(h *engine.HotView) engine.Hot {
	return engine.Hot{
		Key: h.Own(), ID: h.ID, Owner: h.Owner, Flags: h.Flags, ExpiresAtMs: h.ExpiresAtMs, MaxHits: h.MaxHits,
		DeletedAtMs: h.DeletedAtMs, Target: string(h.Target), Extras: string(h.Extras),
	}
}

// AppendDeletion appends the value of a row of the indexes by deletion. The version of the link is 0 if its cold record
// is still there, which has it.
//
//	┌───────────┬────────┬───────────┬───────────────────┐
//	│ version 1 │ domain │ code      │ [version of link] │
//	└───────────┴────────┴───────────┴───────────────────┘
func AppendDeletion(dst []byte, k engine.Key, version uint64) []byte {
	dst = appendKey(append(dst, deletionVersion), k)
	if version == 0 {
		return dst
	}
	return binary.AppendUvarint(dst, version)
}

// DecodeDeletion decodes a row of the indexes by deletion.
func DecodeDeletion(v []byte) (k engine.Key, version uint64, err error) {
	r := readValue("deletion", v, deletionVersion)
	k = r.key().Own()
	if k.Code == "" {
		r.fail("no code")
	}
	if len(r.rest) > 0 {
		version = r.uvarint()
		r.require(version > 0)
	}
	return k, version, r.end()
}

// AppendTrashed appends the value of a row of the trash: what the link was.
//
//	┌───────────┬────────┬──────┬────────────┐
//	│ version 1 │ domain │ code │ hot record │
//	└───────────┴────────┴──────┴────────────┘
func AppendTrashed(dst []byte, h *engine.Hot) []byte {
	return AppendHot(appendKey(append(dst, trashedVersion), h.Key), h)
}

// DecodeTrashed decodes the value of a row of the trash.
func DecodeTrashed(v []byte) (engine.Hot, error) {
	r := readValue("deleted link", v, trashedVersion)
	k := r.key()
	if r.err == nil && len(k.Code) == 0 {
		r.fail("no code")
	}
	if r.err != nil {
		return engine.Hot{}, r.err
	}
	view, err := DecodeHot(k, r.rest)
	if err == nil && (view.Flags&engine.FlagTombstone != 0 || len(view.Target) == 0) {
		err = fmt.Errorf("%w: a deleted link that was none", ErrCorrupt)
	}
	return OwnHot(&view), err
}

// CheckMutation returns an error for a mutation that could be written but not read back.
func CheckMutation(m *engine.Mutation) error {
	if err := checkBy(m.By); err != nil {
		return err
	}
	h, c := &m.Hot, &m.Cold
	deleted := h.Flags&engine.FlagTombstone != 0
	switch {
	case m.Purge != nil && (m.Purge.Code == "" || len(m.Purge.Code) > engine.MaxCodeBytes):
		return fmt.Errorf("purge of a code of %d bytes", len(m.Purge.Code))
	case m.Purge != nil, m.Cap != nil && h.Code == "":
		return nil
	case h.Code == "" || len(h.Code) > engine.MaxCodeBytes:
		return fmt.Errorf("code of %d bytes", len(h.Code))
	case h.Flags&^knownFlags != 0:
		return fmt.Errorf("unknown flags %#x", h.Flags&^knownFlags)
	case len(h.Target) > engine.MaxTargetBytes:
		return fmt.Errorf("target of %d bytes", len(h.Target))
	case deleted && (h.Target != "" || h.Extras != ""):
		return errors.New("tombstone with a target or extras")
	case deleted && m.Receipt != nil:
		return errors.New("tombstone with a receipt")
	case deleted:
		return nil
	case isMalformed(h.Extras):
		return fmt.Errorf("malformed extras of %d bytes", len(h.Extras))
	case c.Key != h.Key:
		return fmt.Errorf("cold record of %v for %v", c.Key, h.Key)
	case m.Trash == engine.TrashRestored && (m.Before == nil || m.Before.Hot.ID != h.ID || m.Before.Hot.Flags&engine.FlagTombstone == 0):
		return fmt.Errorf("%q is restored and was not deleted", h.Code)
	case m.ResetAtMs != 0 && (m.Before == nil || m.Before.Hot.ID == h.ID):
		return fmt.Errorf("figures of %q are reset without another id", h.Code)
	}
	return checkCold(c)
}

func isMalformed(blob string) bool {
	_, err := extras.Read(blob)
	return err != nil
}

// CheckBulk does the same as CheckMutation for the creations of one request and their receipt.
func CheckBulk(b *engine.Bulk) error {
	if len(b.Creations) > engine.MaxBulk {
		return fmt.Errorf("%d creations", len(b.Creations))
	}
	for i := range b.Creations {
		m := &b.Creations[i]
		if m.Before != nil || m.Receipt != nil || m.By != nil || m.Purge != nil || m.Hot.Flags&engine.FlagTombstone != 0 {
			return fmt.Errorf("creation of %q is another mutation", m.Hot.Code)
		}
		if err := CheckMutation(m); err != nil {
			return err
		}
	}
	if b.Receipt != nil {
		if err := checkReceiptItems(b.Receipt.Items); err != nil {
			return err
		}
	}
	return checkBy(b.By)
}

func checkTags(tags []string) error {
	if len(tags) > engine.MaxTags {
		return fmt.Errorf("%d tags", len(tags))
	}
	for _, tag := range tags {
		if len(tag) > engine.MaxTagBytes {
			return fmt.Errorf("tag of %d bytes", len(tag))
		}
		if strings.IndexByte(tag, 0) >= 0 { // it ends a tag in keys
			return errors.New("tag with a zero byte")
		}
	}
	return nil
}
