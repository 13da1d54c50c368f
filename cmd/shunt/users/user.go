package users

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"shunt/api/client"
	"shunt/cmd/shunt/console"
	"shunt/cmd/shunt/reach"
	"shunt/cmd/shunt/settings"
	"shunt/cmd/shunt/usage"
)

func newUser(stdout, stderr io.Writer) *cobra.Command {
	return usage.NewGroup("user", "Manage users",
		newUserAdd(stdout, stderr), newUserEdit(stdout, stderr), newUserPasswd(stderr),
		newUserSetupLink(stdout, stderr), newUserLs(stdout, stderr), newUserRm(stderr))
}

func newUserAdd(stdout, stderr io.Writer) *cobra.Command {
	where, role, domains, asJSON := reach.Target{}, roleFlags{}, []string{}, false
	cmd := &cobra.Command{
		Use:   "add EMAIL",
		Short: "Make a user",
		Long: `Make a user and print the e-mail address as it is stored. A user without a password has
links and tokens but cannot sign in: 'shunt user setup-link' prints an address at which the user sets
one, and 'shunt user passwd' sets one. A viewer sees the links and figures of all users, and changes nothing.
--domain limits the user to links of that domain; give it several times for several. --init makes a store if
the data folder has none.
` + reach.WhereUsersAre,
		Example: `  shunt user add ann@example.com
  shunt user add ann@example.com --admin && shunt user setup-link ann@example.com
  shunt user add ann@example.com --domain go.example
  shunt user add boss@example.com --role viewer
  shunt token add --user ann@example.com --name laptop`,
		Args: usage.Exactly("EMAIL"),
		RunE: func(cmd *cobra.Command, args []string) error {
			asked, err := role.asked()
			if err != nil {
				return err
			}
			draft := client.UserDraft{Email: args[0], Role: cmp.Or(asked, client.RoleMember), Domains: domains}
			return addUser(cmd.Context(), &where, draft, asJSON, stdout, stderr)
		},
	}
	reach.AddUserSettings(cmd, &where)
	reach.AddInit(cmd, &where)
	fs := cmd.Flags()
	role.add(fs)
	settings.HostsVar(fs, &domains, "domain", "limit the user to this domain; several times for several")
	fs.BoolVar(&asJSON, "json", false, "print the user object")
	settings.MarkArguments(fs, "domain", "json")
	return cmd
}

// roleFlags are the flags that say which role a user gets.
type roleFlags struct {
	role          client.Role
	admin, member bool
}

// add adds the flags of a new user.
func (r *roleFlags) add(fs *pflag.FlagSet) {
	settings.Var(fs, &r.role, "role", "ROLE", "", "admin, member or viewer (default member)", parseRole)
	fs.BoolVar(&r.admin, "admin", false, "may manage users and everybody's links; the same as --role admin")
	settings.MarkArguments(fs, "role", "admin")
}

func parseRole(text string) (client.Role, error) {
	switch role := client.Role(text); role {
	case client.RoleAdmin, client.RoleMember, client.RoleViewer:
		return role, nil
	}
	return "", errors.New("must be admin, member or viewer")
}

// asked returns the role; empty: none was named.
func (r *roleFlags) asked() (client.Role, error) {
	switch {
	case r.admin && r.member:
		return "", settings.UsageErrorf("--admin and --member exclude each other")
	case r.admin && r.role != "", r.member && r.role != "":
		return "", settings.UsageErrorf("--role excludes --admin and --member")
	case r.admin:
		return client.RoleAdmin, nil
	case r.member:
		return client.RoleMember, nil
	}
	return r.role, nil
}

func addUser(ctx context.Context, where *reach.Target, draft client.UserDraft, asJSON bool, stdout, stderr io.Writer) error {
	var made client.User
	err := where.Do(ctx, "user add", stderr, func(c *reach.Connection) (err error) {
		made, err = c.AddUser(ctx, draft)
		return err
	})
	if err != nil {
		return err
	}
	if asJSON {
		return console.PrintJSON(stdout, made.Raw)
	}
	_, err = fmt.Fprintln(stdout, console.Printable(made.Email))
	return err
}

func newUserLs(stdout, stderr io.Writer) *cobra.Command {
	where, asJSON := reach.Target{Reads: true}, false
	cmd := &cobra.Command{
		Use:   "ls",
		Short: "List the users",
		Long:  "List the users, oldest first. The owner of a link is given by such an ID.\n" + reach.WhereUsersAre,
		Args:  usage.Exactly(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			return listInto(cmd.Context(), &where, "/users", asJSON, usersTable, stdout, stderr)
		},
	}
	reach.AddUserSettings(cmd, &where)
	cmd.Flags().BoolVar(&asJSON, "json", false, "print the answer of the API")
	settings.MarkArguments(cmd.Flags(), "json")
	return cmd
}

// listInto prints a list of the API: as a table, or as it came.
func listInto[T any](
	ctx context.Context, where *reach.Target, path string, asJSON bool, table func(rows []T) [][]string, stdout, stderr io.Writer,
) error {
	var answer json.RawMessage
	err := where.Do(ctx, "listing "+path[1:], stderr, func(c *reach.Connection) error { return c.Do(ctx, http.MethodGet, path, nil, &answer) })
	if err != nil {
		return err
	}
	if asJSON {
		return console.PrintJSON(stdout, answer)
	}
	list := struct{ Data []T }{}
	if err := json.Unmarshal(answer, &list); err != nil {
		return fmt.Errorf("listing %s: the server's answer: %w", path[1:], err)
	}
	return console.PrintTable(stdout, table(list.Data))
}

func usersTable(users []client.User) [][]string {
	rows := [][]string{{"ID", "EMAIL", "ROLE", "PASSWORD", "CREATED"}}
	for _, u := range users {
		password := "none"
		if u.HasPassword {
			password = "set"
		}
		rows = append(rows, []string{strconv.FormatUint(uint64(u.ID), 10), u.Email, string(u.Role), password, console.Time(u.CreatedAt)})
	}
	return withDomains(rows, func(i int) []string { return users[i].Domains })
}

// withDomains adds the domains to which each is limited to a table, unless none is limited.
func withDomains(rows [][]string, of func(i int) []string) [][]string {
	limited := false
	for i := range rows[1:] {
		limited = limited || of(i) != nil
	}
	if !limited {
		return rows
	}
	rows[0] = append(rows[0], "DOMAINS")
	for i := range rows[1:] {
		text := "all"
		if hosts := of(i); hosts != nil {
			text = cmp.Or(strings.Join(hosts, " "), "none")
		}
		rows[i+1] = append(rows[i+1], text)
	}
	return rows
}

func newUserRm(stderr io.Writer) *cobra.Command {
	where, keepLinks, moveTo := reach.Target{}, false, ""
	cmd := &cobra.Command{
		Use:   "rm EMAIL",
		Short: "Delete a user",
		Long: `Delete a user, with all tokens and sessions, at once. A user who has links is deleted only with
--move-links-to or --keep-links. With the former, another user gets the links, with their figures; what was
counted so far stays in the sums of the deleted user. With the latter, the links go on redirecting, under the
user's number, and admins can change them (owner=NUMBER in the API). The number is never given to anybody
else, not even to a new user with the same address.
` + reach.WhereUsersAre,
		Example: `  shunt user rm ann@example.com
  shunt user rm ann@example.com --move-links-to bob@example.com`,
		Args: usage.Exactly("EMAIL"),
		RunE: func(cmd *cobra.Command, args []string) error {
			moves := cmd.Flags().Changed("move-links-to")
			switch {
			case moves && keepLinks:
				return settings.UsageErrorf("--move-links-to and --keep-links exclude each other")
			case moves && strings.TrimSpace(moveTo) == "":
				return settings.UsageErrorf("--move-links-to must be the e-mail address or the ID of a user, not empty")
			}
			return removeUser(cmd.Context(), &where, args[0], keepLinks, moveTo, stderr)
		},
	}
	reach.AddUserSettings(cmd, &where)
	cmd.Flags().StringVar(&moveTo, "move-links-to", "", "give the links to this `USER` first: an e-mail address or an ID")
	cmd.Flags().BoolVar(&keepLinks, "keep-links", false, "delete the user and keep the links")
	settings.MarkArguments(cmd.Flags(), "move-links-to", "keep-links")
	return cmd
}

func removeUser(ctx context.Context, where *reach.Target, email string, keepLinks bool, moveTo string, stderr io.Writer) error {
	err := where.Do(ctx, "user rm", stderr, func(c *reach.Connection) error {
		u, err := findUser(ctx, c, email)
		switch {
		case err != nil:
			return err
		case moveTo != "":
			return removeAndMove(ctx, c, u, moveTo)
		case keepLinks:
			return c.RemoveUser(ctx, u.ID, client.KeepLinks())
		}
		return c.RemoveUser(ctx, u.ID)
	})
	if p := (*client.Problem)(nil); errors.As(err, &p) && len(p.Errors) == 1 && p.Errors[0].Field == "links" {
		return errors.New("user rm: this user has links; with --move-links-to USER another user gets them, with --keep-links they stay, under the user's number")
	}
	return err
}

// removeAndMove deletes u, whose links another user gets. The server moves many links in several requests, each
// of which says that there are more: as long as it moves any, the next is sent.
func removeAndMove(ctx context.Context, c *reach.Connection, u client.User, moveTo string) error {
	to, err := FindOrID(ctx, c, moveTo)
	if err != nil {
		return err
	}
	for {
		err := c.RemoveUser(ctx, u.ID, client.MoveLinksTo(to.ID))
		if p := (*client.Problem)(nil); !errors.As(err, &p) || p.Status != http.StatusServiceUnavailable || !strings.Contains(p.Detail, " moved; there are more") || strings.HasPrefix(p.Detail, "0 ") || ctx.Err() != nil {
			return err
		}
	}
}
