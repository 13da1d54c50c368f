package main

import (
	"context"
	"io"
	"log/slog"
	"strings"

	"github.com/spf13/cobra"

	"shunt/cmd/shunt/console"
	"shunt/cmd/shunt/node"
	"shunt/cmd/shunt/settings"
)

func newJoin(stdout, stderr io.Writer) *cobra.Command {
	data, cluster, from, asJSON := dataSettings{}, node.Settings{}, "", false
	cmd := &cobra.Command{
		Use:    "join",
		Hidden: true, // until a cluster has everything that a single node has
		Short:  "Make the data folder of a new node of a cluster",
		Long: `Make the data folder (--data) of a new node of a cluster, from a copy of another full node's data, which
that node sends. The data folder must be empty or must not exist. The copy is verified. Then start the
node with 'shunt serve' and the same settings: it follows the cluster's log from where the copy ends.

A node that was off for too long, or whose disk was lost, begins again in the same way.`,
		Example: `  shunt join --from a=https://a:8443 --node-name b --cluster etcd://h1:2379,h2:2379,h3:2379 \
    --cluster-ca ca.crt --cluster-cert b.crt --cluster-key b.key --data /var/lib/shunt`,
		Args: exactly(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			name, url, found := strings.Cut(from, "=")
			if !found {
				return settings.UsageErrorf("--from must be the name and the URL of a node, such as a=https://a:8443")
			}
			return join(cmd.Context(), &data, &cluster, name, url, asJSON, stdout, stderr)
		},
	}
	addFolder(cmd, &data)
	node.AddJoin(cmd.Flags(), &cluster)
	cmd.Flags().StringVar(&from, "from", "", "`NAME=URL` of the full node that sends a copy of its data")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print the result as JSON")
	settings.MarkArguments(cmd.Flags(), "json", "from")
	return cmd
}

func join(ctx context.Context, data *dataSettings, cluster *node.Settings, name, url string, asJSON bool, stdout, stderr io.Writer) error {
	if err := cluster.CheckJoin(); err != nil {
		return err
	}
	n, err := node.Open(cluster, console.New(stderr, "text", slog.LevelWarn).Log)
	if err != nil {
		return err
	}
	archive, err := n.Copy(ctx, name, url)
	if err != nil {
		return err
	}
	defer archive.Close()
	return restoreStream(ctx, data, archive, false, asJSON, stdout, stderr)
}
