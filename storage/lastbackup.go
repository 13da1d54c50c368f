package storage

import (
	"encoding/binary"
	"fmt"

	"shunt/storage/row"
)

// The time of the last backup is a row, so that a restart does not hide that backups have stopped.
// It is written when the backup is whole, so a backup has the time of the one before it.

// LastBackup returns the Unix time in ms at which the last backup ended, or 0 if there was none.
func (s *Store) LastBackup() (atMs int64, err error) {
	v, err := s.get(row.MetaKey(row.MetaLastBackup))
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
	set(b, row.MetaKey(row.MetaLastBackup), binary.BigEndian.AppendUint64(nil, uint64(max(atMs, 1))))
	return s.sync(b, "storage: noting the time of a backup")
}

func decodeLastBackup(v []byte) (atMs int64, err error) {
	var raw [8]byte
	if err := decodeFixed(raw[:], v, "time of the last backup"); err != nil {
		return 0, err
	}
	if atMs = int64(binary.BigEndian.Uint64(raw[:])); atMs <= 0 {
		return 0, fmt.Errorf("%w: time of the last backup: %d ms", ErrCorrupt, atMs)
	}
	return atMs, nil
}
