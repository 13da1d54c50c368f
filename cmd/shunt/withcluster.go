//go:build !nocluster

package main

import (
	"io"

	"github.com/spf13/cobra"

	"shunt/cmd/shunt/cluster"
	"shunt/cmd/shunt/serve"
)

// This file and nocluster.go are all that says whether a program knows of clusters.

var addNode serve.Cluster = cluster.AddNode

func clusterCommands(stdout, stderr io.Writer) []*cobra.Command {
	return []*cobra.Command{cluster.New(stdout, stderr), cluster.NewJoin(stdout, stderr)}
}
