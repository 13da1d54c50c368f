package certificate

import (
	"fmt"

	"shunt/api/table"
	"shunt/engine"
)

// Check reads every row and verifies it: its key, and that a certificate, its key and its host belong together. It adds
// every fault to faults; an error means that it could not read the table.
func Check(rows table.Table, faults *engine.Faults) error {
	none := newKnown(nil)
	err := rows.Scan(nil, func(key, value []byte) (bool, error) {
		if _, err := none.readRow(key, value); err != nil {
			faults.Add(fmt.Sprintf("certificates, key %q", key), "%v", err)
		}
		return true, nil
	})
	if err != nil {
		return fmt.Errorf("check certificates: %w", err)
	}
	return nil
}
