package links

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"

	"github.com/spf13/cobra"

	"shunt/api/client"
	"shunt/cmd/shunt/console"
	"shunt/cmd/shunt/reach"
	"shunt/cmd/shunt/settings"
	"shunt/cmd/shunt/usage"
	"shunt/engine/plural"
)

func newTag(stdout, stderr io.Writer) *cobra.Command {
	return usage.NewGroup("tag", "List, rename and delete tags of links", newTagLs(stdout, stderr), newTagRename(stderr), newTagRm(stderr))
}

func newTagLs(stdout, stderr io.Writer) *cobra.Command {
	where, asked, of, asJSON := reach.Target{}, client.TagsQuery{PageSize: maxPage}, whose{}, false
	cmd := &cobra.Command{
		Use:   "ls",
		Short: "List tags",
		Long: `List the tags of your links with the number of links that have each, in the order of the alphabet.
` + reach.WhereTokensAre,
		Example: `  shunt tag ls
  shunt tag ls --q news --json`,
		Args: usage.Exactly(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			return where.Do(cmd.Context(), "tag ls", stderr, func(c *reach.Connection) error {
				return printTags(cmd.Context(), c, asked, of.options(), asJSON, stdout)
			})
		},
	}
	reach.AddSettings(cmd, &where)
	fs := cmd.Flags()
	fs.StringVar(&asked.Prefix, "q", "", "only tags that begin with `TEXT`, in upper or lower case")
	addWhose(cmd, &of, ownerOfTags, domainOfTags, false)
	fs.BoolVar(&asJSON, "json", false, "print an object for each tag, one per line")
	settings.MarkArguments(fs, "q", "json")
	return cmd
}

// printTags prints tags as they arrive.
func printTags(ctx context.Context, c *reach.Connection, q client.TagsQuery, owner []client.Option, asJSON bool, stdout io.Writer) error {
	out := newListPrinter(stdout, asJSON, "TAG", "LINKS")
	for tag, err := range c.Tags(ctx, q, owner...) {
		var object []byte
		if err == nil {
			object, err = json.Marshal(tag)
		}
		if err == nil {
			err = out.print(object, tag.Name, strconv.FormatUint(tag.Links, 10))
		}
		if err != nil {
			return errors.Join(err, out.flush(false))
		}
	}
	return out.flush(true)
}

func newTagRename(stderr io.Writer) *cobra.Command {
	where, of := reach.Target{}, whose{}
	cmd := &cobra.Command{
		Use:   "rename TAG NAME",
		Short: "Rename a tag on all links",
		Long: `Rename a tag on all your links that have it. If there is a tag of the new name, the two become one.
A command that was cut off can be repeated: it goes on.
` + reach.WhereTokensAre,
		Example: `  shunt tag rename news newsletter
  shunt tag rename news News`,
		Args: usage.Exactly("TAG", "NAME"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return changeTag(cmd.Context(), &where, "rename", args[0], stderr, func(c *reach.Connection) (client.TagChange, error) {
				return c.RenameTag(cmd.Context(), args[0], args[1], of.options()...)
			})
		},
	}
	reach.AddSettings(cmd, &where)
	addWhose(cmd, &of, ownerOfTags, domainOfTags, false)
	return cmd
}

func newTagRm(stderr io.Writer) *cobra.Command {
	where, of := reach.Target{}, whose{}
	cmd := &cobra.Command{
		Use:   "rm TAG",
		Short: "Take a tag off all links",
		Long: `Take a tag off all your links that have it. The links stay.
` + reach.WhereTokensAre,
		Example: `  shunt tag rm news`,
		Args:    usage.Exactly("TAG"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return changeTag(cmd.Context(), &where, "rm", args[0], stderr, func(c *reach.Connection) (client.TagChange, error) {
				return c.DeleteTag(cmd.Context(), args[0], of.options()...)
			})
		},
	}
	reach.AddSettings(cmd, &where)
	addWhose(cmd, &of, ownerOfTags, domainOfTags, false)
	return cmd
}

// changeTag makes a change of a tag, and says how many links it has changed, also before it failed.
func changeTag(
	ctx context.Context, where *reach.Target, verb, tag string, stderr io.Writer, change func(c *reach.Connection) (client.TagChange, error),
) error {
	var done client.TagChange
	err := where.Do(ctx, "tag "+verb+" "+console.Printable(tag), stderr, func(c *reach.Connection) (err error) {
		done, err = change(c)
		return err
	})
	if err == nil || done.Links > 0 {
		fmt.Fprintf(stderr, "shunt: changed %s\n", plural.Of(done.Links, "link", "links"))
	}
	return err
}
