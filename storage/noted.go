package storage

import (
	"encoding/binary"
	"fmt"

	"shunt/storage/kv"
	"shunt/storage/row"
)

// Commands that open the store while no server runs print the same short addresses as the server
// would. So the store keeps the server's base URL. It is a row rather than a file next to the
// database, so that backups and restored stores have it too.

// BaseURL returns the base URL of the last server that ran on the store, or "" if none is known.
func (s *Store) BaseURL() (string, error) {
	v, err := s.writer.Get(row.MetaKey(row.MetaBaseURL))
	if err == nil && v == nil {
		return "", nil
	}
	baseURL := ""
	if err == nil {
		baseURL, err = row.DecodeBaseURL(v)
	}
	if err != nil {
		return "", fmt.Errorf("storage: %w", err)
	}
	return baseURL, nil
}

// NoteBaseURL stores baseURL, an origin in ASCII, for BaseURL to return. It is durable when
// NoteBaseURL returns. Nothing is written if the store already has this URL. Only one goroutine may
// call NoteBaseURL at a time.
func (s *Store) NoteBaseURL(baseURL string) error {
	if why := row.BaseURLProblem(baseURL); why != "" {
		return fmt.Errorf("storage: noting the base URL %.100q: %s", baseURL, why)
	}
	if noted, err := s.BaseURL(); err == nil && noted == baseURL {
		return nil
	}
	b := s.db.NewBatch()
	defer b.Close()
	kv.Set(b, row.MetaKey(row.MetaBaseURL), row.AppendBaseURL(nil, baseURL))
	return s.writer.Sync(b, "storage: noting the base URL")
}

// The time of the last backup is a row, so that a restart does not hide that backups have stopped.
// It is written when the backup is whole, so a backup has the time of the one before it.

// LastBackup returns the Unix time in ms at which the last backup ended, or 0 if there was none.
func (s *Store) LastBackup() (atMs int64, err error) {
	v, err := s.writer.Get(row.MetaKey(row.MetaLastBackup))
	if err == nil && v == nil {
		return 0, nil
	}
	if err == nil {
		atMs, err = decodeLastBackup(v)
	}
	if err != nil {
		return 0, fmt.Errorf("storage: %w", err)
	}
	return atMs, nil
}

// NoteBackup stores the Unix time in ms, above 0, for LastBackup to return. It is durable when
// NoteBackup returns.
func (s *Store) NoteBackup(atMs int64) error {
	b := s.db.NewBatch()
	defer b.Close()
	kv.Set(b, row.MetaKey(row.MetaLastBackup), binary.BigEndian.AppendUint64(nil, uint64(max(atMs, 1))))
	return s.writer.Sync(b, "storage: noting the time of a backup")
}

func decodeLastBackup(v []byte) (atMs int64, err error) {
	var raw [8]byte
	if err := kv.DecodeFixed(raw[:], v, "time of the last backup"); err != nil {
		return 0, err
	}
	if atMs = int64(binary.BigEndian.Uint64(raw[:])); atMs <= 0 {
		return 0, fmt.Errorf("%w: time of the last backup: %d ms", ErrCorrupt, atMs)
	}
	return atMs, nil
}
