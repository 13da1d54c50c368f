package command

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"shunt/api/client"
	"shunt/cmd/shunt/console"
	"shunt/cmd/shunt/settings"
	"shunt/cmd/shunt/usage"
)

// newGroup is a command that only has subcommands.
func newGroup(use, short string, commands ...*cobra.Command) *cobra.Command {
	group := &cobra.Command{
		Use:   use,
		Short: short,
		Args:  usage.KnownCommand,
		RunE: func(cmd *cobra.Command, _ []string) error {
			cmd.SetOut(cmd.ErrOrStderr())
			_ = cmd.Help() // only writes
			return settings.UsageErrorf("name a command of %s", cmd.CommandPath())
		},
	}
	group.AddCommand(commands...)
	return group
}

func newUser(stdout, stderr io.Writer) *cobra.Command {
	return newGroup("user", "Manage users",
		newUserAdd(stdout, stderr), newUserEdit(stdout, stderr), newUserPasswd(stderr),
		newUserSetupLink(stdout, stderr), newUserLs(stdout, stderr), newUserRm(stderr))
}

const whereUsersAre = `
It uses the server that runs on the data folder. If none runs, it opens the folder itself. With
--server (and the token of an admin in SHUNT_TOKEN) it uses a server elsewhere.`

// addUserSettings is addLocalSettings for commands that only an admin may use: they act as the
// oldest.
func addUserSettings(cmd *cobra.Command, where *localTarget) {
	addLocalSettings(cmd, where)
	usage.Hide(cmd.Flags(), "user", "base-url")
}

func newUserAdd(stdout, stderr io.Writer) *cobra.Command {
	where, admin, asJSON := localTarget{}, false, false
	cmd := &cobra.Command{
		Use:   "add EMAIL",
		Short: "Make a user",
		Long: `Make a user and print the e-mail address as it is stored. A user without a password has
links and tokens but cannot sign in: 'shunt user setup-link' prints an address at which the user sets
one, and 'shunt user passwd' sets one. --init makes a store if the data folder has none.
` + whereUsersAre,
		Example: `  shunt user add ann@example.com
  shunt user add ann@example.com --admin && shunt user setup-link ann@example.com
  shunt token add --user ann@example.com --name laptop`,
		Args: usage.Exactly("EMAIL"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return addUser(cmd.Context(), &where, args[0], admin, asJSON, stdout, stderr)
		},
	}
	addUserSettings(cmd, &where)
	addInit(cmd, &where)
	fs := cmd.Flags()
	fs.BoolVar(&admin, "admin", false, "may manage users and everybody's links")
	fs.BoolVar(&asJSON, "json", false, "print the user object")
	settings.MarkArguments(fs, "admin", "json")
	return cmd
}

func addUser(ctx context.Context, where *localTarget, email string, admin, asJSON bool, stdout, stderr io.Writer) error {
	draft := client.UserDraft{Email: email, Role: client.RoleMember}
	if admin {
		draft.Role = client.RoleAdmin
	}
	var made client.User
	err := where.with(ctx, stderr, func(c *connection) (err error) {
		made, err = c.AddUser(ctx, draft)
		return err
	})
	if err != nil {
		return fmt.Errorf("user add: %w", err)
	}
	if asJSON {
		return console.PrintJSON(stdout, made.Raw)
	}
	_, err = fmt.Fprintln(stdout, console.Printable(made.Email))
	return err
}

// with calls fn with a connection to the server that t is about, and closes it.
func (t *localTarget) with(ctx context.Context, stderr io.Writer, fn func(c *connection) error) error {
	c, err := t.connect(ctx, stderr)
	if err != nil {
		return err
	}
	return errors.Join(fn(c), c.close())
}

func newUserLs(stdout, stderr io.Writer) *cobra.Command {
	where, asJSON := localTarget{reads: true}, false
	cmd := &cobra.Command{
		Use:   "ls",
		Short: "List the users",
		Long:  "List the users, oldest first. The owner of a link is given by such an ID.\n" + whereUsersAre,
		Args:  usage.Exactly(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			return listInto(cmd.Context(), &where, "/users", asJSON, usersTable, stdout, stderr)
		},
	}
	addUserSettings(cmd, &where)
	cmd.Flags().BoolVar(&asJSON, "json", false, "print the answer of the API")
	settings.MarkArguments(cmd.Flags(), "json")
	return cmd
}

// listInto prints a list of the API: as a table, or as it came.
func listInto[T any](
	ctx context.Context, where *localTarget, path string, asJSON bool, table func(rows []T) [][]string, stdout, stderr io.Writer,
) error {
	var answer json.RawMessage
	err := where.with(ctx, stderr, func(c *connection) error { return c.Do(ctx, http.MethodGet, path, nil, &answer) })
	if err != nil {
		return fmt.Errorf("listing %s: %w", path[1:], err)
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
	return rows
}

func newUserRm(stderr io.Writer) *cobra.Command {
	where, keepLinks, moveTo := localTarget{}, false, ""
	cmd := &cobra.Command{
		Use:   "rm EMAIL",
		Short: "Delete a user",
		Long: `Delete a user, with all tokens and sessions, at once. A user who has links is deleted only with
--move-links-to or --keep-links. With the former, another user gets the links, with their figures; what was
counted so far stays in the sums of the deleted user. With the latter, the links go on redirecting, under the
user's number, and admins can change them (owner=NUMBER in the API). The number is never given to anybody
else, not even to a new user with the same address.
` + whereUsersAre,
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
	addUserSettings(cmd, &where)
	cmd.Flags().StringVar(&moveTo, "move-links-to", "", "give the links to this `USER` first: an e-mail address or an ID")
	cmd.Flags().BoolVar(&keepLinks, "keep-links", false, "delete the user and keep the links")
	settings.MarkArguments(cmd.Flags(), "move-links-to", "keep-links")
	return cmd
}

func removeUser(ctx context.Context, where *localTarget, email string, keepLinks bool, moveTo string, stderr io.Writer) error {
	err := where.with(ctx, stderr, func(c *connection) error {
		u, err := c.findUser(ctx, email)
		switch {
		case err != nil:
			return err
		case moveTo != "":
			return c.removeAndMove(ctx, u, moveTo)
		case keepLinks:
			return c.RemoveUser(ctx, u.ID, client.KeepLinks())
		}
		return c.RemoveUser(ctx, u.ID)
	})
	if p := (*client.Problem)(nil); errors.As(err, &p) && len(p.Errors) == 1 && p.Errors[0].Field == "links" {
		return errors.New("user rm: this user has links; with --move-links-to USER another user gets them, with --keep-links they stay, under the user's number")
	}
	if err != nil {
		return fmt.Errorf("user rm: %w", err)
	}
	return nil
}

// removeAndMove deletes u, whose links another user gets. The server moves many links in several requests, each
// of which says that there are more: as long as it moves any, the next is sent.
func (c *connection) removeAndMove(ctx context.Context, u client.User, moveTo string) error {
	to, err := c.findUserOrID(ctx, moveTo)
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

// findUser returns the user of an e-mail address, in any case.
func (c *connection) findUser(ctx context.Context, email string) (client.User, error) {
	return c.userWhere(ctx, email, func(u *client.User, name string) bool { return strings.EqualFold(u.Email, name) })
}

// findUserOrID is findUser that also takes an ID.
func (c *connection) findUserOrID(ctx context.Context, name string) (client.User, error) {
	return c.userWhere(ctx, name, func(u *client.User, name string) bool {
		return strings.EqualFold(u.Email, name) || strconv.FormatUint(uint64(u.ID), 10) == name
	})
}

func (c *connection) userWhere(ctx context.Context, name string, is func(u *client.User, name string) bool) (client.User, error) {
	users, err := c.Users(ctx)
	if err != nil {
		return client.User{}, err
	}
	for i := range users {
		if is(&users[i], strings.TrimSpace(name)) {
			return users[i], nil
		}
	}
	return client.User{}, fmt.Errorf("there is no user %q; 'shunt user ls' lists them", name)
}
