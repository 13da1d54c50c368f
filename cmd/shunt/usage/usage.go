package usage

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"shunt/cmd/shunt/settings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// Messages about refused flags and values, because the texts of pflag and strconv name their own
// functions.

// FlagError explains what is wrong with the flags of a call of cmd. If the call names a command that cmd does not
// have, the flags are that one's, and no fault.
func FlagError(cmd *cobra.Command, err error) error {
	if args := cmd.Flags().Args(); cmd.HasSubCommands() && len(args) > 0 && !strings.Contains(cmd.Use, " ") {
		return NoCommand(cmd, args, "command")
	}
	return settings.UsageErrorf("%w (see '%s --help')", flagProblem(cmd, err), cmd.CommandPath())
}

func flagProblem(cmd *cobra.Command, err error) error {
	var unknown *pflag.NotExistError
	var bare *pflag.ValueRequiredError
	var invalid *pflag.InvalidValueError
	var malformed *pflag.InvalidSyntaxError
	switch {
	case errors.As(err, &unknown):
		return unknownFlag(cmd, unknown)
	case errors.As(err, &bare):
		return bareFlag(bare.GetFlag())
	case errors.As(err, &invalid):
		f := invalid.GetFlag()
		return fmt.Errorf("--%s: %w", f.Name, settings.ValueError(f, invalid.GetValue(), invalid))
	case errors.As(err, &malformed):
		return fmt.Errorf("%q is not a flag", malformed.GetSpecifiedFlag())
	}
	return err
}

// unknownFlag suggests a similar flag, or names the command that has the flag.
func unknownFlag(cmd *cobra.Command, err *pflag.NotExistError) error {
	name, dashes := err.GetSpecifiedName(), "--"
	if letters := err.GetSpecifiedShortnames(); letters != "" {
		name, dashes = letters, "-"
	}
	name, _, _ = strings.Cut(name, "=")
	if owners := commandsWith(cmd.Root(), name); dashes == "--" && len(owners) > 0 {
		return fmt.Errorf("'%s' takes no --%s; that is for '%s'", cmd.CommandPath(), name, strings.Join(owners, "', '"))
	}
	var names []string
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		if !f.Hidden {
			names = append(names, f.Name)
		}
	})
	suggestion := settings.DidYouMean(name, names, func(name string) string { return "--" + name })
	return fmt.Errorf("there is no flag %s%s%s", dashes, name, suggestion)
}

// maxOwners is the most commands that are named for a flag.
const maxOwners = 3

// commandsWith returns the first commands that show a flag. 'shunt config' has those of all others.
func commandsWith(root *cobra.Command, flag string) (paths []string) {
	for _, cmd := range CommandsOf(root) {
		path := cmd.CommandPath()
		f := cmd.Flags().Lookup(flag)
		if f != nil && !f.Hidden && !strings.HasPrefix(path, root.Name()+" config") && len(paths) < maxOwners {
			paths = append(paths, path)
		}
	}
	return paths
}

// CommandsOf returns cmd and all commands below it.
func CommandsOf(cmd *cobra.Command) []*cobra.Command {
	all := []*cobra.Command{cmd}
	for _, sub := range cmd.Commands() {
		all = append(all, CommandsOf(sub)...)
	}
	return all
}

// bareFlag returns the error for a flag at the end of the line without its value.
func bareFlag(f *pflag.Flag) error {
	kind, _ := pflag.UnquoteUsage(f)
	return fmt.Errorf("--%s needs a value: --%s %s", f.Name, f.Name, strings.ToUpper(kind))
}

// KnownCommand refuses the arguments of a command that only has subcommands.
func KnownCommand(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	return NoCommand(cmd, args, "command")
}

// NoCommand is the error of a call of args[0], which cmd does not have.
func NoCommand(cmd *cobra.Command, args []string, what string) error {
	var names []string
	for _, sub := range cmd.Commands() {
		if !sub.Hidden {
			names = append(append(names, sub.Name()), sub.Aliases...)
		}
	}
	return settings.UsageErrorf("there is no %s %q%s (see '%s --help')", what, cmd.CommandPath()+" "+args[0],
		settings.DidYouMean(args[0], names, func(name string) string { return cmd.CommandPath() + " " + name }), cmd.CommandPath())
}

// Exactly accepts one argument for each name. None may be empty, as an unset variable of a script
// would be.
func Exactly(names ...string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) > len(names) {
			return settings.UsageErrorf("unexpected argument %q (see '%s --help')", args[len(names)], cmd.CommandPath())
		}
		if len(args) < len(names) {
			return settings.UsageErrorf("%s is missing (see '%s --help')", names[len(args)], cmd.CommandPath())
		}
		if i := slices.Index(args, ""); i >= 0 {
			return settings.UsageErrorf("%s is empty (see '%s --help')", names[i], cmd.CommandPath())
		}
		return nil
	}
}

// OneOrMore accepts at least one argument. None may be empty.
func OneOrMore(name string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if empty := slices.Index(args, ""); empty >= 0 {
			return Exactly(name)(cmd, args[empty:empty+1])
		}
		return Exactly(name)(cmd, args[:min(len(args), 1)])
	}
}

// Must is for errors that only a mistake in this program could cause.
func Must(err error) {
	if err != nil {
		panic(err)
	}
}

// Hide hides settings in the help of a command that takes them from the file or environment of
// serve; a person hardly gives them.
func Hide(fs *pflag.FlagSet, names ...string) {
	for _, name := range names {
		Must(fs.MarkHidden(name))
	}
}

// NewGroup is a command that only has subcommands.
func NewGroup(use, short string, commands ...*cobra.Command) *cobra.Command {
	group := &cobra.Command{
		Use:   use,
		Short: short,
		Args:  KnownCommand,
		RunE: func(cmd *cobra.Command, _ []string) error {
			cmd.SetOut(cmd.ErrOrStderr())
			_ = cmd.Help() // only writes
			return settings.UsageErrorf("name a command of %s", cmd.CommandPath())
		},
	}
	group.AddCommand(commands...)
	return group
}
