package replicate

import (
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"time"

	"shunt/storage/disk"
	"shunt/storage/row"
)

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
func (s *Rows) NoteCopies(copies []Copy) error {
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
func (s *Rows) Copies() ([]Copy, error) {
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
				return nil, fmt.Errorf("storage: reading which copies of this data there are: %w: outbox %q", row.ErrCorrupt, outbox)
			}
			c.Others[id] = through
		}
		copies = append(copies, c)
	}
	return copies, nil
}
