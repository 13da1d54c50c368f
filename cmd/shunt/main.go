package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"shunt/cmd/shunt/console"
	"shunt/cmd/shunt/settings"

	"github.com/spf13/cobra"
)

// Exit codes, as the contract has them.
const (
	exitDone   = 0
	exitFailed = 1
	exitUsage  = 2
)

func main() {
	os.Exit(run(context.Background(), os.Args, os.Stdout, os.Stderr))
}

// run is the program without its process: args as in os.Args, the exit code returned. The end of
// ctx stops it as SIGTERM does. Results go to stdout; everything else (errors, logs, progress,
// advice) to stderr.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	root := newRoot(args[0], stdout, stderr)
	root.SetArgs(args[1:])
	err := root.ExecuteContext(ctx)
	if err == nil {
		return exitDone
	}
	fmt.Fprintln(stderr, "shunt:", strings.ReplaceAll(console.PlainText(err), "\n", "\n  "))
	if usage := (settings.UsageError{}); errors.As(err, &usage) {
		return exitUsage
	}
	return exitFailed
}

func newRoot(program string, stdout, stderr io.Writer) *cobra.Command {
	root := &cobra.Command{
		Use:   "shunt",
		Short: "A redirect engine: short links from memory, every hit counted",
		Long: `shunt answers short links from memory, counts every hit, estimates unique visitors and loses nothing.
All data is in one folder.

Every setting is a flag, an environment variable (SHUNT_ and the flag in capitals: SHUNT_BASE_URL is
--base-url) and a key of the TOML file that --config names, in this order of precedence;
'shunt help environment' has the details. Arguments for one call (such as --alias) are flags only.`,
		Example: `  shunt serve                                      serve http://127.0.0.1:8080 from ./shunt-data
  shunt token add --name laptop                    make an API token
  shunt add https://example.org/a/long/address     make a short link
  shunt stats Ab3dE5fG                             how often it was followed
  shunt backup /backups/monday                     back everything up, while it is served`,
		SilenceErrors: true,
		SilenceUsage:  true,
		Args:          knownCommand,
		RunE: func(cmd *cobra.Command, _ []string) error {
			cmd.SetOut(stderr)
			_ = cmd.Help() // only writes
			return settings.UsageErrorf("name a command")
		},
		PersistentPreRunE: func(cmd *cobra.Command, _ []string) error {
			return loadSettings(cmd, os.Environ(), stderr)
		},
	}
	root.SetOut(stdout)
	root.SetErr(stderr)
	root.CompletionOptions.DisableDefaultCmd = true
	root.SetFlagErrorFunc(flagError)
	root.AddCommand(newServe(program, stderr), newUser(stdout, stderr), newToken(stdout, stderr),
		newAdd(stdout, stderr), newShow(stdout, stderr), newEdit(stdout, stderr), newStats(stdout, stderr), newLs(stdout, stderr), newRm(stderr), newReset(stderr), newTag(stdout, stderr), newExport(stdout, stderr),
		newImport(stdout, stderr), newAudit(stdout, stderr),
		newBackup(stdout, stderr), newRestore(stdout, stderr), newJoin(stdout, stderr), newCluster(stdout, stderr), newCheck(stdout, stderr), newVersion(stdout),
		newHealth(stdout), newCompletion(stdout))
	root.AddCommand(newConfig(root, stdout, stderr)) // has the settings of all the others
	addVersionFlag(root)
	addHelp(root)
	addAliases(root)
	addCompletions(root)
	return root
}

// otherCommands are names that other programs use for our commands.
var otherCommands = map[string][]string{
	"add":  {"create", "new"},
	"edit": {"update"},
	"ls":   {"list"},
	"rm":   {"delete", "remove"},
	"show": {"get"},
}

func addAliases(root *cobra.Command) {
	for _, cmd := range commandsOf(root) {
		cmd.Aliases = append(cmd.Aliases, otherCommands[cmd.Name()]...)
	}
}

// knownCommand refuses the arguments of a command that only has subcommands.
func knownCommand(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	return noCommand(cmd, args, "command")
}

// noCommand is the error of a call of args[0], which cmd does not have.
func noCommand(cmd *cobra.Command, args []string, what string) error {
	var names []string
	for _, sub := range cmd.Commands() {
		if !sub.Hidden {
			names = append(append(names, sub.Name()), sub.Aliases...)
		}
	}
	return settings.UsageErrorf("there is no %s %q%s (see '%s --help')", what, cmd.CommandPath()+" "+args[0],
		settings.DidYouMean(args[0], names, func(name string) string { return cmd.CommandPath() + " " + name }), cmd.CommandPath())
}

// exactly accepts one argument for each name. None may be empty, as an unset variable of a script
// would be.
func exactly(names ...string) cobra.PositionalArgs {
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

// oneOrMore accepts at least one argument. None may be empty.
func oneOrMore(name string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if empty := slices.Index(args, ""); empty >= 0 {
			return exactly(name)(cmd, args[empty:empty+1])
		}
		return exactly(name)(cmd, args[:min(len(args), 1)])
	}
}

// must is for errors that only a mistake in this program could cause.
func must(err error) {
	if err != nil {
		panic(err)
	}
}
