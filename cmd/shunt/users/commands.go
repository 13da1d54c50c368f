package users

import (
	"io"

	"github.com/spf13/cobra"
)

// Commands returns the commands about users, their tokens, folders, domains and edges.
func Commands(stdout, stderr io.Writer) []*cobra.Command {
	return []*cobra.Command{newUser(stdout, stderr), newToken(stdout, stderr), newDomain(stdout, stderr), newFolder(stdout, stderr), newEdges(stdout, stderr)}
}
