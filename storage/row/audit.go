package row

import (
	"encoding/binary"
	"errors"
	"fmt"
	"net/netip"

	"shunt/engine"
)

const (
	auditVersion = 1
	maxAuditMs   = 253402300799_999 // the end of the year 9999

	// Who made the change, in an entry.
	viaOther   = 0
	viaToken   = 1
	viaSession = 2
	viaLocal   = 3

	// Which records of a link an entry has.
	auditBefore = 1
	auditAfter  = 2
)

// AppendAuditKey appends the key of an entry of the audit log.
func AppendAuditKey(dst []byte, stamp uint64) []byte {
	return binary.BigEndian.AppendUint64(append(dst, TableAudit), stamp)
}

// SplitAuditKey returns the stamp in the key of an entry.
func SplitAuditKey(key []byte) (stamp uint64, err error) {
	if len(key) != 1+8 || key[0] != TableAudit {
		return 0, fmt.Errorf("%w: key %x in the audit log", ErrCorrupt, key)
	}
	return binary.BigEndian.Uint64(key[1:]), nil
}

// AppendAudit appends an entry of the audit log; its stamp is in the key.
//
//	┌───────────┬──────────┬──────┬──────┬──────┬───────┬────────────┬─────────┬─────────┬────────────────┐
//	│ version 1 │ action 1 │ late │ user │ name │ via 1 │ [token or  │ request │ network │ by the action: │
//	│           │          │      │      │      │       │ session]   │ id      │         │ see below …end │
//	└───────────┴──────────┴──────┴──────┴──────┴───────┴────────────┴─────────┴─────────┴────────────────┘
//
//	a link                ┌─────────┬────────┬──────────────────────┬────────────────────┐
//	                      │ which 1 │ [key]  │ [hot · cold, before] │ [hot · cold after] │
//	                      └─────────┴────────┴──────────────────────┴────────────────────┘
//	several links         ┌─────────┬──────────┬────────┬────────────┬───────────┬──────────────────────────────┐
//	                      │ created │ existing │ failed │ first key  │ last key  │ number of runs · id, length… │
//	                      └─────────┴──────────┴────────┴────────────┴───────────┴──────────────────────────────┘
//	an account            ┌──────┬──────────┬───────────────────────────────────────────┐
//	                      │ user │ token id │ number of changes · field, before, after… │
//	                      └──────┴──────────┴───────────────────────────────────────────┘
//
// Late is the change's time less that of the stamp, in milliseconds, signed: 0, unless entries from
// before the clock was put back have taken the stamps of that time. Via 1 is a token, 2 a session, each with its id; 3
// the socket of local commands. The network is text (192.0.2.0/24), empty if it is not kept. A key is a domain and a
// code. Texts, codes, hot and cold records have their length before them.
func AppendAudit(dst []byte, e *engine.AuditEntry) []byte {
	dst = binary.AppendVarint(append(dst, auditVersion, byte(e.Action)), e.At().UnixMilli()-engine.StampTime(e.Stamp).UnixMilli())
	dst = appendBy(dst, &e.By)
	switch {
	case e.Action.OfLink():
		return appendAuditLink(dst, e)
	case e.Action <= engine.LinksImported:
		for _, n := range [...]uint32{e.Created, e.Existing, e.Failed} {
			dst = binary.AppendUvarint(dst, uint64(n))
		}
		dst = binary.AppendUvarint(appendKey(appendKey(dst, e.First), e.Last), uint64(len(e.IDs)))
		for _, r := range e.IDs {
			dst = binary.AppendUvarint(binary.AppendUvarint(dst, r.First), r.Count)
		}
		return dst
	}
	dst = appendString(binary.AppendUvarint(dst, uint64(e.User)), e.TokenID)
	dst = binary.AppendUvarint(dst, uint64(len(e.Changes)))
	for _, c := range e.Changes {
		dst = appendString(appendString(appendString(dst, c.Field), c.Before), c.After)
	}
	return dst
}

func appendBy(dst []byte, by *engine.By) []byte {
	dst = appendString(binary.AppendUvarint(dst, uint64(by.User)), by.Name)
	switch {
	case by.TokenID != "":
		dst = appendString(append(dst, viaToken), by.TokenID)
	case by.SessionID != "":
		dst = appendString(append(dst, viaSession), by.SessionID)
	case by.Local:
		dst = append(dst, viaLocal)
	default:
		dst = append(dst, viaOther)
	}
	dst = appendString(dst, by.RequestID)
	if !by.Network.IsValid() {
		return append(dst, 0)
	}
	return appendString(dst, by.Network.String())
}

func appendAuditLink(dst []byte, e *engine.AuditEntry) []byte {
	which, key := byte(0), engine.Key{}
	if e.Before != nil {
		which, key = which|auditBefore, e.Before.Hot.Key
	}
	if e.After != nil {
		which, key = which|auditAfter, e.After.Hot.Key
	}
	dst = appendKey(append(dst, which), key)
	for _, rec := range [...]*engine.Record{e.Before, e.After} {
		if rec != nil {
			dst = appendSized(dst, func(dst []byte) []byte { return AppendHot(dst, &rec.Hot) })
			dst = appendSized(dst, func(dst []byte) []byte { return appendShown(dst, rec.Cold) })
		}
	}
	return dst
}

// appendSized appends what append appends, with its length before it in two bytes: no record of a
// link is longer.
func appendSized(dst []byte, appendTo func([]byte) []byte) []byte {
	at := len(dst)
	dst = appendTo(append(dst, 0, 0))
	binary.BigEndian.PutUint16(dst[at:], uint16(len(dst)-at-2))
	return dst
}

// DecodeAudit decodes the entry v with that stamp. The result shares no memory with v.
func DecodeAudit(stamp uint64, v []byte) (engine.AuditEntry, error) {
	r := readValue("audit entry", v, auditVersion)
	e := engine.AuditEntry{Stamp: stamp, Action: engine.AuditAction(r.byte())}
	if r.err == nil && !e.Action.Valid() {
		r.fail("unknown action")
	}
	e.By.AtMs = engine.StampTime(stamp).UnixMilli() + r.varint()
	if e.By.AtMs < 0 || e.By.AtMs > maxAuditMs {
		r.fail("a time that has no date")
	}
	readBy(&r, &e.By)
	switch {
	case r.err != nil:
	case e.Action.OfLink():
		if err := readAuditLink(&r, &e); err != nil {
			return e, err
		}
	case e.Action <= engine.LinksImported:
		e.Created, e.Existing, e.Failed = r.uint32(), r.uint32(), r.uint32()
		e.First, e.Last = r.key().Own(), r.key().Own()
		for n := r.uvarint(); n > 0 && r.err == nil; n-- {
			e.IDs = append(e.IDs, engine.IDRun{First: r.uvarint(), Count: r.uvarint()})
		}
	default:
		readAuditAccount(&r, &e)
	}
	return e, r.end()
}

func (r *reader) text() string { return string(r.bytes(engine.MaxAuditTextBytes)) }

// id reads a text that is not empty.
func (r *reader) id() string {
	text := r.text()
	if text == "" {
		r.fail("empty id")
	}
	return text
}

func readBy(r *reader, by *engine.By) {
	by.User, by.Name = r.uint32(), r.text()
	switch via := r.byte(); via {
	case viaOther:
	case viaToken:
		by.TokenID = r.id()
	case viaSession:
		by.SessionID = r.id()
	case viaLocal:
		by.Local = true
	default:
		r.fail("unknown way in")
	}
	by.RequestID = r.text()
	if text := r.text(); text != "" {
		network, err := netip.ParsePrefix(text)
		if err != nil || network.String() != text {
			r.fail("a network that is none")
		}
		by.Network = network
	}
}

func readAuditLink(r *reader, e *engine.AuditEntry) (err error) {
	which := r.byte()
	if which == 0 || which > auditBefore|auditAfter {
		r.fail("unknown records")
	}
	key := r.key()
	if which&auditBefore != 0 {
		if e.Before, err = readAuditRecord(r, key); err != nil {
			return err
		}
	}
	if which&auditAfter != 0 {
		e.After, err = readAuditRecord(r, key)
	}
	return err
}

func readAuditRecord(r *reader, k engine.KeyView) (*engine.Record, error) {
	hot := r.fixed(int(binary.BigEndian.Uint16(r.pair())))
	cold := r.fixed(int(binary.BigEndian.Uint16(r.pair())))
	if r.err != nil {
		return nil, r.err
	}
	view, err := DecodeHot(k, hot)
	if err != nil {
		return nil, err
	}
	rec := &engine.Record{Hot: OwnHot(&view)}
	rec.Cold, err = DecodeCold(cold)
	return rec, err
}

// pair reads two bytes; zeros if there are none.
func (r *reader) pair() []byte {
	if b := r.fixed(2); len(b) == 2 {
		return b
	}
	return []byte{0, 0}
}

func readAuditAccount(r *reader, e *engine.AuditEntry) {
	e.User, e.TokenID = r.uint32(), r.text()
	n := r.uvarint()
	if n > engine.MaxAuditChanges {
		r.fail("too many changes")
		return
	}
	for range n {
		e.Changes = append(e.Changes, engine.AuditChange{Field: r.text(), Before: r.text(), After: r.text()})
	}
}

// CheckAudit returns an error for an entry of an account that could be written but not read back.
func CheckAudit(e *engine.AuditEntry) error {
	if !e.Action.Valid() || e.Action <= engine.LinksImported || e.Action.OfLink() || len(e.Changes) > engine.MaxAuditChanges {
		return fmt.Errorf("audit entry of action %d with %d changes", e.Action, len(e.Changes))
	}
	for _, c := range e.Changes {
		if err := checkTexts(c.Field, c.Before, c.After); err != nil {
			return err
		}
	}
	return errors.Join(checkTexts(e.TokenID), checkBy(&e.By))
}

// checkBy does the same for who makes a change; nil is nobody.
func checkBy(by *engine.By) error {
	if by == nil {
		return nil
	}
	return checkTexts(by.Name, by.TokenID, by.SessionID, by.RequestID)
}

func checkTexts(texts ...string) error {
	for _, text := range texts {
		if len(text) > engine.MaxAuditTextBytes {
			return fmt.Errorf("text of %d bytes for the audit log", len(text))
		}
	}
	return nil
}
