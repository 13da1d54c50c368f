package folder

import (
	"bytes"
	"fmt"
	"slices"
	"strings"

	"shunt/api/table"
	"shunt/engine"
)

// Check reads every row and verifies it: its key, that its value is what this package writes, and that no owner has a
// name twice. It adds every fault to faults; an error means that it could not read the table.
func Check(rows table.Table, faults *engine.Faults) error {
	names := make(map[string]uint32) // of folders, by owner and name
	highest, last := uint32(0), uint32(0)
	err := rows.Scan(nil, func(key, value []byte) (bool, error) {
		fault := func(format string, args ...any) { faults.Add(fmt.Sprintf("folders, key %x", key), format, args...) }
		if bytes.Equal(key, lastKey) {
			var err error
			if last, err = decodeLast(value); err != nil {
				fault("%v", err)
			}
			return true, nil
		}
		f, err := decodeFolder(key, value)
		if err != nil || !bytes.Equal(encodeFolder(&f), value) {
			fault("no row of a folder: %v", err)
			return true, nil
		}
		highest = max(highest, f.Number)
		kept := f
		if err := kept.normalise(); err != nil || kept.Name != f.Name || !slices.Equal(kept.Members, f.Members) {
			fault("folder %d is not as folders are kept: %v", f.Number, err)
		}
		name := fmt.Sprint(f.Owner, " ", strings.ToLower(f.Name))
		if of, taken := names[name]; taken {
			fault("folder %d of that owner has the same name", of)
		}
		names[name] = f.Number
		return true, nil
	})
	if err != nil {
		return fmt.Errorf("check folders: %w", err)
	}
	if highest > last {
		faults.Add("folders", "folder %d is there, and the last number is %d", highest, last)
	}
	return nil
}
