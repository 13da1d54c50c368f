package links

import (
	"io"

	"github.com/spf13/cobra"
)

// Commands returns the commands about links.
func Commands(stdout, stderr io.Writer) []*cobra.Command {
	return []*cobra.Command{
		newAdd(stdout, stderr), newShow(stdout, stderr), newEdit(stdout, stderr), newStats(stdout, stderr), newLs(stdout, stderr),
		newQR(stdout, stderr), newRm(stdout, stderr), newUndelete(stderr), newReset(stderr), newTag(stdout, stderr), newExport(stdout, stderr), newImport(stdout, stderr), newAudit(stdout, stderr), newCheckTargets(stdout, stderr),
	}
}
