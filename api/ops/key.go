package ops

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"strconv"

	"shunt/api/account"
	"shunt/api/jsonbody"
	"shunt/api/problem"
	"shunt/engine"
)

const maxKeyBytes = 255

// A Key is an Idempotency-Key: it names a request that its sender may repeat. The zero Key names
// none.
type Key struct {
	value []byte
	given bool
}

// ParseKey reads the values of Idempotency-Key, of which there may be at most one. Its bytes are
// taken as they are, quoted or not.
func ParseKey(values [][]byte) (Key, error) {
	switch {
	case len(values) == 0:
		return Key{}, nil
	case len(values) > 1 || !validKey(values[0]):
		return Key{}, problem.New(problem.BadRequest, "Idempotency-Key must be one value of 1 to %d visible ASCII characters", maxKeyBytes)
	}
	return Key{values[0], true}, nil
}

func validKey(key []byte) bool {
	for _, c := range key {
		if c <= ' ' || c > '~' {
			return false
		}
	}
	return len(key) > 0 && len(key) <= maxKeyBytes
}

// request returns the engine's record of a caller's request to path under the key; nil if there is
// no key.
func (k Key) request(caller account.Caller, path string, body jsonbody.Body) *engine.Request {
	if !k.given {
		return nil
	}
	q := &engine.Request{RequestKey: engine.RequestKey{Sender: senderOf(caller), Key: sha256.Sum256(k.value)}}
	hash := sha256.New()
	hash.Write([]byte(path + "\x00")) // the same bytes mean another request at another path
	hash.Write(withoutPasswords(body.Text))
	copy(q.Body[:], hash.Sum(nil))
	return q
}

// withoutPasswords returns a body without the values of passwords, in another form if it has any: a receipt must not keep
// what tells a guessed password from others quickly. So requests that differ by a password only are the same request.
func withoutPasswords(text []byte) []byte {
	if !bytes.Contains(text, []byte("password")) && !bytes.Contains(text, []byte(`\u`)) { // which may spell it
		return text
	}
	var value any
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.UseNumber()
	if decoder.Decode(&value) != nil {
		return text // it is refused
	}
	items, several := value.([]any)
	if !several {
		items = []any{value}
	}
	found := false
	for _, item := range items {
		if object, ok := item.(map[string]any); ok && object["password"] != nil {
			object["password"], found = true, true
		}
	}
	if !found {
		return text
	}
	blanked, _ := json.Marshal(value) // of what was just read
	return blanked
}

// senderOf returns the owner of a caller's keys: the token or, for local commands, the user. A
// token's id is never given again.
func senderOf(caller account.Caller) [32]byte {
	if caller.TokenID != "" {
		return sha256.Sum256([]byte("token " + caller.TokenID))
	}
	return sha256.Sum256([]byte("user " + strconv.FormatUint(uint64(caller.User.ID), 10)))
}
