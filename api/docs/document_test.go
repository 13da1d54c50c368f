package docs

import (
	"bytes"
	"encoding/json"
	"testing"

	"shunt/engine/expect"
)

// TestNoObjectOfTheDocumentHasAKeyTwice: Go takes the last one, and programs that make clients of the document refuse
// it.
func TestNoObjectOfTheDocumentHasAKeyTwice(t *testing.T) {
	d := json.NewDecoder(bytes.NewReader(documentText))
	next := func() json.Token {
		token, err := d.Token()
		expect.MustThat(t, err == nil, "%v", err)
		return token
	}
	var read func(at string)
	read = func(at string) {
		switch next() {
		case json.Delim('{'):
			keys := make(map[string]bool)
			for d.More() {
				key := next().(string)
				expect.That(t, !keys[key], "%s has %q twice", at, key)
				keys[key] = true
				read(at + "/" + key)
			}
			next()
		case json.Delim('['):
			for d.More() {
				read(at)
			}
			next()
		}
	}
	read("")
}
