package importer

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"time"

	"shunt/cmd/shunt/console"
)

const (
	// markSuffix follows the name of the imported file in the name of its mark.
	markSuffix = ".shunt-import"

	// newSuffix follows the name of a mark that is being written.
	newSuffix = ".new"

	// markedBatches is after how many batches a mark is written. A shorter import is repeated as fast
	// as it is resumed.
	markedBatches = 10
)

// A mark says how far an import has come. It is a small file beside the imported one, replaced after
// each answer of the server and removed at the end.
type mark struct {
	Bytes    int64     `json:"bytes"`    // of the imported file
	Modified time.Time `json:"modified"` // the imported file
	To       string    `json:"to"`       // the server, and the owner of the links
	As       string    `json:"as"`       // how the file was read; empty: nothing was said
	// From and Next are the records before and with the last batch that has an answer. An import that
	// is resumed sends it again: if the server does not have its links, it does not have those before.
	From int   `json:"from"`
	Next int   `json:"next"`
	Last int64 `json:"last"` // the number, for people, of the record before Next
	Done Done  `json:"done"` // up to Next
}

// write replaces the mark at path, so that a killed process leaves this mark or the last. If it fails, it
// leaves nothing of the new one.
func (m *mark) write(path string) error {
	text, err := json.Marshal(m)
	if err == nil {
		err = os.WriteFile(path+newSuffix, text, 0o600)
	}
	if err == nil {
		err = os.Rename(path+newSuffix, path)
	}
	if err != nil {
		_ = os.Remove(path + newSuffix)
	}
	return err
}

// removeMark removes the mark at path, and what a killed process has left of another.
func removeMark(path string) { _, _ = os.Remove(path), os.Remove(path+newSuffix) }

// readMark reads the mark at path; nil: there is none.
func readMark(path string) (*mark, error) {
	text, err := os.ReadFile(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, nil
	case err != nil:
		return nil, err
	}
	m := new(mark)
	if err := json.Unmarshal(text, m); err != nil { // a power cut may leave an empty file
		return nil, fmt.Errorf("%s is damaged", console.Printable(path))
	}
	return m, nil
}

// of reports whether m is of an import of f to the same server and owner, read in the same way.
func (m *mark) of(f *file, to, as string) bool {
	return m.Bytes == f.bytes && m.Modified.Equal(f.modified) && m.To == to && m.As == as
}

// resumed returns the mark from which to go on; nil: the import begins at the beginning.
func resumed(f *file, path, to, as string) (*mark, error) {
	m, err := readMark(path)
	switch {
	case err != nil:
		return nil, fmt.Errorf("%s cannot be resumed: %w; without --resume it is imported from the beginning", f.name, err)
	case m == nil:
		return nil, nil
	case m.To != to:
		return nil, fmt.Errorf("%s was being imported to %s, not to %s; without --resume it is imported from the beginning", f.name, console.Printable(m.To), to)
	case m.As != as:
		return nil, fmt.Errorf("%s was being imported with another --format, --map, --map-domain, --table, --log, --log-tz or --source-tz; without --resume it is imported from the beginning", f.name)
	case !m.of(f, to, as):
		return nil, fmt.Errorf("%s has changed since its import was cut; without --resume it is imported from the beginning", f.name)
	}
	return m, nil
}
