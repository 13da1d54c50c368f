package storage

import (
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"time"

	"shunt/storage/disk"
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

// A Copy is one of this store's data, given to a node that has not begun to pull yet. It lacks the records
// after these positions, so nobody may drop them.
type Copy struct {
	Name   string // of the node that it is for
	Begun  time.Time
	Own    uint64              // of this store's outbox
	Others map[[16]byte]uint64 // of other nodes' outboxes, by id; it lacks all records of those that are missing here
}

// copyJSON is a Copy in the file.
type copyJSON struct {
	Name    string            `json:"name"`
	BegunMs int64             `json:"begun_ms"`
	Own     uint64            `json:"own"`
	Others  map[string]uint64 `json:"others"`
}

// copiesJSON is the file.
type copiesJSON struct {
	Outbox string     `json:"outbox"` // of this store; copies of another history are of no use
	Copies []copyJSON `json:"copies"`
}

// maxCopiesBytes bounds the part of the file that is read: 256 copies with 256 positions each.
const maxCopiesBytes = 8 << 20

// NoteCopies has the folder remember copies, and is durable when it returns. One goroutine may call it at a
// time.
func (s *Store) NoteCopies(copies []Copy) error {
	id, _ := s.OutboxID()
	file := copiesJSON{Outbox: hex.EncodeToString(id[:])}
	for _, c := range copies {
		j := copyJSON{Name: c.Name, BegunMs: c.Begun.UnixMilli(), Own: c.Own, Others: make(map[string]uint64, len(c.Others))}
		for outbox, through := range c.Others {
			j.Others[hex.EncodeToString(outbox[:])] = through
		}
		file.Copies = append(file.Copies, j)
	}
	text, err := json.Marshal(&file)
	if err == nil {
		err = s.folder.WriteSynced(disk.CopiesNewName, string(text)+"\n")
	}
	if err == nil {
		err = s.folder.FS.Rename(s.folder.Path(disk.CopiesNewName), s.folder.Path(disk.CopiesName))
	}
	if err == nil {
		err = s.folder.SyncDir(s.folder.Dir)
	}
	if err != nil {
		return fmt.Errorf("storage: noting the copies of this data: %w", err)
	}
	return nil
}

// Copies returns what NoteCopies was last given.
func (s *Store) Copies() ([]Copy, error) {
	text, err := s.folder.Read(disk.CopiesName, maxCopiesBytes)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	var file copiesJSON
	if err == nil {
		err = json.Unmarshal(text, &file)
	}
	if err != nil {
		return nil, fmt.Errorf("storage: reading which copies of this data there are: %w", err)
	}
	if id, _ := s.OutboxID(); file.Outbox != hex.EncodeToString(id[:]) {
		return nil, nil
	}
	copies := make([]Copy, 0, len(file.Copies))
	for _, j := range file.Copies {
		c := Copy{Name: j.Name, Begun: time.UnixMilli(j.BegunMs), Own: j.Own, Others: make(map[[16]byte]uint64, len(j.Others))}
		for outbox, through := range j.Others {
			var id [16]byte
			if n, err := hex.Decode(id[:], []byte(outbox[:min(len(outbox), 2*len(id))])); err != nil || n != len(id) {
				return nil, fmt.Errorf("storage: reading which copies of this data there are: %w: outbox %q", ErrCorrupt, outbox)
			}
			c.Others[id] = through
		}
		copies = append(copies, c)
	}
	return copies, nil
}
