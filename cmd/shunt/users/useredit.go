package users

import (
	"context"
	"io"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"shunt/api/client"
	"shunt/cmd/shunt/console"
	"shunt/cmd/shunt/reach"
	"shunt/cmd/shunt/settings"
	"shunt/cmd/shunt/usage"
)

// userChange has the flags of user edit.
type userChange struct {
	role       roleFlags
	email      string
	domains    []string
	allDomains bool
}

func newUserEdit(stdout, stderr io.Writer) *cobra.Command {
	where, asked, asJSON := reach.Target{}, userChange{}, false
	cmd := &cobra.Command{
		Use:   "edit EMAIL",
		Short: "Change a user's role, e-mail address or domains",
		Long: `Change a user's role, e-mail address or domains, and print the user. A viewer sees the links and figures of
all users, and changes nothing. When a user becomes a member or a viewer, all of the user's tokens lose the
scopes that the role does not allow, at once, and tokens with no other scope are deleted. The last admin stays
an admin. 'shunt user passwd' sets passwords.

--domain limits a member to links of that domain, with all tokens and sessions, at once; give it several
times for several. --all-domains lifts the limit.
` + reach.WhereUsersAre,
		Example: `  shunt user edit ann@example.com --admin
  shunt user edit ann@example.com --member --email ann.smith@example.com
  shunt user edit ann@example.com --role viewer
  shunt user edit ann@example.com --domain go.example --domain sho.rt`,
		Args: usage.Exactly("EMAIL"),
		RunE: func(cmd *cobra.Command, args []string) error {
			edit, err := asked.edit()
			if err != nil {
				return err
			}
			return editUser(cmd.Context(), &where, args[0], edit, asJSON, stdout, stderr)
		},
	}
	reach.AddUserSettings(cmd, &where)
	fs := cmd.Flags()
	asked.role.addAll(fs)
	settings.Var(fs, &asked.email, "email", "NEW", "", "the new address", settings.ParseNotEmpty)
	settings.HostsVar(fs, &asked.domains, "domain", "limit the user to this domain; several times for several")
	fs.BoolVar(&asked.allDomains, "all-domains", false, "lift the limit to domains")
	fs.BoolVar(&asJSON, "json", false, "print the user object")
	settings.MarkArguments(fs, "email", "domain", "all-domains", "json")
	return cmd
}

// edit returns the change for the API.
func (a *userChange) edit() (e client.UserEdit, err error) {
	role, err := a.role.asked()
	switch {
	case err != nil:
		return e, err
	case a.allDomains && len(a.domains) > 0:
		return e, settings.UsageErrorf("--domain and --all-domains exclude each other")
	case role != "":
		e.Role = client.Set(role)
	}
	if a.email != "" {
		e.Email = client.Set(a.email)
	}
	switch {
	case len(a.domains) > 0:
		e.Domains = client.Set(a.domains)
	case a.allDomains:
		e.Domains = client.Reset[[]string]()
	}
	if e.Role.IsZero() && e.Email.IsZero() && e.Domains.IsZero() {
		return e, settings.UsageErrorf("say what to change: --role, --email, --domain or --all-domains")
	}
	return e, nil
}

// addAll adds the flags of a user who is there.
func (r *roleFlags) addAll(fs *pflag.FlagSet) {
	settings.Var(fs, &r.role, "role", "ROLE", "", "admin, member or viewer", parseRole)
	fs.BoolVar(&r.admin, "admin", false, "may manage users and everybody's links; the same as --role admin")
	fs.BoolVar(&r.member, "member", false, "may manage only their own links; the same as --role member")
	settings.MarkArguments(fs, "role", "admin", "member")
}

func editUser(
	ctx context.Context, where *reach.Target, email string, edit client.UserEdit, asJSON bool, stdout, stderr io.Writer,
) error {
	var u client.User
	err := where.Do(ctx, "user edit", stderr, func(c *reach.Connection) (err error) {
		if u, err = findUser(ctx, c, email); err == nil {
			u, err = c.EditUser(ctx, u.ID, edit)
		}
		return err
	})
	if err != nil {
		return err
	}
	if asJSON {
		return console.PrintJSON(stdout, u.Raw)
	}
	return console.PrintTable(stdout, usersTable([]client.User{u}))
}
