package upkeep

import (
	"io"

	"github.com/spf13/cobra"
)

// Commands returns the commands about a data folder, or the health of a server.
func Commands(stdout, stderr io.Writer) []*cobra.Command {
	return []*cobra.Command{newBackup(stdout, stderr), newRestore(stdout, stderr), newCheck(stdout, stderr), newResolve(stdout, stderr), newHealth(stdout)}
}
