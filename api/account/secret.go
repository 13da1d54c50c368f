package account

import (
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"io"
)

// The text of a cookie and of a setup code is random bytes in base64url. The table knows it by its
// SHA-256 only.

const (
	maxSecretBytes     = 32
	maxSecretTextBytes = 43 // base64 of them
)

// strictBase64 accepts one text only for any bytes.
var strictBase64 = base64.RawURLEncoding.Strict()

// newSecret draws n random bytes, at most maxSecretBytes, from r and returns their text.
func newSecret(r io.Reader, n int) (string, error) {
	secret := make([]byte, n)
	if _, err := io.ReadFull(r, secret); err != nil {
		return "", fmt.Errorf("draw a secret: %w", err)
	}
	return base64.RawURLEncoding.EncodeToString(secret), nil
}

// parseSecret returns the hash of text, or ok == false if it cannot be the text of n bytes. It
// allocates nothing.
func parseSecret(text string, n int) (hash [sha256.Size]byte, ok bool) {
	if len(text) != strictBase64.EncodedLen(n) {
		return hash, false
	}
	var secret [maxSecretBytes]byte
	var plain [maxSecretTextBytes]byte
	copied := plain[:copy(plain[:], text)]
	if _, err := strictBase64.Decode(secret[:n], copied); err != nil {
		return hash, false
	}
	return sha256.Sum256(copied), true
}
