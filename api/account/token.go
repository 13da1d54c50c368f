package account

import (
	"crypto/rand"
	"crypto/sha256"
	"fmt"
	"hash/crc32"
	"io"
	"strings"
)

const (
	tokenPrefix   = "shunt_"
	secretBytes   = 30
	checksumBytes = 6 // 62^6 > 2^32
	tokenBytes    = len(tokenPrefix) + secretBytes + checksumBytes
)

const base62 = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"

// newToken draws a token from the random bytes of r and returns its text.
func newToken(r io.Reader) (string, error) {
	secret := make([]byte, 0, secretBytes)
	var random [2 * secretBytes]byte
	for {
		if _, err := io.ReadFull(r, random[:]); err != nil {
			return "", fmt.Errorf("draw a token: %w", err)
		}
		for _, b := range random {
			if b >= 4*62 { // larger bytes would make some characters more likely, modulo 62
				continue
			}
			if secret = append(secret, base62[b%62]); len(secret) == secretBytes {
				return tokenPrefix + string(secret) + checksum(string(secret)), nil
			}
		}
	}
}

// checksum returns CRC-32 of secret in base62, most significant digit first.
func checksum(secret string) string {
	var text [checksumBytes]byte
	n := crc32.ChecksumIEEE([]byte(secret))
	for i := checksumBytes - 1; i >= 0; i-- {
		text[i] = base62[n%62]
		n /= 62
	}
	return string(text[:])
}

// parseToken returns the hash that is the key of a token, or ok == false if text cannot be a token.
func parseToken(text string) (hash [sha256.Size]byte, ok bool) {
	if len(text) != tokenBytes || !strings.HasPrefix(text, tokenPrefix) {
		return hash, false
	}
	secret := text[len(tokenPrefix) : len(tokenPrefix)+secretBytes]
	for _, c := range []byte(secret) {
		if strings.IndexByte(base62, c) < 0 {
			return hash, false
		}
	}
	if text[len(tokenPrefix)+secretBytes:] != checksum(secret) {
		return hash, false
	}
	return sha256.Sum256([]byte(text)), true
}

// newTokenID draws the public id of a token, which reveals nothing about its text.
func newTokenID() string { return strings.ToLower(rand.Text()[:16]) }
