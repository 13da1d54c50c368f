package storage

import (
	"encoding/binary"
	"fmt"
	"log/slog"

	"shunt/storage/row"
)

// convert raises the layout version of a store that an older program wrote. It is called before
// anybody can change a link or an account.
//
// From version 1 to 2 no row changes: version 2 has the audit log. The number is raised all the same,
// because a program that knows only version 1 would make changes without entries and never delete old
// entries, and its check would report them as rows of no known table.
//
// The format file is replaced before the row, so that the older program refuses the folder without
// opening the database. After a crash between the two, the next Open converts again.
func (s *Store) convert(f *folder, log *slog.Logger) error {
	named, _, err := f.readFormat(formatName)
	if err != nil {
		return err
	}
	if named == row.LayoutVersion && s.layout == row.LayoutVersion {
		return nil
	}
	if err := f.writeFormat(formatName, formatPrefix, row.LayoutVersion); err != nil {
		return err
	}
	b := s.db.NewBatch()
	defer b.Close()
	set(b, row.MetaKey(row.MetaLayout), binary.BigEndian.AppendUint32(nil, row.LayoutVersion))
	if err := s.sync(b, "converting the store"); err != nil {
		return err
	}
	log.Info(fmt.Sprintf("the data was converted from version %d to %d: older programs refuse it now", s.layout, row.LayoutVersion))
	s.layout = row.LayoutVersion
	return nil
}
