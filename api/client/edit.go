package client

import (
	"encoding/json"
	"time"
)

// An Edit says what Update is to change: a JSON merge patch (RFC 7396). A field that is left out stays as it is.
//
//	client.Edit{Title: client.Set("Spring"), ExpiresAt: client.Reset[time.Time]()}
type Edit struct {
	URL            Field[string]    `json:"url,omitzero"` // has no default to be reset to
	RedirectStatus Field[int]       `json:"redirect_status,omitzero"`
	ExpiresAt      Field[time.Time] `json:"expires_at,omitzero"`
	MaxHits        Field[uint64]    `json:"max_hits,omitzero"`
	Title          Field[string]    `json:"title,omitzero"`
	Tags           Field[[]string]  `json:"tags,omitzero"` // all of them
	ForwardQuery   Field[bool]      `json:"forward_query,omitzero"`
}

// A Field of an Edit is kept (the zero Field), Set to a value, or Reset to its default.
type Field[T any] struct {
	sent  bool
	value *T // nil: the default
}

// Set changes a field to value.
func Set[T any](value T) Field[T] { return Field[T]{true, &value} }

// Reset gives a field its default: what a link has whose Draft does not name it.
func Reset[T any]() Field[T] { return Field[T]{sent: true} }

// IsZero tells whether the field is kept.
func (f Field[T]) IsZero() bool { return !f.sent }

// MarshalJSON implements json.Marshaler.
func (f Field[T]) MarshalJSON() ([]byte, error) { return json.Marshal(f.value) }
