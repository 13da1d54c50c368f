package offsite

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"time"

	"shunt/cmd/shunt/backups"
)

const (
	manifestFormat = 1
	// maxManifest bounds the manifest that is read, in bytes: some 130 a file.
	maxManifest = 256 << 20
	// maxManifestFiles bounds the files of a backup.
	maxManifestFiles = 1_000_000

	manifestLayout = "20060102T150405.000Z"
	manifestSuffix = ".json"
)

// A manifest lists the files of a backup. Its JSON is a durable format.
type manifest struct {
	Format      int       `json:"shunt_backup"`           // manifestFormat
	Store       string    `json:"store"`                  // the id, in hexadecimal
	At          time.Time `json:"at"`                     // it has nothing that was written later
	Links       uint64    `json:"links"`                  //
	Program     string    `json:"program"`                // the version that made it
	EncryptedTo string    `json:"encrypted_to,omitempty"` // the number of the recipients
	Files       []file    `json:"files"`
}

// A file of a backup.
type file struct {
	Name   string `json:"name"` // with slashes
	Bytes  int64  `json:"bytes"`
	SHA256 string `json:"sha256"`
}

// object returns the name of the object, in files/, that has the content of f.
func (m *manifest) object(f *file) string {
	s := (*Seal)(nil)
	if m.EncryptedTo != "" {
		s = &Seal{number: m.EncryptedTo}
	}
	return s.object(f.SHA256)
}

// bytes returns the size of the backup.
func (m *manifest) bytes() (n uint64) {
	for i := range m.Files {
		n += uint64(m.Files[i].Bytes)
	}
	return n
}

// encode returns the name of the manifest, in backups/, and its text.
func (m *manifest) encode() (name string, text []byte, err error) {
	text, err = json.MarshalIndent(m, "", " ")
	if err != nil {
		return "", nil, err
	}
	return m.At.UTC().Format(manifestLayout) + "-" + sumInName(text) + manifestSuffix, text, nil
}

func sumInName(text []byte) string {
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:8])
}

var (
	manifestName = regexp.MustCompile(`^(\d{8}T\d{6}\.\d{3}Z)-([0-9a-f]{16})\.json$`)
	objectName   = regexp.MustCompile(`^[0-9a-f]{64}(\.[0-9a-f]{16}\.age)?$`)
	storeName    = regexp.MustCompile(`^[0-9a-f]{32}$`)
	contentHash  = regexp.MustCompile(`^[0-9a-f]{64}$`)
	sealNumber   = regexp.MustCompile(`^([0-9a-f]{16})?$`)
)

// timeOf returns the time in the name of a manifest; ok == false: name is not one.
func timeOf(name string) (at time.Time, ok bool) {
	parts := manifestName.FindStringSubmatch(name)
	if parts == nil {
		return at, false
	}
	at, err := time.Parse(manifestLayout, parts[1])
	return at, err == nil
}

var (
	errDamaged = errors.New("it is damaged")
	errNewer   = errors.New("a newer version of this program made it")
)

// decode reads the manifest of that name. Its sum is in its name, so a text that was altered is refused.
func decode(name, store string, text []byte) (*manifest, error) {
	parts := manifestName.FindStringSubmatch(name)
	if parts == nil || parts[2] != sumInName(text) {
		return nil, fmt.Errorf("the list of the backup %s: %w", name, errDamaged)
	}
	m := new(manifest)
	d := json.NewDecoder(bytes.NewReader(text))
	err := d.Decode(m)
	switch {
	case err != nil:
	case m.Format > manifestFormat:
		return nil, fmt.Errorf("the list of the backup %s: %w", name, errNewer)
	default:
		err = m.check(store)
	}
	if err != nil {
		return nil, fmt.Errorf("the list of the backup %s: %w: %w", name, errDamaged, err)
	}
	return m, nil
}

// check refuses a manifest that no run writes.
func (m *manifest) check(store string) error {
	if m.Format != manifestFormat || m.Store != store || m.At.IsZero() || !sealNumber.MatchString(m.EncryptedTo) || len(m.Files) > maxManifestFiles {
		return errors.New("it is not of this place")
	}
	names := make(map[string]bool, len(m.Files))
	for i := range m.Files {
		f := &m.Files[i]
		if !backups.Belongs(f.Name) || names[f.Name] || f.Bytes < 0 || !contentHash.MatchString(f.SHA256) {
			return fmt.Errorf("it has the file %.100q", f.Name)
		}
		names[f.Name] = true
	}
	if !names[backups.FormatName] {
		return errors.New("it lacks the file " + backups.FormatName)
	}
	return nil
}
