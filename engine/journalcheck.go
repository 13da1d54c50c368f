package engine

import (
	"fmt"

	"shunt/engine/journal"
)

// CheckJournal verifies the files that a store has in the journal folder dir: see
// journal.Folder.Check. p are the store's positions; live says whether an engine runs on these files.
func CheckJournal(dir string, id Identity, p Positions, live bool, faults *Faults) (JournalReport, error) {
	in := journal.NewFolder(id.StoreID, dir)
	return in.Check(p.journal(), live, faults)
}

// CheckJournal verifies the files that the engine has mapped. It is the function CheckJournal with
// live set.
func (hs *Hits) CheckJournal(faults *Faults) (JournalReport, error) {
	p, err := hs.store.Positions()
	if err != nil {
		return JournalReport{}, fmt.Errorf("reading journal positions: %w", err)
	}
	return hs.folder.Check(p.journal(), true, faults)
}
