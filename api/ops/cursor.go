package ops

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"

	"shunt/api/jsonbody"
	"shunt/engine"
)

// A cursor marks the place where a list continues. It is base64url without padding of
//
//	┌───────────┬────────────────────┬────────────────────────────────────────────┐
//	│ version 1 │ id of a link 8     │ first 16 bytes of an HMAC-SHA256 over both │
//	│           │ big-endian         │ and the list: domain, owner, state, tag …  │
//	└───────────┴────────────────────┴────────────────────────────────────────────┘
//
// under a key that is derived from the store's secret one. So it is accepted only for the list that
// it was given for, and nobody can learn the ids of others from it, or by trying. It never says
// whose links are listed: the request does, and its scope is checked each time. Ids are never given
// again, so a cursor is valid as long as the store exists.
const (
	cursorVersion  = 1
	cursorMACBytes = 16
	cursorBytes    = 1 + 8 + cursorMACBytes
)

var errCursor = jsonbody.FieldError("cursor", "invalid", "is not a cursor of this list; start again without a cursor")

// cursors makes cursors and reads them.
type cursors struct{ key [sha256.Size]byte }

// newCursors derives the key of cursors from the store's visitor key.
func newCursors(k0, k1 uint64) cursors {
	secret := binary.LittleEndian.AppendUint64(binary.LittleEndian.AppendUint64(nil, k0), k1)
	mac := hmac.New(sha256.New, secret)
	mac.Write([]byte("shunt: cursors of lists"))
	return cursors{[sha256.Size]byte(mac.Sum(nil))}
}

// encode returns the cursor that continues q below an id.
func (c *cursors) encode(q *ListQuery, below uint64) string {
	b := binary.BigEndian.AppendUint64([]byte{cursorVersion}, below)
	return base64.RawURLEncoding.EncodeToString(append(b, c.mac(q, b)...))
}

// decode returns the id below which q continues, or ok == false if text is not a cursor of q.
func (c *cursors) decode(q *ListQuery, text string) (below uint64, ok bool) {
	b, err := base64.RawURLEncoding.Strict().DecodeString(text) // DecodeString skips line ends
	if err != nil || len(text) != base64.RawURLEncoding.EncodedLen(cursorBytes) || len(b) != cursorBytes || b[0] != cursorVersion {
		return 0, false
	}
	head, mac := b[:1+8], b[1+8:]
	below = binary.BigEndian.Uint64(head[1:])
	return below, below != 0 && hmac.Equal(mac, c.mac(q, head))
}

// The first byte of what is authenticated of a list says which fields follow the domain.
const (
	cursorAnyOwner = 1 << iota // no owner follows
	cursorState                // a state follows
)

// mac returns the authentication code of a cursor of q with that head. The first byte says which
// fields follow, and every field but the last has a fixed width or its length before it, so no two
// lists share a code.
func (c *cursors) mac(q *ListQuery, head []byte) []byte {
	list := binary.BigEndian.AppendUint16([]byte{0}, uint16(engine.DefaultDomain))
	if q.Guard.AnyOwner {
		list[0] |= cursorAnyOwner
	} else {
		list = binary.BigEndian.AppendUint32(list, q.Guard.Owner)
	}
	if q.State != "" {
		list[0] |= cursorState
		list = binary.BigEndian.AppendUint32(list, uint32(len(q.State)))
		list = append(list, q.State...)
	}
	list = binary.BigEndian.AppendUint32(list, uint32(len(q.Tag)))
	list = append(append(list, q.Tag...), q.Prefix...)
	mac := hmac.New(sha256.New, c.key[:])
	mac.Write(head)
	mac.Write(list)
	return mac.Sum(nil)[:cursorMACBytes]
}
