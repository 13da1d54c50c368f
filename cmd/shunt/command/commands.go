package command

import (
	"io"

	"github.com/spf13/cobra"
)

// All returns the commands that talk to a server, or work on a data folder.
func All(stdout, stderr io.Writer) []*cobra.Command {
	return []*cobra.Command{
		newAdd(stdout, stderr), newShow(stdout, stderr), newEdit(stdout, stderr), newStats(stdout, stderr), newLs(stdout, stderr),
		newRm(stderr), newReset(stderr), newTag(stdout, stderr), newExport(stdout, stderr), newImport(stdout, stderr),
		newUser(stdout, stderr), newToken(stdout, stderr), newAudit(stdout, stderr),
		newBackup(stdout, stderr), newRestore(stdout, stderr), newCheck(stdout, stderr), newHealth(stdout),
	}
}
