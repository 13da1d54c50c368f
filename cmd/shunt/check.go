package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"shunt/api/account"
	"shunt/cmd/shunt/console"
	"shunt/cmd/shunt/node"
	"shunt/cmd/shunt/settings"
	"shunt/engine"
	"shunt/engine/plural"
	"shunt/storage"
)

// checkOutcome is what a check found, as --json prints it.
type checkOutcome struct {
	OK         bool                 `json:"ok"`
	Data       string               `json:"data"`
	Live       bool                 `json:"live"`   // a server runs on it
	Backup     bool                 `json:"backup"` // it is a backup, which has no journal
	Records    storage.CheckReport  `json:"records"`
	Accounts   account.CheckReport  `json:"accounts"`
	Journal    engine.JournalReport `json:"journal"`
	Cluster    *node.SharedState    `json:"cluster,omitempty"` // of a node of a cluster
	FaultCount uint64               `json:"fault_count"`
	Faults     []engine.Fault       `json:"faults"` // the first, those of files before all others
	Follow     []engine.FaultGroup  `json:"fault_groups,omitempty"`
	TookMs     int64                `json:"took_ms"`
}

var errFaults = errors.New("the data has faults")

func newCheck(stdout, stderr io.Writer) *cobra.Command {
	where, asJSON, hash := localTarget{patience: lockPatience}, false, false
	cmd := &cobra.Command{
		Use:   "check",
		Short: "Read every record and verify it",
		Long: `Read every record of the data and every file of the hit journal, and verify them: checksums, formats,
and that records agree with each other (links with their indexes, owners and figures; hours with days
and lives). Nothing is changed. If a server runs on the data folder, that server checks a snapshot and
goes on serving. --data may also name a backup.

The exit code is 1 if there is a fault, or if the check could not be done. The first faults are
listed; all are counted.`,
		Example: `  shunt check
  shunt check --data /backups/monday --json
  shunt check --hash`,
		Args: exactly(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			return checkData(cmd.Context(), &where, hash, asJSON, stdout, stderr)
		},
	}
	addFolder(cmd, &where.data)
	addJournal(cmd, &where.data)
	cmd.Flags().BoolVar(&asJSON, "json", false, "print the result as JSON")
	cmd.Flags().BoolVar(&hash, "hash", false, "print only a hash of what all nodes of a cluster share, and the sequence of the last entry that is applied; "+
		"at equal sequences the hashes of all nodes are equal")
	settings.MarkArguments(cmd.Flags(), "json", "hash")
	return cmd
}

func checkData(ctx context.Context, where *localTarget, hash, asJSON bool, stdout, stderr io.Writer) error {
	var found checkOutcome
	show := console.NewProgress(stderr)
	c, err := where.reach(ctx, func() (err error) {
		found, err = checkAlone(ctx, &where.data, show.Say, stderr)
		return err
	})
	if c != nil {
		err = c.operate(ctx, "/check", nil, show.Say, &found)
	}
	show.End()
	if err != nil {
		return fmt.Errorf("check: %w", err)
	}
	found.Data = where.data.dataDir
	if hash && found.Cluster == nil {
		return fmt.Errorf("check: --hash: %s belongs to no cluster", where.data.dataDir)
	}
	if hash && !asJSON && found.OK {
		_, err = fmt.Fprintf(stdout, "%s %d\n", found.Cluster.Hash, found.Cluster.Sequence)
	} else if asJSON {
		err = console.PrintValue(stdout, found)
	} else {
		_, err = io.WriteString(stdout, found.text())
	}
	if err == nil && !found.OK {
		err = fmt.Errorf("check: %w: %d; do not replace a good backup, and restore the last good one if necessary", errFaults, found.FaultCount)
	}
	return err
}

// checkAlone checks a folder that nobody serves.
func checkAlone(ctx context.Context, s *dataSettings, say func(string), stderr io.Writer) (found checkOutcome, err error) {
	log := console.New(stderr, "text", slog.LevelWarn).Log
	v, err := storage.Inspect(s.dataDir, storage.Options{Logger: log, Replicate: node.Replicate})
	if err != nil {
		return found, storeError(s.dataDir, err)
	}
	defer func() { err = errors.Join(err, v.Close()) }()
	return inspect(ctx, v, say, func(faults *engine.Faults) (engine.JournalReport, error) {
		return checkLeftJournal(v, s, log, faults)
	})
}

// checkLeftJournal checks the journal that the last process has left.
func checkLeftJournal(
	v *storage.Inspection, s *dataSettings, log *slog.Logger, faults *engine.Faults,
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
func (c *core) check(ctx context.Context, say func(string)) (_ any, err error) {
	v := c.store.Inspect()
	defer func() { err = errors.Join(err, v.Close()) }()
	found, err := inspect(ctx, v, say, c.engine.CheckJournal)
	found.Live = true
	return found, err
}

// inspect checks a store: its records, what api/account has in it, and its journal.
func inspect(
	ctx context.Context, v *storage.Inspection, say func(string), journal func(*engine.Faults) (engine.JournalReport, error),
) (found checkOutcome, err error) {
	start, faults := time.Now(), new(engine.Faults)
	found.Backup = v.Backup()
	found.Records, err = v.Check(ctx, storage.CheckOptions{
		Faults:     faults,
		KnowsOwner: func(owner uint32) (bool, error) { return account.Known(v.Accounts(), owner) },
		Progress:   func(step string, done uint64) { say(checkProgress(step, done)) },
	})
	if err != nil {
		return found, err
	}
	if found.Records.Accounts > 0 {
		if found.Accounts, err = account.Check(v.Accounts(), faults); err != nil {
			return found, err
		}
	}
	if found.Journal, err = journal(faults); err != nil {
		return found, err
	}
	if found.Cluster, err = node.StateOf(v); err != nil {
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

// text is what a check prints for people.
func (o *checkOutcome) text() string {
	var b strings.Builder
	w := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	row := func(name string, value any) { fmt.Fprintf(w, "%s\t%v\n", name, value) }
	r := &o.Records
	row("links", r.Links)
	row("deleted links", plural.Of(r.Tombstones, "tombstone", "tombstones")+", "+plural.Of(r.DeletedRecords, "record", "records"))
	row("index records", fmt.Sprintf("%d by owner, %d by tag, %d by deletion", r.ByOwner, r.ByTag, r.ByDeletion))
	row("receipts of creates", r.Receipts)
	row("figures of links", plural.Of(r.LinkHours, "hour", "hours")+", "+plural.Of(r.LinkDays, "day", "days")+", "+
		plural.Of(r.LinkLives, "life", "lives"))
	row("figures of owners", plural.Of(r.OwnerHours, "hour", "hours")+", "+plural.Of(r.OwnerDays, "day", "days"))
	row("accounts", plural.Of(o.Accounts.Users, "user", "users")+", "+plural.Of(o.Accounts.Tokens, "token", "tokens"))
	row("database", plural.Of(r.Files, "file", "files")+", "+console.Size(r.FileBytes))
	if o.Backup {
		row("journal", "a backup has none")
	} else {
		row("journal", o.journalText())
	}
	if r.Skipped != "" {
		row("not checked", r.Skipped)
	}
	if c := o.Cluster; c != nil {
		row("cluster", c.Cluster)
		row("applied", fmt.Sprintf("entry %d of epoch %d", c.Sequence, c.Epoch))
		row("hash", c.Hash)
	}
	row("faults", o.FaultCount)
	_ = w.Flush() // into memory
	b.WriteString(o.faultsText())
	return b.String()
}

// faultsText lists the faults: first the damaged files, with what follows from them by table, then
// the others.
func (o *checkOutcome) faultsText() string {
	var b strings.Builder
	more := o.FaultCount
	for _, f := range o.Faults {
		if !f.Follows {
			fmt.Fprintf(&b, "  %s: %s\n", console.Printable(f.Where), console.Printable(f.What))
			more--
		}
	}
	for i, g := range o.Follow {
		if i == 0 {
			b.WriteString("  most likely because of that:\n")
		}
		first := console.Printable(g.First.What)
		if g.First.Where != g.Where {
			first = console.Printable(g.First.Where) + ": " + first
		}
		fmt.Fprintf(&b, "    %s: %s, the first: %s\n", console.Printable(g.Where), plural.Of(g.Count, "fault", "faults"), first)
		more -= g.Count
	}
	if more > 0 {
		fmt.Fprintf(&b, "  and %d more\n", more)
	}
	return b.String()
}

func (o *checkOutcome) journalText() string {
	j := &o.Journal
	text := plural.Of(j.Files, "file", "files") + ", " + plural.Of(j.Waiting, "hit", "hits") + " to be written"
	for _, x := range []struct {
		n         uint64
		one, many string
	}{
		{j.Torn, "slot torn by a crash", "slots torn by a crash"}, {j.Lost, "hit lost to a stall", "hits lost to a stall"},
		{j.Unnamed, "of them without its referrer's name", "of them without their referrer's name"},
		{uint64(j.Unfinished), "file of a start that was cut off", "files of a start that was cut off"}, {uint64(j.Old), "old file", "old files"},
	} {
		if x.n > 0 {
			text += ", " + plural.Of(x.n, x.one, x.many)
		}
	}
	return text
}
