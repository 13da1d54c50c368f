//go:build nocluster

package main

import (
	"io"

	"github.com/spf13/cobra"

	"shunt/cmd/shunt/serve"
)

var addNode serve.Cluster

func clusterCommands(_, _ io.Writer) []*cobra.Command { return nil }
