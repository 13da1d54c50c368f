package storage

import (
	"context"
	"fmt"
	"log/slog"
	"slices"

	"shunt/storage/audit"
	"shunt/storage/check"
	"shunt/storage/hits"
	"shunt/storage/links"
	"shunt/storage/row"
	"shunt/storage/tables"
)

// CheckOptions are the settings of Check.
type CheckOptions = check.Options

// CheckReport counts the records that Check has read.
type CheckReport = check.Report

// checkSubjects are all that have rows, but for a Replication. Rows of other tables are faults.
var checkSubjects = []func(*check.Run) check.Subject{links.Check, hits.Check, audit.Check, tables.Check, checkOthers}

// checkOthers returns how the rows that belong to no other subject are checked.
func checkOthers(*check.Run) check.Subject {
	return check.Subject{
		Meta: []check.MetaRow{
			{Name: row.MetaBaseURL, What: "base URL", Read: func(v []byte) error {
				_, err := row.DecodeBaseURL(v)
				return err
			}},
			{Name: row.MetaLastBackup, What: "last backup", Read: func(v []byte) error {
				_, err := decodeLastBackup(v)
				return err
			}},
		},
	}
}

// Check reads every record and verifies it, alone and against the others. It adds faults to
// o.Faults; an error means that the check could not finish.
func (v *Inspection) Check(ctx context.Context, o CheckOptions) (CheckReport, error) {
	options := pebbleOptions(v.fs, &Options{Logger: slog.New(slog.DiscardHandler)}, nil, false)
	options.EnsureDefaults()
	subjects := slices.Clip(checkSubjects)
	if v.replication != nil {
		subjects = append(subjects, v.replication.Check)
	}
	report, err := check.All(ctx, check.Source{
		DB: v.db, Reader: v.r, FS: v.fs, Folder: v.folder, Tables: options.MakeReaderOptions(), Backup: v.backup, Live: v.live,
	}, o, subjects)
	if err != nil {
		return report, fmt.Errorf("storage: check: %w", err)
	}
	return report, nil
}
