package account

import (
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"io"
)

// The text of a cookie and of a setup code is random bytes in base64url. The table knows it by its
// SHA-256 only.

// newSecret draws n random bytes from r and returns their text.
func newSecret(r io.Reader, n int) (string, error) {
	secret := make([]byte, n)
	if _, err := io.ReadFull(r, secret); err != nil {
		return "", fmt.Errorf("draw a secret: %w", err)
	}
	return base64.RawURLEncoding.EncodeToString(secret), nil
}

// parseSecret returns the hash of text, or ok == false if it cannot be the text of n bytes.
func parseSecret(text string, n int) (hash [sha256.Size]byte, ok bool) {
	if len(text) != base64.RawURLEncoding.EncodedLen(n) {
		return hash, false
	}
	if _, err := base64.RawURLEncoding.Strict().DecodeString(text); err != nil {
		return hash, false
	}
	return sha256.Sum256([]byte(text)), true
}
