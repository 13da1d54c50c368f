package kv

import (
	"errors"
	"path/filepath"
	"strings"

	"github.com/cockroachdb/pebble/v2"

	"shunt/storage/row"
)

// Unreadable returns the reason why a row cannot be read.
func Unreadable(err error) string {
	if damage := pebble.ExtractDataCorruptionInfo(err); damage != nil {
		return "it cannot be read, because " + filepath.Base(damage.Path) + " is damaged"
	}
	return "it cannot be read: " + WithoutPebble(err)
}

// ErrLostWrites: the store does not contain every acknowledged write: a damaged disk, or a copy
// of a folder that was in use. Open refuses it unless Options.AcceptLoss.
var ErrLostWrites = errors.New("store has lost writes that were acknowledged")

// ErrReads is the error of writes to a store that is opened for reading. No command that reads makes one.
var ErrReads = errors.New("the store is opened for reading")

// A PebbleError is an error of Pebble with a text for people. errors.Is and errors.As still find
// its cause, and damage is row.ErrCorrupt.
type PebbleError struct{ Cause error }

func (e PebbleError) Error() string {
	if damage := pebble.ExtractDataCorruptionInfo(e.Cause); damage != nil {
		return filepath.Base(damage.Path) + " is damaged"
	}
	return WithoutPebble(e.Cause)
}

func (e PebbleError) Unwrap() error { return e.Cause }

// Is implements the interface of errors.Is.
func (e PebbleError) Is(target error) bool {
	return target == row.ErrCorrupt && pebble.IsCorruptionError(e.Cause)
}

// WithoutPebble returns an error's text without the names of Pebble's packages, and without the
// placeholder for a file whose number Pebble does not know.
func WithoutPebble(err error) string {
	text, _, _ := strings.Cut(err.Error(), "\n") // a mark of Pebble's own
	for _, prefix := range []string{"pebble: ", "pebble/table: ", "file 000000: "} {
		text = strings.TrimPrefix(text, prefix)
	}
	return text
}
