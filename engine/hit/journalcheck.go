package hit

import (
	"fmt"

	"shunt/engine/internal/settings"
	"shunt/engine/journal"
)

// CheckJournal verifies the files that a store has in the journal folder dir: see
// journal.Folder.Check. p are the store's positions; live says whether an engine runs on these files.
func CheckJournal(dir string, id settings.Identity, p Positions, live bool, faults journal.FaultSink) (journal.Report, error) {
	in := journal.NewFolder(id.StoreID, dir)
	return in.Check(p.journal(), live, faults)
}

// CheckJournal verifies the files that the engine has mapped. It is the function CheckJournal with
// live set.
func (hs *Hits) CheckJournal(faults journal.FaultSink) (journal.Report, error) {
	p, err := hs.store.Positions()
	if err != nil {
		return journal.Report{}, fmt.Errorf("reading journal positions: %w", err)
	}
	return hs.folder.Check(p.journal(), true, faults)
}
