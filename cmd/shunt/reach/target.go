package reach

import (
	"net"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"shunt/cmd/shunt/core"
	"shunt/cmd/shunt/settings"
	"shunt/cmd/shunt/usage"
)

// LockPatience is how long a command waits for a folder that is locked by a process without a
// socket: a server that is starting or stopping, or another command.
const (
	LockPatience  = 10 * time.Second
	retryInterval = 50 * time.Millisecond
)

// A Target says which server a command talks to.
type Target struct {
	Data    core.Data
	Server  string
	guessed bool // the scheme of server was not given
	token   string
	User    string

	Reads    bool          // the command changes nothing
	Served   bool          // only a server that runs has what the command needs
	mayInit  bool          // the command has --init
	init     bool          // make the store if there is none
	Patience time.Duration // with a folder that is locked by a process without a socket
}

// AddSettings gives cmd the settings of commands that talk to a server.
func AddSettings(cmd *cobra.Command, t *Target) {
	t.Patience = LockPatience
	core.AddDataSettings(cmd, &t.Data)
	fs := cmd.Flags()
	usage.Hide(fs, "listen", "acme-domain", "private-targets", "target-schemes", "journal-dir", "min-free-space")
	settings.Var(fs, &t.Server, "server", "URL", "", "use the server at this origin, such as https://sho.rt, with the token in SHUNT_TOKEN", t.parseServer)
	fs.StringVar(&t.token, "token", "", "`TOKEN` for --server; others can see arguments, so prefer SHUNT_TOKEN or SHUNT_TOKEN_FILE")
	settings.MarkSecret(fs, "token")
	fs.StringVar(&t.User, "user", "", "`EMAIL` of the user to act as (default: the oldest admin)")
	settings.MarkArguments(fs, "user")
}

// AddInit gives cmd the flag --init, with which it may make the store.
func AddInit(cmd *cobra.Command, t *Target) {
	t.mayInit = true
	cmd.Flags().BoolVar(&t.init, "init", false, "make a store in the data folder if there is none")
	settings.MarkArguments(cmd.Flags(), "init")
}

// parseServer is core.ParseOrigin that also accepts HOST or HOST:PORT: with http on this machine, where
// no token leaves it, otherwise https.
func (t *Target) parseServer(text string) (string, error) {
	t.guessed = text != "" && !strings.Contains(text, "://")
	if t.guessed {
		scheme := "https://"
		if host, _, _ := strings.Cut(text, "/"); core.IsLoopback(hostOf(host)) {
			scheme = "http://"
		}
		text = scheme + text
	}
	return core.ParseOrigin(text)
}

func hostOf(hostPort string) string {
	if host, _, err := net.SplitHostPort(hostPort); err == nil {
		return host
	}
	return strings.Trim(hostPort, "[]")
}

// WhereUsersAre is what the help of a command with AddUserSettings says.
const WhereUsersAre = `
It uses the server that runs on the data folder. If none runs, it opens the folder itself. With
--server (and the token of an admin in SHUNT_TOKEN) it uses a server elsewhere.`

// AddUserSettings is AddSettings for commands that only an admin may use: they act as the oldest.
func AddUserSettings(cmd *cobra.Command, where *Target) {
	AddSettings(cmd, where)
	usage.Hide(cmd.Flags(), "user", "base-url")
}

// WhereTokensAre is what the help of a command with AddSettings says.
const WhereTokensAre = `
It uses the server that runs on the data folder. If none runs, it opens the folder itself: to read it
changes nothing there, and to write as root it becomes the folder's owner. With --server (and the token
in SHUNT_TOKEN) it uses a server elsewhere.`
