package core

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"time"

	"shunt/api/account"
	"shunt/api/certificate"
	"shunt/api/domain"
	"shunt/api/folder"
	"shunt/cmd/shunt/console"
	"shunt/engine"
	"shunt/engine/plural"
	"shunt/storage"
)

// Check is what a check found, as --json prints it.
type Check struct {
	OK         bool                 `json:"ok"`
	Data       string               `json:"data"`
	Live       bool                 `json:"live"`   // a server runs on it
	Backup     bool                 `json:"backup"` // it is a backup, which has no journal
	Records    storage.CheckReport  `json:"records"`
	Accounts   account.CheckReport  `json:"accounts"`
	Journal    engine.JournalReport `json:"journal"`
	Cluster    *SharedState         `json:"cluster,omitempty"` // of a node of a cluster
	FaultCount uint64               `json:"fault_count"`
	Faults     []engine.Fault       `json:"faults"` // the first, those of files before all others
	Follow     []engine.FaultGroup  `json:"fault_groups,omitempty"`
	TookMs     int64                `json:"took_ms"`
}

// CheckAlone checks a folder that nobody serves.
func CheckAlone(ctx context.Context, s *Data, say func(string), stderr io.Writer) (found Check, err error) {
	log := console.New(stderr, "text", slog.LevelWarn).Log
	v, err := storage.Inspect(s.Dir, storage.Options{Logger: log, Replicate: Replicate})
	if err != nil {
		return found, storeError(s.Dir, err)
	}
	defer func() { err = errors.Join(err, v.Close()) }()
	return inspect(ctx, v, say, func(faults *engine.Faults) (engine.JournalReport, error) {
		return checkLeftJournal(v, s, log, faults)
	})
}

// checkLeftJournal checks the journal that the last process has left.
func checkLeftJournal(
	v *storage.Inspection, s *Data, log *slog.Logger, faults *engine.Faults,
) (report engine.JournalReport, err error) {
	if v.Backup() {
		return report, nil
	}
	dir, err := s.lastJournal(log)
	if err != nil {
		return report, err
	}
	id, idErr := v.Identity()
	p, positionsErr := v.Positions()
	if idErr != nil || positionsErr != nil {
		return report, nil // reported among the meta rows
	}
	return engine.CheckJournal(dir, id, p, false, faults)
}

// check checks a store that is being served.
func (c *Core) check(ctx context.Context, say func(string)) (_ any, err error) {
	v := c.Store.Inspect()
	defer func() { err = errors.Join(err, v.Close()) }()
	found, err := inspect(ctx, v, say, c.Engine.CheckJournal)
	found.Live = true
	return found, err
}

// knowsOwner reports whether there is or was a user, and a domain, with the numbers of an owner.
func knowsOwner(v *storage.Inspection, owner uint32) (bool, error) {
	known, err := account.Known(v.Accounts(), engine.UserOf(owner))
	if err != nil || !known {
		return false, err
	}
	return domain.Known(v.Domains(), engine.DomainOf(owner))
}

// inspect checks a store: its records, what api/account has in it, and its journal.
func inspect(
	ctx context.Context, v *storage.Inspection, say func(string), journal func(*engine.Faults) (engine.JournalReport, error),
) (found Check, err error) {
	start, faults := time.Now(), new(engine.Faults)
	found.Backup = v.Backup()
	found.Records, err = v.Check(ctx, storage.CheckOptions{
		Faults:     faults,
		KnowsOwner: func(owner uint32) (bool, error) { return knowsOwner(v, owner) },
		Progress:   func(step string, done uint64) { say(checkProgress(step, done)) },
	})
	if err != nil {
		return found, err
	}
	if found.Records.Domains > 0 {
		if err = domain.Check(v.Domains(), faults); err != nil {
			return found, err
		}
	}
	if found.Records.Certificates > 0 {
		if err = certificate.Check(v.Certificates(), faults); err != nil {
			return found, err
		}
	}
	if found.Records.Folders > 0 {
		if err = folder.Check(v.Folders(), faults); err != nil {
			return found, err
		}
	}
	if found.Records.Accounts > 0 {
		if found.Accounts, err = account.Check(v.Accounts(), faults); err != nil {
			return found, err
		}
	}
	if found.Journal, err = journal(faults); err != nil {
		return found, err
	}
	if found.Cluster, err = sharedState(v); err != nil {
		return found, err
	}
	found.Faults, found.FaultCount = faults.Found()
	found.Follow = faults.Groups()
	found.OK, found.TookMs = found.FaultCount == 0, time.Since(start).Milliseconds()
	return found, nil
}

func checkProgress(step string, done uint64) string {
	switch {
	case done == 0:
		return "checking " + step
	case step == "files":
		return "checking files: " + console.Size(done)
	}
	return fmt.Sprintf("checking %s: %s", step, plural.Of(done, "record", "records"))
}
