package replicate

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"

	"shunt/storage/clusterlog"
	"shunt/storage/disk"
)

// A Copy is one of this store's data, given to a node that has not begun to pull yet. It lacks the records
// after these positions, so nobody may drop them.
type Copy struct {
	Name    string `json:"name"`     // of the node that it is for
	BegunMs int64  `json:"begun_ms"` // in Unix ms
	Own     uint64 `json:"own"`      // of this store's outbox
	// Lost: it is no copy, but a node that the servers of etcd have lost. It lacks the records after Own.
	Lost bool `json:"lost,omitempty"`
	// Others are those of other nodes' outboxes. It lacks all records of those that are missing here.
	Others map[clusterlog.OutboxID]uint64 `json:"others"`
}

// copies is the file.
type copies struct {
	Outbox clusterlog.OutboxID `json:"outbox"` // of this store; copies of another history are of no use
	Copies []Copy              `json:"copies"`
}

// maxCopiesBytes bounds the part of the file that is read: 256 copies with 256 positions each.
const maxCopiesBytes = 8 << 20

// NoteCopies has the folder remember copies, and is durable when it returns. One goroutine may call it at a
// time.
func (s *Rows) NoteCopies(all []Copy) error {
	id, _ := s.OutboxID()
	text, err := json.Marshal(&copies{id, all})
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
	var file copies
	if err == nil {
		err = json.Unmarshal(text, &file)
	}
	if err != nil {
		return nil, fmt.Errorf("storage: reading which copies of this data there are: %w", err)
	}
	if id, _ := s.OutboxID(); file.Outbox != id {
		return nil, nil
	}
	return file.Copies, nil
}
