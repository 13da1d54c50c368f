package main

import (
	"io"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"shunt/cmd/shunt/settings"
	"shunt/cmd/shunt/usage"
)

// completers write the script of a shell.
var completers = map[string]func(root *cobra.Command, w io.Writer) error{
	"bash":       func(root *cobra.Command, w io.Writer) error { return root.GenBashCompletionV2(w, true) },
	"zsh":        func(root *cobra.Command, w io.Writer) error { return root.GenZshCompletion(w) },
	"fish":       func(root *cobra.Command, w io.Writer) error { return root.GenFishCompletion(w, true) },
	"powershell": func(root *cobra.Command, w io.Writer) error { return root.GenPowerShellCompletionWithDesc(w) },
}

var shells = []string{"bash", "zsh", "fish", "powershell"}

func newCompletion(stdout io.Writer) *cobra.Command {
	return &cobra.Command{
		Use:   "completion SHELL",
		Short: "Print a shell completion script",
		Long: `Print a script with which SHELL (bash, zsh, fish or powershell) completes the commands, flags and words
of shunt. Load it now, or put it where the shell looks for such scripts. In bash it needs the package
bash-completion.`,
		Example: `  source <(shunt completion bash)
  shunt completion bash > /etc/bash_completion.d/shunt
  shunt completion zsh > "${fpath[1]}/_shunt"
  shunt completion fish > ~/.config/fish/completions/shunt.fish
  shunt completion powershell | Out-String | Invoke-Expression`,
		ValidArgs: shells,
		Args:      usage.Exactly("SHELL"),
		RunE: func(cmd *cobra.Command, args []string) error {
			complete := completers[args[0]]
			if complete == nil {
				return settings.UsageErrorf("there is no completion for %q: choose one of %s", args[0], strings.Join(shells, ", "))
			}
			return complete(cmd.Root(), stdout)
		},
	}
}

// addCompletions says of each flag and argument what it may be: words, a folder, a file, or nothing
// that a shell could know.
func addCompletions(root *cobra.Command) {
	for _, cmd := range usage.CommandsOf(root) {
		cmd.Flags().VisitAll(func(f *pflag.Flag) {
			usage.Must(cmd.RegisterFlagCompletionFunc(f.Name, flagCompletion(f)))
		})
		switch name := argumentOf(cmd); {
		case len(cmd.ValidArgs) > 0 || cmd.ValidArgsFunction != nil || name == "FILE":
		case name == "DIR":
			cmd.ValidArgsFunction = completeFolders
		default:
			cmd.ValidArgsFunction = cobra.NoFileCompletions
		}
	}
}

// argumentOf returns the name of cmd's argument, the first of several that it may take; "": it takes
// none.
func argumentOf(cmd *cobra.Command) string {
	_, name, _ := strings.Cut(cmd.Use, " ")
	name, _, _ = strings.Cut(name, " | ")
	return name
}

func flagCompletion(f *pflag.Flag) cobra.CompletionFunc {
	words := settings.Words(f)
	switch kind, _ := pflag.UnquoteUsage(f); {
	case len(words) > 0 && settings.IsList(f):
		return completeList(words)
	case len(words) > 0:
		return cobra.FixedCompletions(words, cobra.ShellCompDirectiveNoFileComp)
	case kind == "FILE":
		return func(*cobra.Command, []string, string) ([]cobra.Completion, cobra.ShellCompDirective) {
			return nil, cobra.ShellCompDirectiveDefault
		}
	case kind == "DIR":
		return completeFolders
	}
	return cobra.NoFileCompletions
}

func completeFolders(*cobra.Command, []string, string) ([]cobra.Completion, cobra.ShellCompDirective) {
	return nil, cobra.ShellCompDirectiveFilterDirs
}

// completeList completes the last of words with commas between.
func completeList(words []string) cobra.CompletionFunc {
	return func(_ *cobra.Command, _ []string, typed string) ([]cobra.Completion, cobra.ShellCompDirective) {
		before := typed[:strings.LastIndexByte(typed, ',')+1]
		var found []cobra.Completion
		for _, word := range words {
			found = append(found, before+word)
		}
		return found, cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveNoSpace
	}
}
