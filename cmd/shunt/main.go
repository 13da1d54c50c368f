package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	_ "time/tzdata" // time zones, for machines without /usr/share/zoneinfo

	"github.com/spf13/cobra"

	"shunt/cmd/shunt/console"
	"shunt/cmd/shunt/links"
	"shunt/cmd/shunt/serve"
	"shunt/cmd/shunt/settings"
	"shunt/cmd/shunt/upkeep"
	"shunt/cmd/shunt/usage"
	"shunt/cmd/shunt/users"
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
		Args:          usage.KnownCommand,
		RunE: func(cmd *cobra.Command, _ []string) error {
			cmd.SetOut(stderr)
			_ = cmd.Help() // only writes
			return settings.UsageErrorf("name a command")
		},
		PersistentPreRunE: func(cmd *cobra.Command, _ []string) error {
			return usage.LoadSettings(cmd, os.Environ(), stderr)
		},
	}
	root.SetOut(stdout)
	root.SetErr(stderr)
	root.CompletionOptions.DisableDefaultCmd = true
	root.SetFlagErrorFunc(usage.FlagError)
	root.AddCommand(serve.New(program, addNode, stderr), newVersion(stdout), newCompletion(stdout))
	root.AddCommand(links.Commands(stdout, stderr)...)
	root.AddCommand(users.Commands(stdout, stderr)...)
	root.AddCommand(upkeep.Commands(stdout, stderr)...)
	root.AddCommand(clusterCommands(stdout, stderr)...)
	root.AddCommand(serve.NewConfig(root, addNode, stdout, stderr)) // has the settings of all the others
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
	for _, cmd := range usage.CommandsOf(root) {
		cmd.Aliases = append(cmd.Aliases, otherCommands[cmd.Name()]...)
	}
}
