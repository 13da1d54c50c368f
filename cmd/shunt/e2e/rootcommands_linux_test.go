package e2e

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"shunt/engine/expect"
)

// In these cases a server runs as a user of its own and is stopped or killed, and root gives commands on its folder,
// from a folder that only root may enter. Those that read must leave every file as it was, and after all of them the
// server must start again as its user.
//
// as UID runs the program as a user, tree prints every file of the server's user with its owner, mode, time and
// content, same compares that with an earlier one, and foreign prints what is not the user's.
const rootTools = `
as() { uid=$1; shift; setpriv --reuid $uid --regid $uid --clear-groups "$PROGRAM" "$@"; }
tree() { find $OWNED -printf '%p %M %U:%G %s %T@\n' | sort; find $OWNED -type f -print0 | sort -z | xargs -0 sha256sum; }
same() { tree | diff $SCRATCH/before - && echo unchanged; }
foreign() { find $OWNED ! -user 65534 -o ! -group 65534; }
`

func TestCommandsOfRootOnTheFolderOfAnotherUser(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root can be another user")
	}
	if _, err := exec.LookPath("setpriv"); err != nil {
		t.Skip("setpriv (util-linux) is not installed")
	}
	t.Parallel()
	for _, file := range []string{"root-reading", "root-writing", "root-backups", "root-reader", "root-server"} {
		t.Run(file, func(t *testing.T) {
			t.Parallel()
			c := newCaseFolder(t)
			program, home := filepath.Join(c.dir, "shunt"), filepath.Join(c.dir, "home")
			c.tools, c.cwd, c.data = rootTools, "/root", filepath.Join(home, "data")
			c.starter, c.program = []string{"setpriv", "--reuid", "65534", "--regid", "65534", "--clear-groups"}, program
			// cp writes it: a child that begins meanwhile would have an open file of ours, and a file that is open for
			// writing cannot be run.
			expect.OK(t, errors.Join(os.Chmod(filepath.Dir(c.dir), 0o755), os.Chmod(c.dir, 0o755), exec.Command("cp", binary, program).Run(), os.Chmod(program, 0o755),
				os.Mkdir(home, 0o755), os.Chown(home, 65534, 65534)))
			scratch := t.TempDir()
			c.name(scratch, "$SCRATCH")
			c.env = append(c.env, "OWNED="+home, "PROGRAM="+program, "SCRATCH="+scratch, "SHUNT_DATA="+c.data)
			c.run(file)
		})
	}
}
