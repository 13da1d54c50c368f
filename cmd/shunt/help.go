package main

import (
	"github.com/spf13/cobra"

	"shunt/cmd/shunt/usage"
)

// topics are what `shunt help TOPIC` explains besides the commands.
var topics = []*cobra.Command{
	{Use: "environment", Short: "Settings: flags, environment variables and the file, and lists in them", Long: usage.AboutSettings + `

'shunt config' prints the settings in force and their sources, 'shunt config check FILE' checks a file.

Other variables that shunt reads:

  SSL_CERT_FILE, SSL_CERT_DIR     certificates of authorities, for --acme-directory and for commands over HTTPS
  GOMAXPROCS                      threads that run Go code at once (default: twice the cores and one more, at least
                                  the cores and three). It also sets the number of event loops
  LISTEN_FDS, NOTIFY_SOCKET,      set by systemd: sockets that it holds, where to report the state, and
  WATCHDOG_USEC                   how often`},
	{Use: "exit-codes", Short: "What the exit codes mean", Long: `Exit codes of all commands:

  0    done
  1    failed: the request was not done, or not completely; 'shunt check' found faults; 'shunt health':
       not healthy
  2    a mistake in the call: the command, its flags or arguments, an environment variable, or the file
       of settings

Results go to standard output, errors and everything else to standard error. SIGTERM and Ctrl-C stop
'shunt serve' with 0; a second signal stops it at once with 1.`},
	{Use: "https", Short: "A public server: certificates, ports below 1024, proxies", Long: `A public server needs --base-url and HTTPS, because API tokens are accepted over nothing else. There are three ways.

A certificate that it obtains itself (Let's Encrypt, or the authority of --acme-directory):

  shunt serve --listen :443 --http-redirect-listen :80 --acme-domain sho.rt --acme-accept-terms

It obtains those of added domains, too, once their names lead to it ('shunt domain check').

Certificate files, which are reread when they change:

  shunt serve --listen :443 --base-url https://sho.rt --tls-cert cert.pem --tls-key key.pem

A trusted proxy in front of it, which sets X-Forwarded-For and X-Forwarded-Proto:

  shunt serve --base-url https://sho.rt --trusted-proxy 127.0.0.1

Ports below 1024 need a permission. Give it to the program, and again after each update,

  sudo setcap 'cap_net_bind_service=+ep' /usr/local/bin/shunt

or in its systemd unit:

  AmbientCapabilities=CAP_NET_BIND_SERVICE`},
}

// addHelp gives root the topics, and a command help that refuses words that are neither a command
// nor a topic.
func addHelp(root *cobra.Command) {
	for _, topic := range topics {
		copied := *topic // a tree of commands is for one call
		root.AddCommand(&copied)
	}
	root.SetHelpCommand(&cobra.Command{
		Use:               "help [COMMAND or TOPIC]",
		Short:             "Explain a command or a topic",
		Long:              "Explain a command, as its --help does, or a topic.",
		ValidArgsFunction: completeTopics,
		RunE: func(cmd *cobra.Command, args []string) error {
			found, rest, err := cmd.Root().Find(args)
			if err != nil || len(rest) > 0 {
				return usage.NoCommand(found, rest, "command or topic")
			}
			found.InitDefaultHelpFlag() // so that it is shown
			return found.Help()
		},
	})
}

// completeTopics completes the commands below that of args. Topics are commands to cobra.
func completeTopics(cmd *cobra.Command, args []string, _ string) ([]cobra.Completion, cobra.ShellCompDirective) {
	var found []cobra.Completion
	if of, rest, err := cmd.Root().Find(args); err == nil && len(rest) == 0 {
		for _, sub := range of.Commands() {
			found = append(found, cobra.CompletionWithDesc(sub.Name(), sub.Short))
		}
	}
	return found, cobra.ShellCompDirectiveNoFileComp
}
