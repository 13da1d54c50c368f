package links

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"shunt/api/changes"
	"shunt/api/client"
	"shunt/cmd/shunt/console"
	"shunt/cmd/shunt/reach"
	"shunt/cmd/shunt/settings"
	"shunt/cmd/shunt/usage"
)

// auditAsked has the flags of audit.
type auditAsked struct {
	client.AuditQuery
	listed
}

func newAudit(stdout, stderr io.Writer) *cobra.Command {
	where, asked := reach.Target{Reads: true}, auditAsked{}
	cmd := &cobra.Command{
		Use:   "audit",
		Short: "List who changed what, and when",
		Long: `List changes of links, users and tokens, newest first: as a table, or with --json as one entry per
line. Without --limit and --all, it lists the newest 50.
` + reach.WhereUsersAre,
		Example: `  shunt audit
  shunt audit --code spring
  shunt audit --actor ann@example.com --from 2026-11-01 --all
  shunt audit --json --all | jq -r 'select(.action == "link.deleted") | .code'`,
		Args: usage.Exactly(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := asked.check(cmd); err != nil {
				return err
			}
			return listChanges(cmd.Context(), &where, asked, stdout, stderr)
		},
	}
	reach.AddUserSettings(cmd, &where)
	fs := cmd.Flags()
	fs.StringVar(&asked.Actor, "actor", "", "only changes by `WHO`: a user's e-mail address or ID, or a token's ID")
	fs.StringVar(&asked.Code, "code", "", "only changes of the link with the `CODE`, or short address")
	settings.Var(fs, &asked.From, "from", "TIME", "", "only changes since the `TIME`: 7d, today, 2026-11-01 or 2026-11-01T12:00:00Z", settings.Now(settings.ParseBegin))
	settings.Var(fs, &asked.To, "to", "TIME", "", "only changes before the `TIME`, or up to the end of a date", settings.Now(settings.ParseEnd))
	asked.add(fs, "all changes", "print entries as objects, one per line")
	settings.MarkArguments(fs, "actor", "code", "from", "to")
	return cmd
}

// listChanges prints entries as they arrive, so that a long list takes no memory. It requests one
// more than it prints, to know whether there are more.
func listChanges(ctx context.Context, where *reach.Target, asked auditAsked, stdout, stderr io.Writer) error {
	out := newListPrinter(stdout, asked.asJSON, "TIME", "WHO", "ACTION", "OF", "CHANGES", "REQUEST")
	asked.PageSize = asked.pageSize()
	name := linkName{}
	if asked.Code != "" {
		var err error
		if name, err = parseLinkName(asked.Code); err != nil {
			return fmt.Errorf("audit: --code: %w", err)
		}
	}
	err := where.With(ctx, stderr, func(c *reach.Connection) (err error) {
		link, err := linkOf(ctx, c, name)
		if err != nil {
			return err
		}
		asked.Code, asked.Domain = link.code, link.domain
		return printListed(&asked.listed, c.Audit(ctx, asked.AuditQuery), stderr, func(e *client.AuditEntry) error {
			return out.print(e.Raw, console.Time(e.At), whoChanged(&e.Actor), e.Action, subjectOf(e), changesOf(e), e.RequestID)
		})
	})
	if err := errors.Join(err, out.flush(err == nil)); err != nil {
		return fmt.Errorf("audit: %w", err)
	}
	return nil
}

// whoChanged names an actor, with the way in which the server knew who it was.
func whoChanged(a *client.AuditActor) string {
	switch {
	case a.Via == "local":
		return "local command"
	case a.Via == "none" && a.Email == "":
		return "setup link"
	case a.Via == "none":
		return a.Email
	case a.TokenID != "":
		return fmt.Sprintf("%s (token %s)", a.Email, a.TokenID)
	}
	return fmt.Sprintf("%s (%s)", a.Email, a.Via)
}

// subjectOf names what an entry is about.
func subjectOf(e *client.AuditEntry) string {
	switch {
	case e.LastCode != "" && e.LastCode != e.Code:
		return nameIn(e.Domain, e.Code) + " to " + e.LastCode
	case e.Code != "":
		return nameIn(e.Domain, e.Code)
	case e.TokenID != "":
		return "token " + e.TokenID
	case e.User != 0:
		return "user " + strconv.FormatUint(uint64(e.User), 10)
	}
	return ""
}

// maxShownValue is the number of characters of a value in a table; --json has all of it.
const maxShownValue = 60

// changesOf shows the fields that changed, in the order in which the server names them.
func changesOf(e *client.AuditEntry) string {
	if n := e.Counts; n != nil {
		return fmt.Sprintf("%d created, %d existing, %d failed", n.Created, n.Existing, n.Failed)
	}
	fields := changes.Of(e.Before, e.After)
	texts := make([]string, len(fields))
	for i, f := range fields {
		was, is := shortened(f.Before), shortened(f.After)
		switch {
		case is == "":
			texts[i] = f.Name + ": " + was
		case was == "":
			texts[i] = f.Name + ": " + is
		default:
			texts[i] = f.Name + ": " + was + " → " + is
		}
	}
	return strings.Join(texts, "; ")
}

func shortened(text string) string {
	if runes := []rune(text); len(runes) > maxShownValue {
		return string(runes[:maxShownValue-1]) + "…"
	}
	return text
}
