package disk

import (
	"encoding/binary"
	"errors"
	"hash/crc32"
	"io"
	"io/fs"
	"log/slog"
	"sync"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// The file AckedName holds the number of the last acknowledged batch.
//
//	┌──────────────┬──────────────────────────────────────┬─────────────┐
//	│ number 8, LE │ CRC-32C 4, LE: of store id and number │ zeros …4096 │
//	└──────────────┴──────────────────────────────────────┴─────────────┘
//
// It is written after each commit and never synced: a write of 12 bytes into a page that exists
// adds about 1 µs to the commit's fsync. So it outlives the process. After a power cut it may be
// older than the store, but never newer.
const (
	ackedBytes     = 12
	ackedFileBytes = 4096
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// AckedFile is the file in use. Any goroutine may call Raise.
type AckedFile struct {
	storeID [16]byte
	log     *slog.Logger

	mu struct {
		sync.Mutex
		file   vfs.File
		number uint64
		failed bool // a write failed and was logged
	}
}

// encodeAcked returns the file's first bytes.
func encodeAcked(storeID [16]byte, number uint64) []byte {
	b := binary.LittleEndian.AppendUint64(make([]byte, 0, ackedBytes), number)
	return binary.LittleEndian.AppendUint32(b, ackedSum(storeID, b))
}

func ackedSum(storeID [16]byte, number []byte) uint32 {
	return crc32.Update(crc32.Checksum(storeID[:], castagnoli), castagnoli, number)
}

// ReadAcked returns the number in the file. known is false if the file is missing or belongs to
// another store.
func (f *Folder) ReadAcked(storeID [16]byte) (number uint64, known bool, err error) {
	file, err := f.FS.Open(f.Path(AckedName))
	if errors.Is(err, fs.ErrNotExist) {
		return 0, false, nil
	}
	if err != nil {
		return 0, false, err
	}
	defer file.Close()
	var b [ackedBytes]byte
	if _, err := io.ReadFull(file, b[:]); err != nil {
		if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
			return 0, false, nil
		}
		return 0, false, err
	}
	known = ackedSum(storeID, b[:8]) == binary.LittleEndian.Uint32(b[8:])
	return binary.LittleEndian.Uint64(b[:]), known, nil
}

// Open creates or overwrites the file with number. It allocates the file's page, so that a full
// disk does not prevent later writes.
func (a *AckedFile) Open(f *Folder, storeID [16]byte, number uint64, log *slog.Logger) error {
	file, err := f.FS.OpenReadWrite(f.Path(AckedName), vfs.WriteCategoryUnspecified)
	if err != nil {
		return err
	}
	page := make([]byte, ackedFileBytes)
	copy(page, encodeAcked(storeID, number))
	if _, err := file.WriteAt(page, 0); err != nil {
		return errors.Join(err, file.Close())
	}
	a.storeID, a.log = storeID, log
	a.mu.file, a.mu.number = file, number
	return nil
}

// Raise records that the batch with this number is acknowledged. If the number cannot be written,
// the next start finds an older one. The only consequence is that it may not notice lost writes.
func (a *AckedFile) Raise(number uint64) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if number <= a.mu.number {
		return
	}
	a.mu.number = number
	if a.mu.file == nil { // the store is being made
		return
	}
	if _, err := a.mu.file.WriteAt(encodeAcked(a.storeID, number), 0); err != nil && !a.mu.failed {
		a.mu.failed = true
		a.log.Warn("the number of the last write cannot be noted", "file", AckedName, "error", err)
	}
}

// Close closes the file, if it is open.
func (a *AckedFile) Close() error {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.mu.file == nil {
		return nil
	}
	return a.mu.file.Close()
}
