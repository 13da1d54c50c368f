package ops

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"strconv"
	"time"

	"shunt/api/jsonbody"
	"shunt/engine"
	"shunt/engine/search"
)

// A cursor marks the place where a list continues. It is base64url without padding of
//
//	┌───────────┬──────────────────┬────────────────────┬────────────────────────────────────────────┐
//	│ version 1 │ what the list is │ id of a link 8     │ first 16 bytes of an HMAC-SHA256 over all  │
//	│           │ sorted by 8      │ big-endian         │ of it and the list: owner, tag, words …    │
//	└───────────┴──────────────────┴────────────────────┴────────────────────────────────────────────┘
//
// under a key that is derived from the store's secret one. So it is accepted only for the list that
// it was given for, and nobody can learn the ids of others from it, or by trying. It never says
// whose links are listed: the request does, and its scope is checked each time. Ids are never given
// again, so a cursor is valid as long as the store exists.
const (
	cursorVersion  = 1
	cursorMACBytes = 16
	cursorHead     = 1 + 8 + 8
	cursorBytes    = cursorHead + cursorMACBytes
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

// encode returns the cursor that continues q after a place.
func (c *cursors) encode(q *ListQuery, after search.Place) string {
	b := binary.BigEndian.AppendUint64([]byte{cursorVersion}, after.Key)
	b = binary.BigEndian.AppendUint64(b, after.ID)
	return base64.RawURLEncoding.EncodeToString(append(b, c.mac(q, b)...))
}

// decode returns the place after which q continues, or ok == false if text is not a cursor of q.
func (c *cursors) decode(q *ListQuery, text string) (after search.Place, ok bool) {
	b, err := base64.RawURLEncoding.Strict().DecodeString(text) // DecodeString skips line ends
	if err != nil || len(text) != base64.RawURLEncoding.EncodedLen(cursorBytes) || len(b) != cursorBytes || b[0] != cursorVersion {
		return after, false
	}
	head, mac := b[:cursorHead], b[cursorHead:]
	after = search.Place{Key: binary.BigEndian.Uint64(head[1:]), ID: binary.BigEndian.Uint64(head[1+8:])}
	return after, after.ID != 0 && hmac.Equal(mac, c.mac(q, head))
}

// mac returns the authentication code of a cursor of q with that head. Every part of what is authenticated has a fixed
// width or its length before it, so no two lists share a code.
func (c *cursors) mac(q *ListQuery, head []byte) []byte {
	w := q.Whose
	if w.Every {
		w.Domain = engine.DefaultDomain
	}
	if w.Anybody {
		w.User = 0
	}
	list := binary.BigEndian.AppendUint32(binary.BigEndian.AppendUint32(nil, w.owner()), q.Folder)
	for _, on := range []bool{w.Anybody, w.Every, q.Ascending, q.NeverHit, !q.From.IsZero(), !q.To.IsZero()} {
		list = strconv.AppendBool(list, on) // "true" is no beginning of "false"
	}
	for _, t := range []time.Time{q.From, q.To} {
		list = binary.BigEndian.AppendUint64(list, uint64(t.UnixMilli()))
	}
	for _, text := range []string{q.Q, q.Tag, string(q.State), q.Order} {
		list = append(binary.BigEndian.AppendUint32(list, uint32(len(text))), text...)
	}
	mac := hmac.New(sha256.New, c.key[:])
	mac.Write(head)
	mac.Write(list)
	return mac.Sum(nil)[:cursorMACBytes]
}
