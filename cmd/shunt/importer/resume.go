package importer

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"io/fs"
	"os"
	"time"

	"shunt/cmd/shunt/console"
)

// markSuffix follows the name of the imported file in the name of its mark.
const markSuffix = ".shunt-import"

// markedBatches is after how many batches a mark is written. A shorter import is repeated as fast
// as it is resumed.
const markedBatches = 10

// A mark says how far an import has come. It is a small file beside the imported one, written after
// each answer of the server and removed at the end.
type mark struct {
	Bytes    int64     `json:"bytes"`    // of the imported file
	Modified time.Time `json:"modified"` // the imported file
	To       string    `json:"to"`       // the server, and the owner of the links
	// From and Next are around the last batch with an answer. An import that is resumed sends it
	// again: if the server does not have its links, it does not have those before them.
	From position `json:"from"`
	Next position `json:"next"`
	Done Done     `json:"done"` // up to Next
}

// A markFile is the file of a mark.
type markFile struct {
	path  string
	own   bool // it is of this import: an earlier run has left it, or this one has written it
	unfit bool // none can be written, or it would be of no use
	file  *os.File
	bytes int // the most that was written
}

// text returns the file's text: the mark, and a checksum, because after a power cut the file may
// have parts of two marks.
func (m *mark) text() ([]byte, error) {
	text, err := json.Marshal(m)
	return fmt.Appendf(text, "\n%08x\n", crc32.ChecksumIEEE(text)), err
}

// write writes m in place, in one call, so that a killed process leaves this mark or the last.
func (f *markFile) write(m *mark) error {
	text, err := m.text()
	if err != nil {
		return err
	}
	if f.file == nil {
		if f.file, err = os.OpenFile(f.path, os.O_CREATE|os.O_WRONLY|os.O_TRUNC, 0o600); err != nil {
			return err
		}
		f.own = true
	}
	f.bytes = max(f.bytes, len(text))
	_, err = f.file.WriteAt(append(text, bytes.Repeat([]byte{' '}, f.bytes-len(text))...), 0)
	return err
}

func (f *markFile) close() {
	if f.file != nil {
		_ = f.file.Close()
	}
}

// remove removes the mark of an import that is done.
func (f *markFile) remove() {
	if f.own {
		_ = os.Remove(f.path) // its import cannot be resumed any more: another run finds all links
	}
}

var errMark = errors.New("its mark cannot be read")

// readMark reads the mark at path; nil: there is none.
func readMark(path string) (*mark, error) {
	text, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	m := new(mark)
	body, sum, found := bytes.Cut(text, []byte{'\n'})
	want := fmt.Appendf(nil, "%08x", crc32.ChecksumIEEE(body))
	if !found || !bytes.Equal(bytes.TrimSpace(sum), want) || json.Unmarshal(body, m) != nil {
		return nil, errMark
	}
	return m, nil
}

// of reports whether m is of an import of s to the same server and owner.
func (m *mark) of(s *source, to string) bool {
	return m.Bytes == s.size && m.Modified.Equal(s.modified) && m.To == to
}

// resumed returns the mark from which to go on; nil: the import begins at the beginning.
func resumed(s *source, path, to string) (*mark, error) {
	m, err := readMark(path)
	name := console.Printable(s.name)
	switch {
	case errors.Is(err, errMark):
		return nil, fmt.Errorf("%s cannot be resumed: %s is damaged; without --resume it is imported from the beginning", name, console.Printable(path))
	case err != nil || m == nil:
		return nil, err
	case m.To != to:
		return nil, fmt.Errorf("%s was being imported to %s, not to %s; without --resume it is imported from the beginning", name, console.Printable(m.To), to)
	case !m.of(s, to):
		return nil, fmt.Errorf("%s has changed since its import was cut; without --resume it is imported from the beginning", name)
	}
	return m, nil
}
