package row

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"

	"shunt/engine"
	"shunt/engine/daily"
	"shunt/engine/texts"
)

const coldVersion = 1

// The fields of a cold record after those that every link has. A field is its number, its length and its bytes; the
// fields come in the order of their numbers, and one that is empty is left out. A number has one meaning for ever: a
// new field takes the next one, and needs neither a version nor a conversion, because a program keeps fields that it
// does not know as they are (engine.Cold.Newer).
const (
	coldImportedHits = 1 + iota // a number
	coldImportedAt              // ms, zigzag
	coldTitle
	coldTags   // strings
	coldDomain // a number, not that of the default domain
	coldNote
	coldLastTarget // one byte
	coldReuse      // 1
	coldPassword   // a hash
	coldCard       // strings: title, description, image
	coldDaily      // the owner whose days they are, a number, and daily.Packed
	coldFolder     // a number

	coldKnown // fields from this number on are those of newer programs
)

// coldTexts are the fields that are text, by their numbers.
var coldTexts = [coldKnown]texts.Text{coldTitle: *texts.Named("title"), coldNote: *texts.Named("note")}

// maxNewerBytes bounds the fields of newer programs in a record: a hostile one could otherwise make lists slow.
const maxNewerBytes = 16 << 10

// AppendCold appends a cold record; its id is in the key.
//
//	┌───────────┬──────┬─────────┬─────────────┬─────────────┐ ┌────────┬────────┬───────┐
//	│ version 1 │ code │ version │ created, ms │ updated, ms │ │ number │ length │ field │ …end
//	│           │      │ of link │ zigzag      │ zigzag      │ │        │        │       │
//	└───────────┴──────┴─────────┴─────────────┴─────────────┘ └────────┴────────┴───────┘
func AppendCold(dst []byte, c *engine.Cold) []byte {
	dst = appendString(append(dst, coldVersion), c.Code)
	dst = binary.AppendUvarint(dst, c.Version)
	dst = binary.AppendVarint(dst, c.CreatedAtMs)
	dst = binary.AppendVarint(dst, c.UpdatedAtMs)
	var number [binary.MaxVarintLen64]byte
	if c.ImportedHits != 0 {
		dst = appendField(dst, coldImportedHits, binary.AppendUvarint(number[:0], c.ImportedHits))
	}
	if c.ImportedAtMs != 0 {
		dst = appendField(dst, coldImportedAt, binary.AppendVarint(number[:0], c.ImportedAtMs))
	}
	dst = appendTexts(dst, c, coldImportedAt, coldTags)
	var tags []byte
	for _, tag := range c.Tags {
		tags = appendString(tags, tag)
	}
	dst = appendField(dst, coldTags, tags)
	if c.Domain != engine.DefaultDomain {
		dst = appendField(dst, coldDomain, binary.AppendUvarint(number[:0], uint64(c.Domain)))
	}
	dst = appendTexts(dst, c, coldDomain, coldLastTarget)
	if c.LastTarget != 0 {
		dst = appendField(dst, coldLastTarget, []byte{c.LastTarget})
	}
	if c.Reuse {
		dst = appendField(dst, coldReuse, []byte{1})
	}
	dst = appendField(dst, coldPassword, c.Password)
	if c.Card != (engine.Card{}) {
		dst = appendField(dst, coldCard, appendString(appendString(appendString(nil, c.Card.Title), c.Card.Description), c.Card.Image))
	}
	if c.Daily != "" {
		dst = appendField(dst, coldDaily, append(binary.AppendUvarint(number[:0], uint64(c.DailyOwner)), c.Daily...))
	}
	if c.Folder != 0 {
		dst = appendField(dst, coldFolder, binary.AppendUvarint(number[:0], uint64(c.Folder)))
	}
	dst = appendTexts(dst, c, coldFolder, coldKnown)
	return append(dst, c.Newer...)
}

// appendShown appends what others than the link itself may keep of a cold record: no hash of a password, and no hits by
// day, which would make every entry about the link longer.
func appendShown(dst []byte, c engine.Cold) []byte {
	c.Password, c.Daily, c.DailyOwner = "", "", 0
	return AppendCold(dst, &c)
}

// AppendColdNumbers appends what is left of a cold record whose link cannot be restored any more, until its figures
// go: no text.
func AppendColdNumbers(dst []byte, c *engine.Cold) []byte {
	return AppendCold(dst, &engine.Cold{
		Key: c.Key, Version: c.Version, CreatedAtMs: c.CreatedAtMs, UpdatedAtMs: c.UpdatedAtMs, ImportedHits: c.ImportedHits,
		ImportedAtMs: c.ImportedAtMs, Daily: c.Daily, DailyOwner: c.DailyOwner, LastTarget: c.LastTarget,
	})
}

// appendTexts appends the fields that are text and have a number between after and before.
func appendTexts(dst []byte, c *engine.Cold, after, before uint64) []byte {
	for field := after + 1; field < before; field++ {
		dst = appendField(dst, field, *c.Text(coldTexts[field].Name))
	}
	return dst
}

// appendField appends a field, unless it is empty.
func appendField[S string | []byte](dst []byte, field uint64, value S) []byte {
	if len(value) == 0 {
		return dst
	}
	return appendString(binary.AppendUvarint(dst, field), value)
}

// DecodeCold decodes a cold record. The result shares no memory with v.
func DecodeCold(v []byte) (engine.Cold, error) {
	r := readValue("cold record", v, coldVersion)
	c := engine.Cold{
		Key:     engine.Key{Domain: engine.DefaultDomain, Code: string(r.bytes(engine.MaxCodeBytes))},
		Version: r.uvarint(), CreatedAtMs: r.varint(), UpdatedAtMs: r.varint(),
	}
	newer := r.rest
	for before := uint64(0); len(r.rest) > 0; {
		field := r.uvarint()
		if field <= before {
			r.fail("fields without order")
		}
		value := r.bytes(len(r.rest))
		if before = field; field < coldKnown {
			r.readField(&c, field, value)
			newer = r.rest
		}
	}
	if len(newer) > maxNewerBytes {
		r.fail("fields of a newer program are too long")
	}
	c.Newer = string(newer)
	return c, r.end()
}

// ImportOf returns the hits that the link of a cold record brought along without their days, and when (ms; 0: it is not
// known). It checks no other field.
func ImportOf(v []byte) (hits uint64, atMs int64, err error) {
	r := readValue("cold record", v, coldVersion)
	r.bytes(engine.MaxCodeBytes)
	r.uvarint()
	r.varint()
	r.varint()
	var c engine.Cold
	for len(r.rest) > 0 {
		field := r.uvarint()
		if field > coldImportedAt && c.ImportedHits == 0 || field > coldDaily {
			break
		}
		if value := r.bytes(len(r.rest)); field <= coldImportedAt || field == coldDaily {
			r.readField(&c, field, value)
		}
	}
	return c.UndatedHits(), c.ImportedAtMs, r.err
}

// readField reads the value of a known field into c.
func (r *reader) readField(c *engine.Cold, field uint64, value []byte) {
	if len(value) == 0 {
		r.fail("an empty field")
		return
	}
	in := reader{rest: value, what: r.what}
	switch field {
	case coldImportedHits:
		c.ImportedHits = in.uvarint()
		in.require(c.ImportedHits != 0)
	case coldImportedAt:
		c.ImportedAtMs = in.varint()
		in.require(c.ImportedAtMs != 0)
	case coldTags:
		for len(in.rest) > 0 && len(c.Tags) < engine.MaxTags { // more are bytes after its end
			c.Tags = append(c.Tags, string(in.bytes(engine.MaxTagBytes)))
		}
	case coldDomain:
		c.Domain = in.domain()
		in.require(c.Domain != engine.DefaultDomain)
	case coldLastTarget:
		c.LastTarget = in.byte()
		in.require(c.LastTarget != 0)
	case coldReuse:
		c.Reuse = in.byte() == 1
		in.require(c.Reuse)
	case coldPassword:
		c.Password = string(in.remaining(engine.MaxPasswordHashBytes))
		in.require(engine.IsPasswordHash(c.Password))
	case coldCard:
		c.Card.Title = string(in.bytes(engine.MaxCardTitleBytes))
		c.Card.Description = string(in.bytes(engine.MaxCardDescriptionBytes))
		c.Card.Image = string(in.bytes(engine.MaxCardImageBytes))
		in.require(c.Card.Title != "")
	case coldDaily:
		owner := in.uvarint()
		in.require(owner <= math.MaxUint32)
		c.DailyOwner, c.Daily = uint32(owner), daily.Packed(in.remaining(len(in.rest)))
		in.require(c.Daily != "" && checkDaily(c) == nil)
	case coldFolder:
		c.Folder = in.uint32()
		in.require(c.Folder != 0)
	default:
		text := coldTexts[field]
		if in.require(text.Name != ""); text.Name != "" {
			*c.Text(text.Name) = string(in.remaining(text.Max))
		}
	}
	if in.end() != nil {
		r.fail(fmt.Sprintf("field %d: %v", field, in.err))
	}
}

// require fails unless a value is one that is written.
func (r *reader) require(written bool) {
	if !written {
		r.fail("value out of range")
	}
}

// ColdOfEdge returns what an edge keeps of a cold record: when the link was made, for its preview, and its card, which
// visitors see, but no text for people, no tags, no folder, no figures, no row to reuse it, no hash of a
// password, and nothing that this program does not know.
func ColdOfEdge(v []byte) ([]byte, error) {
	c, err := DecodeCold(v)
	if err != nil {
		return nil, err
	}
	return AppendCold(nil, &engine.Cold{Key: c.Key, Version: c.Version, CreatedAtMs: c.CreatedAtMs, UpdatedAtMs: c.UpdatedAtMs, Card: c.Card}), nil
}

// checkDaily returns an error for hits by day that are not among the imported hits.
func checkDaily(c *engine.Cold) error {
	if err := c.Daily.Check(); err != nil {
		return err
	}
	if sum := c.Daily.Sum(); sum > c.ImportedHits {
		return fmt.Errorf("%d imported hits by day of %d", sum, c.ImportedHits)
	}
	return nil
}

// checkCold returns an error for a cold record that could be written but not read back.
func checkCold(c *engine.Cold) error {
	for field, text := range coldTexts {
		if text.Name != "" && len(*c.Text(text.Name)) > text.Max {
			return fmt.Errorf("field %d of %d bytes", field, len(*c.Text(text.Name)))
		}
	}
	if !c.Card.Fits() {
		return fmt.Errorf("a card with a title of %d bytes, a description of %d and an image of %d", len(c.Card.Title), len(c.Card.Description), len(c.Card.Image))
	}
	if len(c.Newer) > maxNewerBytes {
		return fmt.Errorf("fields of a newer program of %d bytes", len(c.Newer))
	}
	if err := checkDaily(c); err != nil {
		return err
	}
	if c.Password != "" && !engine.IsPasswordHash(c.Password) {
		return errors.New("a password that is no hash")
	}
	return checkTags(c.Tags)
}
