package upkeep

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"shunt/cmd/shunt/console"
	"shunt/cmd/shunt/core"
	"shunt/cmd/shunt/reach"
	"shunt/cmd/shunt/settings"
	"shunt/cmd/shunt/usage"
	"shunt/engine"
	"shunt/engine/plural"
)

var errFaults = errors.New("the data has faults")

func newCheck(stdout, stderr io.Writer) *cobra.Command {
	where, asJSON, hash := reach.Target{Patience: reach.LockPatience}, false, false
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
		Args: usage.Exactly(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			return checkData(cmd.Context(), &where, hash, asJSON, stdout, stderr)
		},
	}
	core.AddFolder(cmd, &where.Data)
	core.AddJournal(cmd, &where.Data)
	cmd.Flags().BoolVar(&asJSON, "json", false, "print the result as JSON")
	cmd.Flags().BoolVar(&hash, "hash", false, "print only a hash of what all nodes of a cluster share, and the sequence of the last entry that is applied; "+
		"at equal sequences the hashes of all nodes are equal")
	settings.MarkArguments(cmd.Flags(), "json", "hash")
	return cmd
}

func checkData(ctx context.Context, where *reach.Target, hash, asJSON bool, stdout, stderr io.Writer) error {
	var found core.Check
	show := console.NewProgress(stderr)
	c, err := where.Reach(ctx, func() (err error) {
		found, err = core.CheckAlone(ctx, &where.Data, show.Say, stderr)
		return err
	})
	if c != nil {
		err = c.Operate(ctx, "/check", nil, show.Say, &found)
	}
	show.End()
	if err != nil {
		return fmt.Errorf("check: %w", err)
	}
	found.Data = where.Data.Dir
	if hash && found.Cluster == nil {
		return fmt.Errorf("check: --hash: %s belongs to no cluster", where.Data.Dir)
	}
	if hash && !asJSON && found.OK {
		_, err = fmt.Fprintf(stdout, "%s %d\n", found.Cluster.Hash, found.Cluster.Sequence)
	} else if asJSON {
		err = console.PrintValue(stdout, found)
	} else {
		_, err = io.WriteString(stdout, checkText(&found))
	}
	if err == nil && !found.OK {
		err = fmt.Errorf("check: %w: %d; do not replace a good backup, and restore the last good one if necessary", errFaults, found.FaultCount)
	}
	return err
}

// checkText is what a check prints for people.
func checkText(o *core.Check) string {
	var b strings.Builder
	w := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	row := func(name string, value any) { fmt.Fprintf(w, "%s\t%v\n", name, value) }
	r := &o.Records
	row("links", r.Links)
	row("deleted links", plural.Of(r.Tombstones, "tombstone", "tombstones")+", "+plural.Of(r.DeletedRecords, "record", "records")+fmt.Sprintf(", %d in the trash", r.Trash))
	row("index records", fmt.Sprintf("%d by owner, %d by tag, %d by deletion, %d to reuse", r.ByOwner, r.ByTag, r.ByDeletion+r.Leaving, r.Reuse))
	row("receipts of creates", r.Receipts)
	row("figures of links", plural.Of(r.LinkHours, "hour", "hours")+", "+plural.Of(r.LinkDays, "day", "days")+", "+
		plural.Of(r.LinkLives, "life", "lives"))
	row("figures of owners", plural.Of(r.OwnerHours, "hour", "hours")+", "+plural.Of(r.OwnerDays, "day", "days"))
	row("accounts", plural.Of(o.Accounts.Users, "user", "users")+", "+plural.Of(o.Accounts.Tokens, "token", "tokens"))
	row("database", plural.Of(r.Files, "file", "files")+", "+console.Size(r.FileBytes))
	if o.Backup {
		row("journal", "a backup has none")
	} else {
		row("journal", journalText(&o.Journal))
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
	b.WriteString(faultsText(o))
	return b.String()
}

// faultsText lists the faults: first the damaged files, with what follows from them by table, then
// the others.
func faultsText(o *core.Check) string {
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

func journalText(j *engine.JournalReport) string {
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
