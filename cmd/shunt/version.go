package main

import (
	"fmt"
	"io"
	"runtime"
	"runtime/debug"

	"shunt/cmd/shunt/settings"

	"github.com/spf13/cobra"
)

// version is set by the Makefile: -ldflags "-X main.version=…".
var version = ""

func newVersion(stdout io.Writer) *cobra.Command {
	return &cobra.Command{
		Use:   "version",
		Short: "Print the version",
		Args:  exactly(),
		RunE: func(*cobra.Command, []string) error {
			_, err := io.WriteString(stdout, versionLine())
			return err
		},
	}
}

func versionLine() string {
	return fmt.Sprintf("shunt %s %s %s/%s\n", versionText(), runtime.Version(), runtime.GOOS, runtime.GOARCH)
}

// addVersionFlag has `shunt --version` print what `shunt version` does.
func addVersionFlag(root *cobra.Command) {
	root.Version = versionText()
	root.SetVersionTemplate(versionLine())
	root.Flags().Bool("version", false, "print the version")
	settings.MarkArguments(root.Flags(), "version")
}

// versionText returns the version that the Makefile set, otherwise the one that the Go tool knows
// (go install, go build in a checkout), else "devel".
func versionText() string {
	if version != "" {
		return version
	}
	info, ok := debug.ReadBuildInfo()
	if !ok || info.Main.Version == "" {
		return "devel"
	}
	return info.Main.Version
}
