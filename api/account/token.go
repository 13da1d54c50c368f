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

// ShownTokenBytes is how much of a token's text is kept, so that people recognize it. The rest has 154 random bits.
const ShownTokenBytes = len(tokenPrefix) + 4

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
				sum := checksum(string(secret))
				return tokenPrefix + string(secret) + string(sum[:]), nil
			}
		}
	}
}

// checksum returns CRC-32 of secret in base62, most significant digit first. Package hash/crc32
// would need secret on the heap.
func checksum(secret string) (text [checksumBytes]byte) {
	n := ^uint32(0)
	for _, c := range []byte(secret) {
		n = crc32.IEEETable[byte(n)^c] ^ n>>8
	}
	n = ^n
	for i := checksumBytes - 1; i >= 0; i-- {
		text[i] = base62[n%62]
		n /= 62
	}
	return text
}

// parseToken returns the hash that is the key of a token, or ok == false if text cannot be a token.
// It allocates nothing.
func parseToken(text string) (hash [sha256.Size]byte, ok bool) {
	if len(text) != tokenBytes || !strings.HasPrefix(text, tokenPrefix) {
		return hash, false
	}
	secret := text[len(tokenPrefix) : len(tokenPrefix)+secretBytes]
	for _, c := range []byte(secret) {
		if !isBase62(c) {
			return hash, false
		}
	}
	if sum := checksum(secret); text[len(tokenPrefix)+secretBytes:] != string(sum[:]) {
		return hash, false
	}
	var plain [tokenBytes]byte
	copy(plain[:], text)
	return sha256.Sum256(plain[:]), true
}

func isBase62(c byte) bool {
	return '0' <= c && c <= '9' || 'A' <= c && c <= 'Z' || 'a' <= c && c <= 'z'
}

// newTokenID draws the public id of a token, which reveals nothing about its text.
func newTokenID() string { return strings.ToLower(rand.Text()[:16]) }
