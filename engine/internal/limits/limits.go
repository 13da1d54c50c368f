package limits

// Limits of a link's fields, which are part of the contract with clients; those of texts are in package link. They only
// rise, because stored links must stay valid. All code that reads bytes from outside checks against them.
const (
	MaxCodeBytes   = 64
	MaxTargetBytes = 8192
	MaxTags        = 32
	MaxTagBytes    = 64

	// MaxExtrasBytes bounds what few links have beside that (package extras): an address, and three times as much for
	// what comes. A record in memory, which has a target as well, must fit into the first chunk of an arena.
	MaxExtrasBytes = 32 << 10

	// MaxPasswordHashBytes bounds the hash of a link's password: with a salt of 16 bytes and a key of 32 it has 97.
	MaxPasswordHashBytes = 256

	// MaxImportedHits is the largest number of hits that an import may give a link: every JSON
	// reader can represent it exactly.
	MaxImportedHits = 1 << 53

	// TombstoneDays is how long a deleted code stays taken for everybody but its former owner.
	TombstoneDays = 90

	// TrashDays is how long a deleted link can be restored.
	TrashDays = 30
)
