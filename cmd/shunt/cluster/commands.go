package cluster

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"shunt/cmd/shunt/console"
	"shunt/cmd/shunt/core"
	"shunt/cmd/shunt/node"
	"shunt/cmd/shunt/settings"
	"shunt/cmd/shunt/upkeep"
	"shunt/cmd/shunt/usage"
	"shunt/engine/plural"
)

// New returns the command cluster.
func New(stdout, stderr io.Writer) *cobra.Command {
	asJSON := false
	cmd := &cobra.Command{
		Use:   "cluster",
		Short: "Show the nodes of a cluster",
		Long: `Show the nodes of a cluster, which of them leads, how far each has come, and how full the servers of
etcd are. It asks etcd, so it works on any machine that has the certificate of a node.

The nodes of a cluster have the same links, accounts and figures, and one log on servers of etcd
(3.6.16 or newer), which you run. Each redirects by itself and takes every request. 'shunt serve' starts
a node if it has --cluster, --node-name, --advertise, --cluster-listen, --cluster-ca, --cluster-cert and
--cluster-key. The first node begins the cluster, with the data that it has; each other one begins with
'shunt join'.`,
		Example: `  shunt cluster --config /etc/shunt.toml
  shunt cluster --json | jq .leader`,
		Args: usage.KnownCommand,
	}
	atEtcd(cmd, "cluster", func(ctx context.Context, cluster *node.Settings, _ []string) error {
		status, err := node.Ask(ctx, cluster)
		if err != nil {
			return err
		}
		if asJSON {
			return console.PrintValue(stdout, status)
		}
		_, err = io.WriteString(stdout, clusterText(status))
		return err
	})
	cmd.Flags().BoolVar(&asJSON, "json", false, "print it as JSON")
	settings.MarkArguments(cmd.Flags(), "json")
	cmd.AddCommand(newClusterAdmit(stderr), newClusterRefuse(stderr), newClusterForget(stderr), newClusterLeave(stderr), newClusterRenew(stderr))
	return cmd
}

// clusterTimeout bounds how long a command waits for etcd.
const clusterTimeout = 10 * time.Second

func clusterText(st *node.Status) string {
	var b strings.Builder
	fmt.Fprintf(&b, "cluster %s\n", st.Cluster)
	if st.Leader == "" {
		b.WriteString("no node leads")
	} else {
		fmt.Fprintf(&b, "%s leads (epoch %d)", st.Leader, st.Epoch)
	}
	if st.Floor <= st.Head {
		fmt.Fprintf(&b, "; the log has the entries %d to %d\n\n", st.Floor, st.Head)
	} else {
		fmt.Fprintf(&b, "; the log has no entry after %d\n\n", st.Head)
	}
	w := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "NODE\tROLE\tSTATE\tAPPLIED\tBEHIND\tSINCE\tADDRESS")
	for _, n := range st.Nodes {
		state := "down"
		switch {
		case n.Leads:
			state = "leads"
		case n.Live:
			state = "follows"
		}
		if n.NeedsCopy {
			state += ", needs a copy"
		}
		if n.LacksHits {
			state += ", lacks hits: restart it"
		}
		fmt.Fprintf(w, "%s\t%s\t%s\t%d\t%d\t%s\t%s\n", n.Name, n.Role, state, n.Applied, n.Behind, n.Since.Format(time.RFC3339), n.Advertise)
	}
	fmt.Fprintln(w, "\nETCD\tVERSION\tSTATE\tUSED\tQUOTA\t\t")
	for _, s := range st.Servers {
		if s.Error != "" {
			fmt.Fprintf(w, "%s\t\t%s\t\t\t\t\n", s.Endpoint, "does not answer")
			continue
		}
		state := "follows"
		if s.Leads {
			state = "leads"
		}
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\t\t\n", s.Endpoint, s.Version, state, console.Size(uint64(s.UsedBytes)), console.Size(uint64(s.QuotaBytes)))
	}
	_ = w.Flush() // into memory
	if len(st.BadRows) > 0 {
		b.WriteString("\nKEYS THAT NO NODE WROTE (skipped; delete them with etcdctl del KEY)\n")
	}
	for _, row := range st.BadRows {
		fmt.Fprintf(&b, "%s: %s\n", row.Key, row.Error)
	}
	return b.String()
}

func newClusterForget(stderr io.Writer) *cobra.Command {
	return nodeCommand(stderr, &cobra.Command{
		Use:   "forget NODE",
		Short: "Remove a node that is gone for good from a cluster",
		Long: `Remove a node that is gone for good from its cluster, so that its name is free and nothing waits for it.
A running node is not removed. One that was removed and comes back must join again. Hits that it has counted and no
other node has pulled yet are lost. Its certificate is refused from then on, until 'shunt cluster admit'
is run with its name.`,
		Example: `  shunt cluster forget b --config /etc/shunt.toml`,
		Args:    usage.Exactly("NODE"),
	}, func(ctx context.Context, cluster *node.Settings, name string) (string, error) {
		return name + " is no longer a node of the cluster", node.Forget(ctx, cluster, name)
	})
}

func newClusterAdmit(stderr io.Writer) *cobra.Command {
	return nodeCommand(stderr, &cobra.Command{
		Use:   "admit NAME",
		Short: "Let a new node take a copy of the data, once",
		Long: `Let the node NAME take one copy of another node's data with 'shunt join', within ten minutes. Run it at a
full node. It ends a refusal of the name; a serial number stays refused. Each copy that a
node takes has an entry in the audit log.`,
		Example: `  shunt cluster admit b --config /etc/shunt.toml`,
		Args:    usage.Exactly("NAME"),
	}, func(ctx context.Context, cluster *node.Settings, name string) (string, error) {
		return fmt.Sprintf("%s may take a copy with 'shunt join' once, within ten minutes", name), node.Admit(ctx, cluster, name)
	})
}

func newClusterRefuse(stderr io.Writer) *cobra.Command {
	undo := false
	cmd := nodeCommand(stderr, &cobra.Command{
		Use:   "refuse NAME|SERIAL",
		Short: "Take certificates out of service",
		Long: `Have all nodes refuse the certificates of a node, or the certificate with a serial number, at once, also
on open connections. etcd still accepts them: delete the user there, too ('etcdctl user delete NAME').
SERIAL is what 'openssl x509 -noout -serial' prints. --undo ends the refusal.`,
		Example: `  shunt cluster refuse b --config /etc/shunt.toml
  shunt cluster refuse serial=5F3C00A1D2E4B697 --config /etc/shunt.toml
  shunt cluster refuse b --undo --config /etc/shunt.toml`,
		Args: usage.Exactly("NAME|SERIAL"),
	}, func(ctx context.Context, cluster *node.Settings, text string) (string, error) {
		what, err := node.ParseRefusal(text)
		if err != nil {
			return "", settings.UsageErrorf("%w", err)
		}
		said, end := "certificates of "+what.Name, " are refused"
		if what.Name == "" {
			said = "certificates with the serial number " + what.Serial
		}
		if undo {
			end = " are in service again"
		}
		return said + end, node.Refuse(ctx, cluster, what, !undo)
	})
	cmd.Flags().BoolVar(&undo, "undo", false, "end the refusal")
	settings.MarkArguments(cmd.Flags(), "undo")
	return cmd
}

// nodeCommand completes a command below cluster that does something with its argument at etcd, and then says what.
func nodeCommand(stderr io.Writer, cmd *cobra.Command, do func(context.Context, *node.Settings, string) (string, error)) *cobra.Command {
	return atEtcd(cmd, "cluster "+cmd.Name(), func(ctx context.Context, cluster *node.Settings, args []string) error {
		said, err := do(ctx, cluster, args[0])
		if err == nil {
			_, err = fmt.Fprintln(stderr, said)
		}
		return err
	})
}

// atEtcd completes a command that asks etcd; verb names it in errors.
func atEtcd(cmd *cobra.Command, verb string, do func(context.Context, *node.Settings, []string) error) *cobra.Command {
	cluster := node.Settings{}
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if err := cluster.CheckJoin(); err != nil {
			return err
		}
		ctx, cancel := context.WithTimeout(cmd.Context(), clusterTimeout)
		defer cancel()
		if err := do(ctx, &cluster, args); err != nil {
			return fmt.Errorf("%s: %w", verb, err)
		}
		return nil
	}
	usage.AddConfig(cmd)
	node.AddJoin(cmd.Flags(), &cluster)
	return cmd
}

func newClusterLeave(stderr io.Writer) *cobra.Command {
	data, loseHits := core.Data{}, false
	cmd := &cobra.Command{
		Use:   "leave",
		Short: "Take the data folder of a node out of its cluster",
		Long: `Take the data folder of a node (--data) out of its cluster, with all links, accounts and figures that it
has. The node must be stopped. Afterwards 'shunt serve' starts it without --cluster. If the others
continue without it, run 'shunt cluster forget' with its name. It is refused while hits of the node wait
for other nodes, which would never get them.`,
		Example: `  shunt cluster leave --data /var/lib/shunt`,
		Args:    usage.Exactly(),
		RunE: func(_ *cobra.Command, _ []string) error {
			return withFolder(&data, stderr, func(c *core.Core) error {
				err := c.ReplayJournal(&data, console.New(stderr, "text", slog.LevelWarn).Log) // hits may wait there, too
				if err == nil {
					err = node.Leave(c.Store, loseHits)
				}
				if err != nil {
					return fmt.Errorf("cluster leave: %w", err)
				}
				_, err = fmt.Fprintf(stderr, "%s no longer belongs to a cluster\n", data.Dir)
				return err
			})
		},
	}
	core.AddFolder(cmd, &data)
	cmd.Flags().BoolVar(&loseHits, "lose-hits", false, "leave although other nodes lack hits of this one")
	settings.MarkArguments(cmd.Flags(), "lose-hits")
	return cmd
}

// withFolder calls do with the store of a data folder that is not in use.
func withFolder(data *core.Data, stderr io.Writer, do func(c *core.Core) error) (err error) {
	parts, c := core.NewStack(), core.Core{}
	defer func() { err = errors.Join(err, parts.Stop()) }()
	if err := data.BecomeOwner(); err != nil {
		return err
	}
	if err := c.OpenStore(parts, data, false, console.New(stderr, "text", slog.LevelWarn).Log); err != nil {
		return err
	}
	return do(&c)
}

func newClusterRenew(stderr io.Writer) *cobra.Command {
	data, cluster, replace := core.Data{}, node.Settings{}, false
	cmd := &cobra.Command{
		Use:   "renew",
		Short: "Make the log of a cluster again after etcd has lost it",
		Long: `Make the log of a cluster again after the servers of etcd have lost it: it goes on after the last entry
that the data folder of a full node (--data) has. Use the node that has the most entries ('shunt check'
shows them), and stop it for this command. The other nodes then follow by themselves. No hit is lost if
at most one full node was down when the log was lost. What only a node with more entries has is lost.
An older state of the log, which etcd has from a backup, is replaced with --replace only.`,
		Example: `  shunt cluster renew --data /var/lib/shunt --config /etc/shunt.toml`,
		Args:    usage.Exactly(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := cluster.CheckJoin(); err != nil {
				return err
			}
			return withFolder(&data, stderr, func(c *core.Core) error {
				ctx, cancel := context.WithTimeout(cmd.Context(), clusterTimeout)
				defer cancel()
				entry, err := node.Renew(ctx, &cluster, c.Store, replace)
				if err != nil {
					return fmt.Errorf("cluster renew: %w", err)
				}
				_, err = fmt.Fprintf(stderr, "the log of the cluster goes on after entry %d\n", entry)
				return err
			})
		},
	}
	core.AddFolder(cmd, &data)
	node.AddJoin(cmd.Flags(), &cluster)
	cmd.Flags().BoolVar(&replace, "replace", false, "replace an older state of the log")
	settings.MarkArguments(cmd.Flags(), "replace")
	return cmd
}

// NewJoin returns the command join.
func NewJoin(stdout, stderr io.Writer) *cobra.Command {
	data, cluster, from, asJSON := core.Data{}, node.Settings{}, "", false
	cmd := &cobra.Command{
		Use:   "join",
		Short: "Make the data folder of a new node of a cluster",
		Long: `Make the data folder (--data) of a new node from a copy of a full node's data. That node sends it once
'shunt cluster admit' was run with the new node's name. The data folder must be empty or must not exist.
The copy is verified. With --role edge, the copy has links only, and the certificate must have the organizational unit edge. Then start
the node with 'shunt serve' and the same settings, within an hour: it follows the cluster's log from
where the copy ends.

A node whose disk was lost is added again in the same way. One that was off, however long, needs only a start.`,
		Example: `  shunt join --from a=https://a:8443 --config /etc/shunt.toml
  shunt join --from a=https://a:8443 --config /etc/shunt.toml --role edge --node-name edge-1`,
		Args: usage.Exactly(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			name, url, found := strings.Cut(from, "=")
			if !found {
				return settings.UsageErrorf("--from must be the name and the URL of a node, such as a=https://a:8443")
			}
			return join(cmd.Context(), &data, &cluster, name, url, asJSON, stdout, stderr)
		},
	}
	core.AddFolder(cmd, &data)
	node.AddJoin(cmd.Flags(), &cluster, "role")
	cmd.Flags().StringVar(&from, "from", "", "`NAME=URL` of the full node that sends a copy of its data")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print the result as JSON")
	settings.MarkArguments(cmd.Flags(), "json", "from")
	return cmd
}

func join(ctx context.Context, data *core.Data, cluster *node.Settings, name, url string, asJSON bool, stdout, stderr io.Writer) error {
	if err := cluster.CheckJoin(); err != nil {
		return err
	}
	log := console.New(stderr, "text", slog.LevelWarn).Log
	n, err := node.Open(cluster, log)
	if err == nil {
		err = refuseNode(data, log)
	}
	if err != nil {
		return err
	}
	archive := &copyOnRead{ask: func() (io.ReadCloser, error) { return n.Copy(ctx, name, url) }}
	defer archive.Close()
	err = upkeep.RestoreStream(ctx, data, archive, false, asJSON, stdout, stderr)
	if archive.err != nil {
		return fmt.Errorf("join: %w", archive.err)
	}
	return err
}

// refuseNode refuses a folder with the data of a node, which needs no copy, and may have hits that nobody else has.
func refuseNode(data *core.Data, log *slog.Logger) (err error) {
	parts, c := core.NewStack(), core.Core{Reads: true}
	defer func() { err = errors.Join(err, parts.Stop()) }()
	if c.OpenStore(parts, data, false, log) != nil {
		return nil // there is none; or whoever restores says what is wrong
	}
	if hits, member := node.HitsWaiting(c.Store); member {
		return fmt.Errorf("join: %s is the data folder of a node, in which %s for other nodes, and perhaps more in its journal. Start the node: it follows by itself, however long it was off. Move the folder away only if it is of no use any more",
			data.Dir, plural.Of(hits, "hit waits", "hits wait"))
	}
	return nil
}

// copyOnRead asks for the copy of a node's data when the first byte is read: the data folder was found to be good
// by then. A node is admitted to one copy only.
type copyOnRead struct {
	ask  func() (io.ReadCloser, error)
	copy io.ReadCloser
	err  error // of ask
}

func (c *copyOnRead) Read(p []byte) (int, error) {
	if c.copy == nil && c.err == nil {
		c.copy, c.err = c.ask()
	}
	if c.err != nil {
		return 0, c.err
	}
	return c.copy.Read(p)
}

func (c *copyOnRead) Close() error {
	if c.copy == nil {
		return nil
	}
	return c.copy.Close()
}
