package offsite

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"filippo.io/age"

	"shunt/cmd/shunt/settings"
)

const (
	// maxKeyFile stops a wrong path from being read whole, in bytes.
	maxKeyFile = 256 << 10

	// age encrypts chunks of 64 KiB, each with a tag of 16 bytes; an empty file is one empty chunk.
	chunkBytes    = 64 << 10
	chunkTagBytes = 16
)

// A Seal encrypts to recipients. nil encrypts nothing.
type Seal struct {
	recipients []age.Recipient
	number     string // of the recipients, in hexadecimal
	headBytes  int64  // what a file begins with
}

// ReadSeal reads a file of recipients of age, one a line.
func ReadSeal(path string) (*Seal, error) {
	text, err := settings.ReadAtMost(path, maxKeyFile)
	if err != nil {
		return nil, fmt.Errorf("--encrypt-to: %w", err)
	}
	if bytes.Contains(text, []byte("AGE-SECRET-KEY-")) {
		return nil, fmt.Errorf("--encrypt-to: %s has a secret key; give a file of recipients, which 'age-keygen -y' prints, "+
			"and keep the secret one elsewhere", path)
	}
	recipients, err := age.ParseRecipients(bytes.NewReader(text))
	if err != nil {
		return nil, fmt.Errorf("--encrypt-to: %s is not a file of recipients of age, one age1… a line: %w", path, err)
	}
	s := &Seal{recipients: recipients, number: numberOf(text)}
	var empty bytes.Buffer
	w, err := age.Encrypt(&empty, recipients...)
	if err == nil {
		err = w.Close()
	}
	if err != nil {
		return nil, fmt.Errorf("--encrypt-to: %s: %w", path, err)
	}
	s.headBytes = int64(empty.Len()) - chunkTagBytes
	return s, nil
}

// numberOf returns the number of the recipients in text: equal for the same ones in any order.
func numberOf(text []byte) string {
	var lines []string
	for line := range strings.Lines(string(text)) {
		if line = strings.TrimSpace(line); line != "" && !strings.HasPrefix(line, "#") {
			lines = append(lines, line)
		}
	}
	slices.Sort(lines)
	sum := sha256.Sum256([]byte(strings.Join(slices.Compact(lines), "\n")))
	return hex.EncodeToString(sum[:8])
}

// object returns the name of the object, in files/, of a content with that sum.
func (s *Seal) object(sum string) string {
	if s == nil {
		return sum
	}
	return sum + "." + s.number + ".age"
}

// size returns how large the object of a content of that size is.
func (s *Seal) size(plain int64) int64 {
	if s == nil {
		return plain
	}
	chunks := max(1, (plain+chunkBytes-1)/chunkBytes)
	return s.headBytes + plain + chunks*chunkTagBytes
}

// encrypt returns r as it is sent.
func (s *Seal) encrypt(r io.Reader) (io.Reader, error) {
	if s == nil {
		return r, nil
	}
	return age.EncryptReader(r, s.recipients...)
}

// A Key opens what was encrypted. nil opens nothing.
type Key struct{ identities []age.Identity }

// ReadKey reads a file of identities of age. No error shows what is in it.
func ReadKey(path string) (*Key, error) {
	text, err := settings.ReadAtMost(path, maxKeyFile)
	if err != nil {
		return nil, fmt.Errorf("--identity: %w", err)
	}
	if bytes.HasPrefix(text, []byte("age-encryption.org/")) || bytes.HasPrefix(text, []byte("-----BEGIN AGE")) {
		return nil, fmt.Errorf("--identity: %s is encrypted itself; decrypt it first (age -d)", path)
	}
	identities, err := age.ParseIdentities(bytes.NewReader(text))
	if err != nil {
		return nil, fmt.Errorf("--identity: %s is not a file of identities of age (AGE-SECRET-KEY-…), as age-keygen writes it", path)
	}
	return &Key{identities: identities}, nil
}

var (
	errNeedsKey = errors.New("the backup is encrypted: name the file with its secret key (--identity)")
	errWrongKey = errors.New("no secret key in the file of --identity opens this backup")
)

// decrypt returns what r has encrypted.
func (k *Key) decrypt(r io.Reader) (io.Reader, error) {
	if k == nil {
		return nil, errNeedsKey
	}
	plain, err := age.Decrypt(r, k.identities...)
	if errors.As(err, new(*age.NoIdentityMatchError)) {
		return nil, errWrongKey
	}
	return plain, err
}
