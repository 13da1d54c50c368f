package visit

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"shunt/api/ops"
)

// FormKey returns the hidden key of a form that makes something: that of the form that was sent, or
// a new one. A form that is sent twice has one key, and makes its thing once.
func (r *Request) FormKey() string {
	if key, typed := r.Typed("key"); typed && key != "" && len(key) <= maxKeyBytes {
		return key
	}
	return rand.Text()
}

// maxKeyBytes bounds the key of a form; ours have 26 bytes.
const maxKeyBytes = 64

// SentVersion returns the version of what a form is about, as its hidden field has it, and one that nothing has if the
// field is damaged.
func (r *Request) SentVersion() uint64 {
	if version, err := strconv.ParseUint(r.Sent("version"), 10, 64); err == nil && version != 0 {
		return version
	}
	return ops.NoVersion
}

// Digest returns a part of a hash of a field's text. A form has it in a hidden field, so that a field that somebody
// changed is told from one that he left as it was.
func Digest(text string) string {
	sum := sha256.Sum256([]byte(strings.TrimSpace(text)))
	return hex.EncodeToString(sum[:8])
}

// plain has, in pairs, words of the API and what pages say for them.
var plain = strings.NewReplacer(
	"owner needs the scope admin", "only an admin may see the links of others",
	"this request needs the scope admin", "only an admin may do this",
	"; see RateLimit-Policy for the limits", "",
	"is not a cursor of this list; start again without a cursor", "is not of this list; begin at its first page",
	"is not the id of a user", "is not the number of a user",
	"must be a user's id", "must be the number of a user",
	"must name a scope", "must allow something",
	"must be a scope that you have yourself", "must not allow more than you may do yourself",
	"must be valid UTF-8", "has damaged characters",
	"must be UTF-8", "has damaged characters",
)

// Sentence returns text in the words of pages, with a capital letter and a full stop; "" as it is.
func Sentence(text string) string {
	text = plain.Replace(text)
	first, n := utf8.DecodeRuneInString(text)
	if n == 0 {
		return ""
	}
	text = string(unicode.ToUpper(first)) + text[n:]
	if !strings.HasSuffix(text, ".") {
		text += "."
	}
	return text
}
