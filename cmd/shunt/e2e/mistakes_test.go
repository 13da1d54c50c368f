package e2e

import (
	"net"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// insides matches internals that no message to a user may have: functions and packages of Go and of
// shunt, system calls, Go's types and numbers.
var insides = regexp.MustCompile(`strconv\.|parsing|parse "|invalid syntax|0x|syscall|dial |lookup |read /|open /|stat /|mkdir |bind:|` +
	`storage: |engine: |pebble|(?:^|[^.])toml: |tls: |x509: |json: |%!|\*\w+\.|\[\]\w|<nil>|U\+00|goroutine`)

// A mistake is a wrong call of the program, of a kind that people make.
type mistake struct {
	call    string // words, separated by spaces
	environ string
	code    int
	stderr  string // the whole text; DIR is the folder of the test, TAKEN an address in use
}

// mistakeFiles are the files in the folder of the test.
var mistakeFiles = map[string]string{
	"file":         "nothing of use\n",
	"folder/file":  "",
	"bare.toml":    "# a comment\nlisten = \"127.0.0.1:0\"\nbase_url = https://sho.rt\n",
	"unknown.toml": "lisen = \"127.0.0.1:0\"\n  trusted-proxies = [\"::1\"]\nnothing-like-it = 1\n",
	"twice.toml":   "listen = \"127.0.0.1:0\"\nflush-interval = \"2s\"\nbase_url = \"http://a.b\"\nbase-url = \"http://a.b\"\n",
	"value.toml":   "flush-interval = 5\n",
	"types.toml":   "pprof = 1\ncors-origin = [1]\njournal-dir = 5\nlog-format = [\"text\"]\n",
	"table.toml":   "[serve]\nlisten = \"127.0.0.1:0\"\n",
	"yes.toml":     "pprof = yes\n",
	"yaml.toml":    "listen: \"127.0.0.1:0\"\n",
	"big.toml":     "keep-hours = 99999999999999999999\n",
	"open.toml":    "listen = \"127.0.0.1:0\n",
	"empty.toml":   "\nlisten =\n",
	"marks.toml":   "listen = \"127.0.0.1:0\" \"127.0.0.1:1\"\n",
	"cert.toml":    "tls-cert = \"none.pem\"\ntls-key = \"none.pem\"\nbase-url = \"https://sho.rt\"\n",
	"public.toml":  "listen = \":8080\"\n",
	"geoip.toml":   "geoip = \"none.mmdb\"\n",
	"logo.toml":    "brand-logo = \"none.svg\"\n",
	"logos.toml":   "brand-logo = \"folder\"\n",
	"nologo.toml":  "brand-logo = \"file\"\n",
	"other.toml":   "config = \"cert.toml\"\n",
	"confg.toml":   "confg = \"cert.toml\"\n",
}

const (
	withoutBlocks = " (without the list, links that it blocks would work; if it is to block nothing, make an empty file)\n"
	seeServe      = " (see 'shunt serve --help')\n"
	seeAdd        = " (see 'shunt add --help')\n"
	noPath        = "must be an origin: scheme, host and port, nothing else, such as https://sho.rt"
	noScheme      = "must begin with http:// or https:// and a host, such as https://sho.rt"
)

var mistakes = []mistake{
	// Flags.
	{call: "serve --lisen 127.0.0.1:0", code: 2, stderr: "shunt: there is no flag --lisen; did you mean --listen?" + seeServe},
	{call: "serve -listen 127.0.0.1:0", code: 2, stderr: "shunt: there is no flag -listen; did you mean --listen?" + seeServe},
	{call: "serve --port 8080", code: 2, stderr: "shunt: there is no flag --port; did you mean --listen?" + seeServe},
	{call: "serve --trusted_proxies ::1", code: 2, stderr: "shunt: there is no flag --trusted_proxies; did you mean --trusted-proxy?" + seeServe},
	{call: "serve --nothing-like-it", code: 2, stderr: "shunt: there is no flag --nothing-like-it" + seeServe},
	{call: "serve --=x", code: 2, stderr: "shunt: \"--=x\" is not a flag" + seeServe},
	{call: "serve --listen", code: 2, stderr: "shunt: --listen needs a value: --listen ADDRESS" + seeServe},
	{call: "backup elsewhere --listen :80", code: 2,
		stderr: "shunt: 'shunt backup' takes no --listen; that is for 'shunt serve' (see 'shunt backup --help')\n"},
	{call: "version --geoip x", code: 2, stderr: "shunt: 'shunt version' takes no --geoip; that is for 'shunt serve' (see 'shunt version --help')\n"},

	// Values.
	{call: "serve --listen 8080", code: 2, stderr: "shunt: --listen: must be host:port, such as 127.0.0.1:8080 or :8080; it is \"8080\"" + seeServe},
	{call: "serve --listen 127.0.0.1:99999", code: 2,
		stderr: "shunt: --listen: must have a port from 0 to 65535, not \"99999\"" + seeServe},
	{call: "serve --base-url 127.0.0.1:8080", code: 2, stderr: "shunt: --base-url: " + noScheme + "; it is \"127.0.0.1:8080\"" + seeServe},
	{call: "serve --base-url https://sho.rt/go", code: 2, stderr: "shunt: --base-url: " + noPath + "; it is \"https://sho.rt/go\"" + seeServe},
	{call: "serve --base-url https://sho.rt:8o", code: 2, stderr: "shunt: --base-url: " + noPath + "; it is \"https://sho.rt:8o\"" + seeServe},
	{call: "serve --pprof=maybe", code: 2, stderr: "shunt: --pprof: must be true or false; it is \"maybe\"" + seeServe},
	{call: "serve --flush-interval soon", code: 2, stderr: "shunt: --flush-interval: must be a duration such as 1s or 250ms; it is \"soon\"" + seeServe},
	{call: "serve --max-connections many", code: 2,
		stderr: "shunt: --max-connections: must be a number from 1 to 32768, or auto; it is \"many\"" + seeServe},
	{call: "serve --trusted-proxy proxy", code: 2,
		stderr: "shunt: --trusted-proxy: \"proxy\" is neither an address nor a network such as 10.0.0.0/8" + seeServe},
	{call: "serve --cors-origin a\"b", code: 2, stderr: "shunt: --cors-origin: must be a list with commas, with no quotes in it; it is \"a\\\"b\"" + seeServe},
	{call: "add https://a.example --max-hits -1", code: 2, stderr: "shunt: --max-hits: must be a number of hits, or none; it is \"-1\"" + seeAdd},
	{call: "add https://a.example --max-hits 99999999999999999999", code: 2,
		stderr: "shunt: --max-hits: must be a smaller number; it is \"99999999999999999999\"" + seeAdd},
	{call: "add https://a.example --status abc", code: 2, stderr: "shunt: --status: must be one of 301, 302, 307, 308; it is \"abc\"" + seeAdd},

	// Settings that conflict.
	{call: "serve --listen :8080", code: 2, stderr: "shunt: --base-url is missing: \":8080\" (--listen) is not loopback, so the public address " +
		"is unknown; give it as --base-url https://your.domain\n"},
	{call: "serve --listen 127.0.0.1:8081", code: 2, stderr: "shunt: --listen and --admin-listen are both 127.0.0.1:8081; give each its own address\n"},

	// Ports and files.
	{call: "serve --listen TAKEN", code: 1, stderr: "shunt: --listen TAKEN: port PORT is in use by another program, perhaps by another shunt; stop it " +
		"(ss -ltnp 'sport = :PORT' names it), or choose another port with --listen\n"},
	{call: "serve --listen 192.0.2.1:8080 --base-url http://a.b", code: 1,
		stderr: "shunt: --listen 192.0.2.1:8080: this machine does not have that address; use one of its own, or :8080 for all of them\n"},
	{call: "serve --data file", code: 1, stderr: "shunt: DIR/file is not a folder; is your server's data elsewhere? Name its folder with --data\n"},
	{call: "config check geoip.toml", code: 1, stderr: "shunt: geoip.toml: --geoip: none.mmdb does not exist\n"},
	{call: "serve --block-list folder", code: 1, stderr: "shunt: --block-list: folder is not a regular file" + withoutBlocks},
	{call: "serve --block-list none", code: 1, stderr: "shunt: --block-list: none does not exist" + withoutBlocks},
	{call: "config check logo.toml", code: 1, stderr: "shunt: logo.toml: --brand-logo: none.svg does not exist\n"},
	{call: "config check logos.toml", code: 1, stderr: "shunt: logos.toml: --brand-logo: folder is not a regular file\n"},
	{call: "config check nologo.toml", code: 1, stderr: "shunt: nologo.toml: --brand-logo: file is neither an SVG nor a PNG image\n"},
	{call: "serve --support-url javascript:alert(1)", code: 2, stderr: "shunt: --support-url: must be an address such as https://help.example or " +
		"mailto:help@example.org; it is \"javascript:alert(1)\"" + seeServe},
	{call: "serve --base-url https://a.b --tls-cert file --tls-key file", code: 1,
		stderr: "shunt: --tls-cert file, --tls-key file: the first has no certificate in PEM\n"},
	{call: "import folder", code: 1, stderr: "shunt: import: folder is a folder, not a file\n"},
	{call: "backup file", code: 1, stderr: "shunt: backup: DIR/file (DIR) is a file, or inside one, not a folder\n"},

	// The configuration file.
	{call: "serve --config none.toml", code: 2, stderr: "shunt: --config: none.toml does not exist\n"},
	{call: "serve --config folder", code: 2, stderr: "shunt: --config: folder is a folder, not a file\n"},
	{call: "serve --config bare.toml", code: 2, stderr: "shunt: bare.toml:3:12: the value of base_url must be in quotes: base_url = \"https://sho.rt\"\n"},
	{call: "serve --config unknown.toml", code: 2, stderr: "shunt: unknown.toml:1:1: there is no setting \"lisen\"; did you mean \"listen\"?\n" +
		"  unknown.toml:2:3: there is no setting \"trusted-proxies\"; did you mean \"trusted-proxy\"?\n" +
		"  unknown.toml:3:1: there is no setting \"nothing-like-it\"\n"},
	{call: "serve --config twice.toml", code: 2, stderr: "shunt: twice.toml:4:1: base-url is given twice: line 3 has it already\n"},
	{call: "serve --config value.toml", code: 2, stderr: "shunt: value.toml:1:1: flush-interval: must be a duration such as 1s or 250ms; it is \"5\"\n"},
	{call: "config check types.toml", code: 2, stderr: "shunt: types.toml:1:1: pprof: must be true or false\n" +
		"  types.toml:2:1: cors-origin: must be a list of texts in quotes, such as [\"a\", \"b\"]\n" +
		"  types.toml:3:1: journal-dir: must be a text in quotes\n" +
		"  types.toml:4:1: log-format: takes one value, not a list\n"},
	{call: "config check table.toml", code: 2, stderr: "shunt: table.toml:1:2: [serve] begins a table, and tables are not used here: write each setting at the top, " +
		"on a line of its own\n"},
	{call: "config check yes.toml", code: 2, stderr: "shunt: yes.toml:1:9: pprof must be true or false\n"},
	{call: "config check yaml.toml", code: 2, stderr: "shunt: yaml.toml:1:7: write = between a setting and its value, such as listen = \"…\"\n"},
	{call: "config check big.toml", code: 2, stderr: "shunt: big.toml:1:14: this value is impossible: the number is too large\n"},
	{call: "config check open.toml", code: 2, stderr: "shunt: open.toml:1:22: the text is not closed: its last quote is missing\n"},
	{call: "config check empty.toml", code: 2, stderr: "shunt: empty.toml:2:9: listen has no value\n"},
	{call: "config check marks.toml", code: 2, stderr: "shunt: marks.toml:1:24: nothing may follow the value on its line\n"},
	{call: "config check cert.toml", code: 1, stderr: "shunt: cert.toml: --tls-cert: none.pem does not exist\n"},
	{call: "config check public.toml", code: 2, stderr: "shunt: public.toml: --base-url is missing: \":8080\" (--listen) is not loopback, so the public address " +
		"is unknown; give it as --base-url https://your.domain\n"},
	{call: "config check other.toml", code: 2, stderr: "shunt: other.toml:1:1: \"config\" is a flag and a variable: a file cannot name another file\n"},
	{call: "config check confg.toml", code: 2, stderr: "shunt: confg.toml:1:1: there is no setting \"confg\"\n"},

	// The environment.
	{call: "serve", environ: "SHUNT_PPROF=maybe", code: 2, stderr: "shunt: SHUNT_PPROF: must be true or false; it is \"maybe\"\n"},
	{call: "serve --base-url=", code: 2, stderr: "shunt: --base-url: " + noScheme + "; it is empty (see 'shunt serve --help')\n"},
	{call: "ls", environ: "SHUNT_TOKEN_FILE=none", code: 2, stderr: "shunt: SHUNT_TOKEN_FILE: none does not exist\n"},
	{call: "version --x", environ: "SHUNT_LISEN=x", code: 2, stderr: "shunt: there is no flag --x (see 'shunt version --help')\n"},

	// Clusters.
	{call: "cluster", code: 2, stderr: "shunt: --cluster is missing: name the servers of etcd, such as etcd://h1:2379,h2:2379,h3:2379\n"},
	{call: "join --from a", code: 2, stderr: "shunt: --from must be the name and the URL of a node, such as a=https://a:8443\n"},
	{call: "serve --node-name a", code: 2, stderr: "shunt: --node-name needs --cluster\n"},
	{call: "serve --cluster-listen 8443", code: 2, stderr: "shunt: --cluster-listen: must be host:port, such as 127.0.0.1:8080 or :8080; it is \"8443\"" + seeServe},
	{call: "serve --role leader", code: 2, stderr: "shunt: --role: must be one of full, edge; it is \"leader\"" + seeServe},
	{call: "serve --stale-after 1ms", code: 2, stderr: "shunt: --stale-after: must be from 1s to 1h; it is \"1ms\"" + seeServe},
	{call: "backup elsewhere --role edge", code: 2,
		stderr: "shunt: 'shunt backup' takes no --role; that is for 'shunt join', 'shunt serve' (see 'shunt backup --help')\n"},

	// Commands and arguments.
	{call: "sreve", code: 2, stderr: "shunt: there is no command \"shunt sreve\"; did you mean shunt serve? (see 'shunt --help')\n"},
	{call: "token crate", code: 2, stderr: "shunt: there is no command \"shunt token crate\"; did you mean shunt token create? (see 'shunt token --help')\n"},
	{call: "cluster forgt b", code: 2, stderr: "shunt: there is no command \"shunt cluster forgt\"; did you mean shunt cluster forget? (see 'shunt cluster --help')\n"},
	{call: "help enviroment", code: 2, stderr: "shunt: there is no command or topic \"shunt enviroment\"; did you mean shunt environment? (see 'shunt --help')\n"},
	{call: "completion csh", code: 2, stderr: "shunt: there is no completion for \"csh\": choose one of bash, zsh, fish, powershell\n"},
	{call: "serve now", code: 2, stderr: "shunt: unexpected argument \"now\"" + seeServe},
	{call: "add", code: 2, stderr: "shunt: URL is missing" + seeAdd},

	// Servers that do not exist.
	{call: "stats a --server ftp://sho.rt", code: 2, stderr: "shunt: --server: " + noScheme + "; it is \"ftp://sho.rt\" (see 'shunt stats --help')\n"},
	{call: "stats a --token x --server 127.0.0.1:1", code: 1, stderr: "shunt: using --server http://127.0.0.1:1\n" +
		"shunt: stats a: no answer: nothing listens on 127.0.0.1:1\n"},
	{call: "health --admin-listen 127.0.0.1:1", code: 1, stderr: "shunt: health: nothing listens on 127.0.0.1:1 (--admin-listen)\n"},
	{call: "health --admin-listen 127.0.0.1:0", code: 2,
		stderr: "shunt: health: --admin-listen has port 0, so the server chose one; name that port, which its first lines show\n"},
}

func TestTypicalMistakesGetHelpfulMessages(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for name, text := range mistakeFiles {
		path := filepath.Join(dir, name)
		must(t, os.MkdirAll(filepath.Dir(path), 0o700))
		must(t, os.WriteFile(path, []byte(text), 0o600))
	}
	createStore(t, filepath.Join(dir, "shunt-data"))
	shunt(t, dir, nil, "token", "add", "--name", "a")
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	defer ln.Close()
	_, port, _ := net.SplitHostPort(ln.Addr().String())
	filled := strings.NewReplacer("DIR/", dir+"/", "TAKEN", ln.Addr().String(), "PORT", port)
	for _, m := range mistakes {
		r := shunt(t, dir, strings.Fields(m.environ), strings.Fields(filled.Replace(m.call))...)
		if want := filled.Replace(m.stderr); r.code != m.code || r.stderr != want || r.stdout != "" {
			t.Errorf("%s shunt %s: got exit code %d, %q and\n%swant %d and\n%s", m.environ, m.call, r.code, r.stdout, r.stderr, m.code, want)
		}
		if found := insides.FindString(r.stderr); found != "" {
			t.Errorf("shunt %s: %q is an internal detail:\n%s", m.call, found, r.stderr)
		}
	}
}

func TestAnEmptyArgumentIsRefusedByName(t *testing.T) {
	for command, name := range map[string]string{"show": "CODE", "add": "URL", "backup": "DIR", "import": "FILE"} {
		shunt(t, t.TempDir(), nil, command, "").want(t, exitUsage, "", "^shunt: "+name+` is empty \(see 'shunt `+command+` --help'\)\n$`)
	}
	shunt(t, t.TempDir(), nil, "ls", "--data", "").want(t, exitUsage, "", "^shunt: --data: must not be empty \\(see")
	shunt(t, t.TempDir(), nil, "token", "rm", "").want(t, exitUsage, "", "^shunt: ID is empty")
}
