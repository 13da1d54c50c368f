package e2e

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
)

// In these tests a server runs as a user of its own and is stopped or killed, and root gives commands
// on its folder. Those that read must leave every file as it was, and after all of them the server must
// start again as its user.

// A tenant is the user nobody, who has a server, and its folders.
type tenant struct {
	t       *testing.T
	program string // a copy of the binary that this user may run
	home    string // belongs to the user
	dir     string // the data folder in it
	token   string
}

const tenantUID = 65534

func newTenant(t *testing.T) *tenant {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("only root can be another user")
	}
	if _, err := exec.LookPath("setpriv"); err != nil {
		t.Skip("setpriv (util-linux) is not installed")
	}
	readSources()
	top := t.TempDir()
	x := &tenant{t: t, program: filepath.Join(top, "shunt"), home: filepath.Join(top, "home")}
	x.dir = filepath.Join(x.home, "data")
	text, err := os.ReadFile(binary)
	must(t, err)
	err = errors.Join(os.Chmod(filepath.Dir(top), 0o755), os.Chmod(top, 0o755), os.WriteFile(x.program, text, 0o755), os.Chmod(x.program, 0o755),
		os.Mkdir(x.home, 0o755), os.Chown(x.home, tenantUID, tenantUID))
	must(t, err)
	return x
}

// asTenant begins a command line that runs the rest as the user.
func asTenant(uid int) []string {
	id := fmt.Sprint(uid)
	return []string{"setpriv", "--reuid", id, "--regid", id, "--clear-groups"}
}

func (x *tenant) launch(args ...string) *process {
	x.t.Helper()
	args = append([]string{"--base-url", "http://sho.rt", "--private-targets", "allow"}, args...)
	return launchProgram(x.t, x.program, nil, asTenant(tenantUID), x.dir, args...)
}

// visited starts a server, makes two links, follows one three times, and kills the server: the hits are
// in the journal alone.
func (x *tenant) visited() {
	x.t.Helper()
	p := x.launch("--flush-interval", "1h").waitReady()
	x.token = p.token()
	for _, alias := range []string{"one", "two"} {
		x.root("add", "http://target/"+alias, "--alias", alias, "--tag", "t").want(x.t, exitDone, "^http://sho.rt/"+alias, "")
	}
	for range 3 {
		if r := do(x.t, "GET", p.public+"/one", "", "Referer", "https://news.example/", "User-Agent", browser); r.StatusCode != 302 {
			x.t.Fatalf("got %d, want a redirect", r.StatusCode)
		}
	}
	p.kill()
}

// root runs a command of root on the data folder, from a folder that only root may enter.
func (x *tenant) root(args ...string) result {
	x.t.Helper()
	return shunt(x.t, "/root", nil, append(args, "--data", x.dir)...)
}

// tree describes every file of the user's.
func (x *tenant) tree() map[string]string {
	x.t.Helper()
	found := map[string]string{}
	err := filepath.WalkDir(x.home, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		stat := info.Sys().(*syscall.Stat_t)
		sum := [sha256.Size]byte{}
		if info.Mode().IsRegular() {
			content, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			sum = sha256.Sum256(content)
		}
		found[path] = fmt.Sprintf("%v of %d:%d, %d bytes, changed %v, %s", info.Mode(), stat.Uid, stat.Gid, info.Size(), info.ModTime(), hex.EncodeToString(sum[:8]))
		return nil
	})
	must(x.t, err)
	return found
}

// unchanged fails the test unless the files are those of before.
func (x *tenant) unchanged(by string, before map[string]string) {
	x.t.Helper()
	after := x.tree()
	for _, path := range slices.Sorted(maps.Keys(before)) {
		if after[path] != before[path] {
			x.t.Errorf("%s: %s was %s\nis %s", by, path, before[path], after[path])
		}
	}
	for path := range after {
		if _, known := before[path]; !known {
			x.t.Errorf("%s: it made %s", by, path)
		}
	}
}

// owned fails the test if any file is not the user's.
func (x *tenant) owned(by string) {
	x.t.Helper()
	for path, what := range x.tree() {
		if !strings.Contains(what, fmt.Sprintf(" of %d:%d,", tenantUID, tenantUID)) {
			x.t.Errorf("%s: %s is %s", by, path, what)
		}
	}
}

// hits returns the hits of a link by a command of root.
func (x *tenant) hits(code string) (hits uint64) {
	x.t.Helper()
	r := x.root("stats", code, "--json")
	var got struct{ Hits uint64 }
	if err := json.Unmarshal([]byte(r.stdout), &got); err != nil {
		x.t.Fatalf("stats: %v: %+v", err, r)
	}
	return got.Hits
}

// readingCommands are all that change nothing, and what they print.
func readingCommands(backup string) map[string]string {
	return map[string]string{
		"ls":                                     `one .*\b3\b`,
		"ls --json --limit 1":                    `"code":"two"`,
		"show one":                               `hits +3`,
		"stats one":                              `hits +3\nunique +1`,
		"stats one --include referrers,browsers": `(?s)news\.example +3.*Firefox +3`,
		"export":                                 `"code":"one".*"hits":3`,
		"user ls":                                `admin`,
		"token ls":                               `test`,
		"audit":                                  `one`,
		"check":                                  `3 hits to be written`,
		"backup " + backup + "/one":              `backed up 2 links`,
		"backup --to " + backup + "/series":      `verified`,
		"backup --tar -":                         `shunt-`,
	}
}

func TestCommandsOfRootThatReadChangeNothing(t *testing.T) {
	x := newTenant(t)
	x.visited()
	backup := t.TempDir()
	before := x.tree()
	if len(before) < 20 {
		t.Fatalf("the tree has %d files only", len(before))
	}
	for line, want := range readingCommands(backup) {
		r := x.root(strings.Fields(line)...)
		if r.code != exitDone || !regexp.MustCompile(want).MatchString(r.stdout) {
			t.Errorf("%s: got exit code %d, %q, %q, want %q", line, r.code, r.stdout, r.stderr, want)
		}
		x.unchanged(line, before)
	}
	for _, made := range []string{"one", "series"} {
		if _, err := os.Stat(filepath.Join(backup, made)); err != nil {
			t.Error(err)
		}
	}

	again := x.launch().waitReady()
	if got := x.hits("one"); got != 3 {
		t.Errorf("after a start the link has %d hits, want 3", got)
	}
	again.terminate()
	before = x.tree()
	for line := range readingCommands(t.TempDir()) { // after a clean stop
		if r := x.root(strings.Fields(line)...); r.code != exitDone {
			t.Errorf("%s: got %+v", line, r)
		}
		x.unchanged(line, before)
	}
	x.launch().waitReady().terminate()

	restored := filepath.Join(t.TempDir(), "restored")
	shunt(t, "", nil, "restore", filepath.Join(backup, "one"), "--data", restored).want(t, exitDone, "^restored", "")
	shunt(t, "", nil, "stats", "one", "--data", restored).want(t, exitDone, `hits +3\nunique +1`, "")
}

func TestCommandsOfRootThatWriteLeaveTheFilesOfTheServer(t *testing.T) {
	x := newTenant(t)
	x.visited()
	links := writeFile(t, "links.ndjson", `{"code":"three","url":"http://target/3"}`)
	must(t, os.Chmod(filepath.Dir(links), 0o700))
	for _, args := range [][]string{
		{"add", "http://target/4", "--alias", "four"},
		{"edit", "four", "--title", "T"},
		{"rm", "four"},
		{"token", "add", "--name", "b"},
		{"user", "add", "ann@example.com"},
		{"user", "edit", "ann@example.com", "--admin"},
		{"user", "passwd", "ann@example.com", "--password-file", passwordFile(t)},
		{"user", "setup-link", "ann@example.com"},
		{"user", "rm", "ann@example.com"},
	} {
		if r := x.root(args...); r.code != exitDone {
			t.Errorf("%q: got %+v", args, r)
		}
		x.owned(strings.Join(args, " "))
	}
	x.root("import", links).want(t, exitFailed, "", regexp.QuoteMeta(links)+`.*as which the command works.*shunt import - < `)
	shuntReading(t, links, "import", "-", "--data", x.dir).want(t, exitDone, "^1 link imported", "")
	x.owned("import")
	if got := x.hits("one"); got != 3 {
		t.Errorf("got %d hits, want 3", got)
	}
	p := x.launch().waitReady()
	x.root("show", "three").want(t, exitDone, "http://target/3", "")
	p.terminate()

	made := filepath.Join(x.home, "new")
	shunt(t, "/root", nil, "token", "add", "--init", "--name", "a", "--data", made).want(t, exitDone, tokenLine.String(), "made a store")
	x.owned("token add --init")
}

// shuntReading is shunt of root with a file as its standard input.
func shuntReading(t *testing.T, file string, args ...string) result {
	t.Helper()
	in, err := os.Open(file)
	must(t, err)
	defer in.Close()
	return ran(t, "/root", nil, in, append([]string{binary}, args...)...)
}

// Files that root makes belong to the owner of the folder that they are in.
func TestBackupsAndRestoresOfRootBelongToTheOwnerOfTheirFolder(t *testing.T) {
	x := newTenant(t)
	x.visited()
	series, single := filepath.Join(x.home, "backups", "daily"), filepath.Join(x.home, "single")
	x.root("backup", "--to", series).want(t, exitDone, "verified", "shares table files")
	x.root("backup", single).want(t, exitDone, "backed up", "shares table files")
	x.owned("backup")
	restored, streamed := filepath.Join(x.home, "restored"), filepath.Join(x.home, "streamed")
	shunt(t, "/root", nil, "restore", single, "--data", restored).want(t, exitDone, "^restored", "the data belongs to the user")
	x.owned("restore")
	archive := filepath.Join(t.TempDir(), "shunt.tar")
	ran(t, "/root", nil, nil, "sh", "-c", `"$0" backup --tar - --data "$1" >"$2"`, binary, x.dir, archive).want(t, exitDone, "", "sent 2 links")
	shuntReading(t, archive, "restore", "--tar", "-", "--data", streamed).want(t, exitDone, "^restored", "the data belongs to the user")
	x.owned("restore --tar")

	x.launch().waitReady().terminate()
	ran(t, "/root", nil, nil, append(asTenant(tenantUID), x.program, "backup", "--to", series, "--keep", "1", "--data", x.dir)...).
		want(t, exitDone, "removed 1 older backup", "shares table files")
	for _, dir := range []string{restored, streamed} {
		x.dir = dir
		x.launch().waitReady().terminate()
		if got := x.hits("one"); got != 3 {
			t.Errorf("%s: got %d hits, want 3", dir, got)
		}
	}
}

// Whoever may read the folder, and no more, may give commands that read.
func TestAUserWhoMayOnlyReadGetsFigures(t *testing.T) {
	x := newTenant(t)
	x.visited()
	const reader = 65533
	stats := append(asTenant(reader), x.program, "stats", "one", "--data", x.dir)
	ran(t, "/root", nil, nil, stats...).want(t, exitFailed, "", `you may not open the data folder `+regexp.QuoteMeta(x.dir)+`; run the command as its owner \(sudo -u \S+\)`)
	x.launch().waitReady().terminate() // the hits are in the store then, and no part of the journal in memory
	ran(t, "/root", nil, nil, "chmod", "-R", "go+rX", x.dir).want(t, exitDone, "", "")
	before := x.tree()
	ran(t, "/root", nil, nil, stats...).want(t, exitDone, `^hits +3\nunique +1\n$`, "")
	x.unchanged("stats", before)
	ran(t, "/root", nil, nil, append(asTenant(reader), x.program, "add", "http://target/5", "--data", x.dir)...).want(t, exitFailed, "", "you may not open the data folder")
	x.unchanged("add", before)
}

func TestAServerNamesTheFileThatItMayNotUseAndWhatMendsIt(t *testing.T) {
	x := newTenant(t)
	x.visited()
	refused := func(file string) {
		t.Helper()
		p := x.launch()
		<-p.ended
		want := regexp.QuoteMeta(file) + `.*this process runs as the user \S+ \(65534:65534\): let root run: chown -R 65534:65534 ` + regexp.QuoteMeta(x.dir)
		if got := p.stderr(); !regexp.MustCompile(want).MatchString(got) {
			t.Errorf("%s: got\n%s", file, got)
		}
	}
	rings, _ := filepath.Glob(filepath.Join(x.dir, "journal", "ring-*-00"))
	if len(rings) != 1 {
		t.Fatalf("got the rings %q", rings)
	}
	for _, path := range []string{rings[0], filepath.Join(x.dir, "db"), filepath.Join(x.dir, "format"), filepath.Join(x.dir, "acked"), filepath.Join(x.dir, "db/LOCK")} {
		info, err := os.Stat(path)
		if err == nil {
			err = errors.Join(os.Chown(path, 0, 0), os.Chmod(path, info.Mode()&0o700))
		}
		must(t, err)
		refused(path)
		must(t, errors.Join(os.Chown(path, tenantUID, tenantUID), os.Chmod(path, info.Mode())))
	}
	must(t, os.Chown(x.dir, 0, 0)) // with files of the user in it
	refused(x.dir)
	ran(t, "/root", nil, nil, "chown", "-R", "65534:65534", x.dir).want(t, exitDone, "", "")
	x.launch().waitReady().terminate()
}

func TestAServerOfRootIsRefusedTheDataOfAnotherUser(t *testing.T) {
	x := newTenant(t)
	x.visited()
	before := x.tree()
	p := launch(t, x.dir)
	<-p.ended
	want := `the data in ` + regexp.QuoteMeta(x.dir) + ` belongs to the user \S+ \(65534:65534\).*sudo -u.*chown -R 0:0 `
	if got := p.stderr(); !regexp.MustCompile(want).MatchString(got) {
		t.Errorf("got\n%s", got)
	}
	delete(before, x.dir) // a file was made in it and removed, to see whose it is
	after := x.tree()
	for path := range before {
		if after[path] != before[path] {
			t.Errorf("%s was %s, is %s", path, before[path], after[path])
		}
	}
	x.launch().waitReady().terminate()
}
