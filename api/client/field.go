package client

import "encoding/json"

// A Field of an Edit is kept (the zero Field), Set to a value, or Reset to its default.
type Field[T any] struct {
	sent  bool
	value *T // nil: the default
}

// Set changes a field to value.
func Set[T any](value T) Field[T] { return Field[T]{true, &value} }

// Reset gives a field its default: the value of a link whose Draft does not name the field.
func Reset[T any]() Field[T] { return Field[T]{sent: true} }

// IsZero reports whether the field is kept.
func (f Field[T]) IsZero() bool { return !f.sent }

// MarshalJSON implements json.Marshaler.
func (f Field[T]) MarshalJSON() ([]byte, error) { return json.Marshal(f.value) }
