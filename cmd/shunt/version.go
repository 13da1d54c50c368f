package main

import (
	"io"

	"github.com/spf13/cobra"

	"shunt/cmd/shunt/settings"
	"shunt/cmd/shunt/usage"
	"shunt/cmd/shunt/version"
)

func newVersion(stdout io.Writer) *cobra.Command {
	return &cobra.Command{
		Use:   "version",
		Short: "Print the version",
		Args:  usage.Exactly(),
		RunE: func(*cobra.Command, []string) error {
			_, err := io.WriteString(stdout, version.Line())
			return err
		},
	}
}

// addVersionFlag has `shunt --version` print what `shunt version` does.
func addVersionFlag(root *cobra.Command) {
	root.Version = version.Text()
	root.SetVersionTemplate(version.Line())
	root.Flags().Bool("version", false, "print the version")
	settings.MarkArguments(root.Flags(), "version")
}
