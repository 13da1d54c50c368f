package engine

import (
	"shunt/engine/internal/limits"
	"shunt/engine/invalid"
)

// What the rooms below the engine have, and its callers use as the engine's own. Each room's package comment says what it is.

// Limits of a link's fields: see engine/internal/limits.
const (
	MaxCodeBytes    = limits.MaxCodeBytes
	MaxTargetBytes  = limits.MaxTargetBytes
	MaxTitleBytes   = limits.MaxTitleBytes
	MaxTags         = limits.MaxTags
	MaxTagBytes     = limits.MaxTagBytes
	MaxImportedHits = limits.MaxImportedHits
	TombstoneDays   = limits.TombstoneDays
)

// What is wrong with a request's fields: see engine/invalid.
type (
	FieldError   = invalid.FieldError
	InvalidError = invalid.Error
)
