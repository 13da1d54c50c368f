package engine

import (
	"shunt/engine/index"
	"shunt/engine/internal/limits"
	"shunt/engine/invalid"
	"shunt/engine/target"
)

// What the rooms below the engine have, and its callers use as the engine's own. Each room's
// package comment says what it is.

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

// Links in memory and their codes: see engine/index.
type (
	Link    = index.Link
	Flags   = index.Flags
	HotView = index.HotView
)

const (
	FlagForwardQuery = index.FlagForwardQuery
	FlagExpires      = index.FlagExpires
	FlagCapped       = index.FlagCapped
	FlagTombstone    = index.FlagTombstone
	DurableFlags     = index.DurableFlags

	DrawnCodeBytes = index.DrawnCodeBytes
)

// StatusFlags is index.StatusFlags.
func StatusFlags(status int) (Flags, bool) { return index.StatusFlags(status) }

// ValidCode is index.ValidCode.
func ValidCode(b []byte) bool { return index.ValidCode(b) }

// ValidateAlias is index.ValidateAlias.
func ValidateAlias(alias string) error { return index.ValidateAlias(alias) }

// What a target may be: see engine/target.
type (
	TargetPolicy = target.Policy
	BlockList    = target.BlockList
	LineError    = target.LineError
)

const (
	BlockedTarget = target.CodeBlocked
	MaxBlocked    = target.MaxBlocked
)

// InOwnNetwork is target.InOwnNetwork.
func InOwnNetwork(authority string) bool { return target.InOwnNetwork(authority) }

// LoopbackHost is target.LoopbackHost.
func LoopbackHost(authority string) bool { return target.LoopbackHost(authority) }

// HostName is target.HostName.
func HostName(authority string) (string, error) { return target.HostName(authority) }

// SameOrigin is target.SameOrigin.
func SameOrigin(origin, address string) bool { return target.SameOrigin(origin, address) }
