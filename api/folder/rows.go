package folder

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"time"
)

// formatVersion is "v" in every value. A row of another version is an error, never a guess.
const formatVersion = 1

var errFormat = errors.New("folder row of unknown format")

// lastKey has the highest number that a folder ever had.
var lastKey = []byte{'s'}

// folderKeys begins the keys of folders.
var folderKeys = []byte{'f'}

func folderKey(n uint32) []byte { return binary.BigEndian.AppendUint32(bytes.Clone(folderKeys), n) }

type folderRow struct {
	V         int      `json:"v"`
	Number    uint32   `json:"number"` // repeated, to compare it with the key
	Name      string   `json:"name"`
	Owner     uint32   `json:"owner"`
	Members   []Member `json:"members,omitempty"`
	CreatedMs int64    `json:"created_ms"`
	Version   uint64   `json:"version"`
}

func encodeFolder(f *Folder) []byte {
	b, err := json.Marshal(folderRow{formatVersion, f.Number, f.Name, f.Owner, f.Members, f.CreatedAt.UnixMilli(), f.Version})
	if err != nil {
		panic(fmt.Sprintf("folder: encoding a row: %v", err)) // encoding its fields cannot fail
	}
	return b
}

func decodeFolder(key, value []byte) (Folder, error) {
	var row folderRow
	if json.Unmarshal(value, &row) != nil || row.V != formatVersion {
		return Folder{}, fmt.Errorf("%w (version %d)", errFormat, row.V)
	}
	if !bytes.Equal(key, folderKey(row.Number)) || row.Number == 0 {
		return Folder{}, fmt.Errorf("folder %d is under the key %x", row.Number, key)
	}
	if row.Version == 0 {
		return Folder{}, fmt.Errorf("%w: folder %d has no version", errFormat, row.Number)
	}
	return Folder{row.Number, row.Name, row.Owner, row.Members, time.UnixMilli(row.CreatedMs).UTC(), row.Version}, nil
}

// decodeLast returns the number in the row lastKey; without one it is 0.
func decodeLast(value []byte) (uint32, error) {
	switch len(value) {
	case 0:
		return 0, nil
	case 4:
		return binary.BigEndian.Uint32(value), nil
	}
	return 0, fmt.Errorf("the last folder's number has %d bytes", len(value))
}
