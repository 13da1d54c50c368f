package users

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
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

func newFolder(stdout, stderr io.Writer) *cobra.Command {
	return usage.NewGroup("folder", "Manage folders: links that several users read or edit",
		newFolderAdd(stdout, stderr), newFolderLs(stdout, stderr), newFolderEdit(stdout, stderr), newFolderLeave(stderr), newFolderRm(stderr))
}

// memberFlags are the members that flags name, in their order.
type memberFlags struct {
	members []client.FolderMember
	gone    []string // to be taken out
}

func (m *memberFlags) add(fs *pflag.FlagSet) {
	for flag, right := range map[string]client.FolderRight{"read": client.FolderRead, "edit": client.FolderEdit} {
		settings.Var(fs, new(string), flag, "EMAIL", "", "this user may "+flag+" the links in it; several times for several", func(text string) (string, error) {
			if text = strings.TrimSpace(text); text == "" {
				return "", errors.New("must be an e-mail address")
			}
			m.members = append(m.members, client.FolderMember{Email: text, May: right})
			return text, nil
		})
		settings.MarkArguments(fs, flag)
	}
}

// of returns the members that a folder with those has after the change.
func (m *memberFlags) of(now []client.FolderMember) []client.FolderMember {
	all := append([]client.FolderMember{}, m.members...) // not nil, which would be null
	for _, one := range now {
		named := func(other client.FolderMember) bool { return strings.EqualFold(other.Email, one.Email) }
		gone := func(email string) bool { return strings.EqualFold(email, one.Email) }
		if !slices.ContainsFunc(m.members, named) && !slices.ContainsFunc(m.gone, gone) {
			all = append(all, client.FolderMember{User: one.User, May: one.May})
		}
	}
	return all
}

func newFolderAdd(stdout, stderr io.Writer) *cobra.Command {
	where, members, asJSON := reach.Target{}, memberFlags{}, false
	cmd := &cobra.Command{
		Use:   "add NAME",
		Short: "Make a folder",
		Long: `Make a folder and print its ID. 'shunt add' and 'shunt edit' put links there with --folder ID. A link stays
its owner's; members of the folder may read it and its figures, or also change, disable and delete it.
` + reach.WhereTokensAre,
		Example: `  shunt folder add Spring
  shunt folder add Spring --read ben@example.com --edit ann@example.com`,
		Args: usage.Exactly("NAME"),
		RunE: func(cmd *cobra.Command, args []string) error {
			var made client.Folder
			err := where.Do(cmd.Context(), "folder add", stderr, func(c *reach.Connection) (err error) {
				made, err = c.AddFolder(cmd.Context(), client.FolderDraft{Name: args[0], Members: members.members})
				return err
			})
			switch {
			case err != nil:
				return err
			case asJSON:
				return console.PrintJSON(stdout, made.Raw)
			}
			_, err = fmt.Fprintln(stdout, made.ID)
			return err
		},
	}
	reach.AddSettings(cmd, &where)
	usage.Hide(cmd.Flags(), "base-url") // a folder names no link
	members.add(cmd.Flags())
	cmd.Flags().BoolVar(&asJSON, "json", false, "print the folder object")
	settings.MarkArguments(cmd.Flags(), "json")
	return cmd
}

func newFolderLs(stdout, stderr io.Writer) *cobra.Command {
	where, all, asJSON := reach.Target{Reads: true}, false, false
	cmd := &cobra.Command{
		Use:   "ls",
		Short: "List folders",
		Long: `List your folders, and those of which you are a member, by name. With --all, an admin lists those of all
users. 'shunt ls --folder ID' lists the links in one.
` + reach.WhereTokensAre,
		Args: usage.Exactly(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			path := "/folders"
			if all {
				path += "?owner=all"
			}
			return listInto(cmd.Context(), &where, path, asJSON, foldersTable, stdout, stderr)
		},
	}
	reach.AddSettings(cmd, &where)
	usage.Hide(cmd.Flags(), "base-url")
	cmd.Flags().BoolVar(&all, "all", false, "those of all users, for admins")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print the answer of the API")
	settings.MarkArguments(cmd.Flags(), "all", "json")
	return cmd
}

func foldersTable(folders []client.Folder) [][]string {
	rows := [][]string{{"ID", "NAME", "OWNER", "YOU MAY", "READ", "EDIT"}}
	for _, f := range folders {
		rows = append(rows, []string{
			strconv.FormatUint(uint64(f.ID), 10), f.Name, strconv.FormatUint(uint64(f.Owner), 10), string(f.May),
			whoMay(f.Members, client.FolderRead), whoMay(f.Members, client.FolderEdit),
		})
	}
	return rows
}

func whoMay(members []client.FolderMember, right client.FolderRight) string {
	var emails []string
	for _, m := range members {
		if m.May == right {
			emails = append(emails, m.Email)
		}
	}
	return orDash(strings.Join(emails, " "))
}

func newFolderEdit(stdout, stderr io.Writer) *cobra.Command {
	where, members, name, asJSON := reach.Target{}, memberFlags{}, "", false
	cmd := &cobra.Command{
		Use:   "edit ID",
		Short: "Change a folder's name or members",
		Long: `Change the name or the members of a folder, and print it. --read and --edit say what a user may do with the
links in it; --remove takes a user out, who no longer sees them. Others stay as they are.
` + reach.WhereTokensAre,
		Example: `  shunt folder edit 3 --edit ben@example.com
  shunt folder edit 3 --remove ben@example.com --name Summer`,
		Args: usage.Exactly("ID"),
		RunE: func(cmd *cobra.Command, args []string) error {
			id, err := folderID(args[0])
			if err != nil {
				return err
			}
			if name == "" && len(members.members)+len(members.gone) == 0 {
				return settings.UsageErrorf("say what to change: --name, --read, --edit or --remove")
			}
			return editFolder(cmd.Context(), &where, id, name, &members, asJSON, stdout, stderr)
		},
	}
	reach.AddSettings(cmd, &where)
	usage.Hide(cmd.Flags(), "base-url")
	fs := cmd.Flags()
	members.add(fs)
	settings.Var(fs, &name, "name", "NAME", "", "the new name", settings.ParseNotEmpty)
	settings.Var(fs, new(string), "remove", "EMAIL", "", "take this user out; several times for several", func(text string) (string, error) {
		members.gone = append(members.gone, strings.TrimSpace(text))
		return text, nil
	})
	fs.BoolVar(&asJSON, "json", false, "print the folder object")
	settings.MarkArguments(fs, "name", "remove", "json")
	return cmd
}

func folderID(text string) (uint32, error) {
	id, err := strconv.ParseUint(text, 10, 32)
	if err != nil || id == 0 {
		return 0, settings.UsageErrorf("%q is not the ID of a folder; 'shunt folder ls' lists them", text)
	}
	return uint32(id), nil
}

func editFolder(
	ctx context.Context, where *reach.Target, id uint32, name string, members *memberFlags, asJSON bool, stdout, stderr io.Writer,
) error {
	var edited client.Folder
	err := where.Do(ctx, "folder edit", stderr, func(c *reach.Connection) (err error) {
		edited, err = changeFolder(ctx, c, id, name, members)
		for again := 1; again < folderAttempts && errors.Is(err, client.ErrPreconditionFailed); again++ {
			edited, err = changeFolder(ctx, c, id, name, members)
		}
		return err
	})
	switch {
	case err != nil:
		return err
	case asJSON:
		return console.PrintJSON(stdout, edited.Raw)
	}
	return console.PrintTable(stdout, foldersTable([]client.Folder{edited}))
}

// folderAttempts is how often a change of members is tried: each time it is overtaken, another has succeeded.
const folderAttempts = 10

// changeFolder changes a folder once. Error: client.ErrPreconditionFailed if somebody else changes it meanwhile, so
// that neither loses the members of the other.
func changeFolder(ctx context.Context, c *reach.Connection, id uint32, name string, members *memberFlags) (edited client.Folder, err error) {
	var edit client.FolderPatch
	var seen []client.Option
	if name != "" {
		edit.Name = client.Set(name)
	}
	if len(members.members)+len(members.gone) > 0 {
		now, err := c.Folder(ctx, id)
		if err != nil {
			return edited, err
		}
		edit.Members, seen = client.Set(members.of(now.Members)), []client.Option{client.IfVersion(now.Version)}
	}
	return c.EditFolder(ctx, id, edit, seen...)
}

func newFolderLeave(stderr io.Writer) *cobra.Command {
	where := reach.Target{}
	cmd := &cobra.Command{
		Use:   "leave ID",
		Short: "Leave a folder of somebody else",
		Long: `Leave a folder of which you are a member. You no longer see the links of others in it; your own stay
yours, and stay in it. Only its owner or an admin can let you in again.
` + reach.WhereTokensAre,
		Args: usage.Exactly("ID"),
		RunE: func(cmd *cobra.Command, args []string) error {
			id, err := folderID(args[0])
			if err != nil {
				return err
			}
			return where.Do(cmd.Context(), "folder leave", stderr, func(c *reach.Connection) error {
				me, err := c.Me(cmd.Context())
				if err != nil {
					return err
				}
				return c.RemoveFolderMember(cmd.Context(), id, me.ID)
			})
		},
	}
	reach.AddSettings(cmd, &where)
	usage.Hide(cmd.Flags(), "base-url")
	return cmd
}

func newFolderRm(stderr io.Writer) *cobra.Command {
	where := reach.Target{}
	cmd := &cobra.Command{
		Use:   "rm ID",
		Short: "Delete a folder without links",
		Long: `Delete a folder that has no links any more: 'shunt edit CODE --folder none' takes a link out.
` + reach.WhereTokensAre,
		Args: usage.Exactly("ID"),
		RunE: func(cmd *cobra.Command, args []string) error {
			id, err := folderID(args[0])
			if err != nil {
				return err
			}
			return where.Do(cmd.Context(), "folder rm", stderr, func(c *reach.Connection) error { return c.RemoveFolder(cmd.Context(), id) })
		},
	}
	reach.AddSettings(cmd, &where)
	usage.Hide(cmd.Flags(), "base-url")
	return cmd
}
