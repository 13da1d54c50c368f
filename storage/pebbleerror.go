package storage

import (
	"path/filepath"
	"strings"

	"github.com/cockroachdb/pebble/v2"
)

// A pebbleError is an error of Pebble with a text for people. errors.Is and errors.As still find
// its cause, and damage is ErrCorrupt.
type pebbleError struct{ cause error }

func (e pebbleError) Error() string {
	if damage := pebble.ExtractDataCorruptionInfo(e.cause); damage != nil {
		return filepath.Base(damage.Path) + " is damaged"
	}
	return withoutPebble(e.cause)
}

func (e pebbleError) Unwrap() error { return e.cause }

// Is implements the interface of errors.Is.
func (e pebbleError) Is(target error) bool {
	return target == ErrCorrupt && pebble.IsCorruptionError(e.cause)
}

// withoutPebble returns an error's text without the names of Pebble's packages, and without the
// placeholder for a file whose number Pebble does not know.
func withoutPebble(err error) string {
	text, _, _ := strings.Cut(err.Error(), "\n") // a mark of Pebble's own
	for _, prefix := range []string{"pebble: ", "pebble/table: ", "file 000000: "} {
		text = strings.TrimPrefix(text, prefix)
	}
	return text
}
