package engine

import (
	"shunt/engine/hit"
	"shunt/engine/internal/settings"
	"shunt/engine/link"
)

// Store keeps links and tallies durably. storage.Store is the one in use. Only the flush goroutine, or in a
// cluster one of their own, calls what deletes old links, receipts and entries.
type Store interface {
	link.Store
	hit.Store

	// Identity returns what never changes in a store's life.
	Identity() settings.Identity
}
