package limits

// Limits of a link's fields. api.md states them; everything that reads bytes from outside checks
// against them.
const (
	MaxCodeBytes   = 64
	MaxTargetBytes = 8192
	MaxTitleBytes  = 512
	MaxTags        = 32
	MaxTagBytes    = 64

	// MaxImportedHits is how many hits an import may bring along: what every JSON reader can hold
	// exactly.
	MaxImportedHits = 1 << 53

	// TombstoneDays is how long a deleted code stays taken for everybody but its former owner.
	TombstoneDays = 90
)
