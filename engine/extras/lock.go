package extras

import (
	"crypto/sha256"
	"encoding/binary"
	"strings"

	"shunt/engine/internal/limits"
)

// hashPrefix begins the hash of a password: of argon2id, version 1.3 (RFC 9106), in the form that its tools write.
const hashPrefix = "$argon2id$v=19$"

// IsPasswordHash reports whether hash may be that of a password of a link: it has its form. What it demands of whoever
// compares a password with it, package password knows.
func IsPasswordHash(hash string) bool {
	return strings.HasPrefix(hash, hashPrefix) && len(hash) <= limits.MaxPasswordHashBytes &&
		!strings.ContainsFunc(hash, func(c rune) bool { return c <= ' ' || c > '~' })
}

// LockOf returns the number by which a redirect knows the password of a link, without its hash; 0: the link has none.
// A hash has a salt, so the number tells nothing about the password, and another password, or the same one set again,
// has another number.
func LockOf(hash string) uint64 {
	if hash == "" {
		return 0
	}
	sum := sha256.Sum256([]byte(hash))
	return max(binary.LittleEndian.Uint64(sum[:]), 1)
}
