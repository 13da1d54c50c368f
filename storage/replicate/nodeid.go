package replicate

import (
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"

	"shunt/storage/disk"
	"shunt/storage/row"
)

// NodeID returns what distinguishes this folder from all others of its cluster, as 16 random bytes. It is
// drawn when it is first asked for; fresh says that this was so. It is a file, so backups do not have it:
// a copy of another node's data is a node of its own. Only one goroutine may call it.
func (s *Rows) NodeID() (id [16]byte, fresh bool, err error) {
	file, err := s.folder.FS.Open(s.folder.Path(disk.NodeName))
	if errors.Is(err, fs.ErrNotExist) {
		rand.Read(id[:]) // never fails
		if err = s.folder.WriteSynced(disk.NodeName, hex.EncodeToString(id[:])+"\n"); err == nil {
			err = s.folder.SyncDir(s.folder.Dir)
		}
		if err != nil {
			return id, false, fmt.Errorf("storage: drawing the id of the node: %w", err)
		}
		return id, true, nil
	}
	if err != nil {
		return id, false, fmt.Errorf("storage: reading the id of the node: %w", err)
	}
	text, err := io.ReadAll(io.LimitReader(file, 2*int64(len(id))+2))
	if err = errors.Join(err, file.Close()); err == nil && len(text) != 2*len(id)+1 {
		err = fmt.Errorf("%w: it has %d bytes", row.ErrCorrupt, len(text))
	}
	if err == nil {
		_, err = hex.Decode(id[:], text[:2*len(id)])
	}
	if err != nil {
		return id, false, fmt.Errorf("storage: reading the id of the node (remove the file %s to make this folder another node): %w", disk.NodeName, err)
	}
	return id, false, nil
}
