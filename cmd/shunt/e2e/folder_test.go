package e2e

import (
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

func TestAFolderInUseIsRefusedByName(t *testing.T) {
	dir := t.TempDir()
	p := startServer(t, dir)
	r := shunt(t, "", nil, "serve", "--data", dir, "--listen", "127.0.0.1:0", "--admin-listen", "127.0.0.1:0")
	r.want(t, exitFailed, "", regexp.QuoteMeta(dir)+".*in use by another process")
	if info := ask(t, p.admin+"/readyz", ""); info != "ready\n" {
		t.Errorf("the first server: got %q, want it to continue", info)
	}
	if !exists(t, filepath.Join(dir, socketName)) {
		t.Error("the second server removed the first one's socket")
	}
}

func TestAPortInUseIsRefusedBeforeAnythingIsWritten(t *testing.T) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	defer ln.Close()
	home := t.TempDir()
	for _, flag := range []string{"--listen", "--admin-listen"} {
		args := []string{"serve", "--listen", "127.0.0.1:0", "--admin-listen", "127.0.0.1:0", flag, ln.Addr().String()}
		shunt(t, home, nil, args...).want(t, exitFailed, "", flag+".*is in use by another program")
	}
	if exists(t, filepath.Join(home, "shunt-data")) {
		t.Error("the refused start made the data folder")
	}
}

func TestAFolderOfANewerFormatIsRefusedUnchanged(t *testing.T) {
	dir := t.TempDir()
	shunt(t, "", nil, "token", "add", "--name", "a", "--init", "--data", dir)
	format := filepath.Join(dir, "format")
	must(t, os.WriteFile(format, []byte("shunt data, version 99\n"), 0o600))
	before := listing(t, dir)
	for _, args := range [][]string{
		{"serve", "--listen", "127.0.0.1:0", "--admin-listen", "127.0.0.1:0"}, {"token", "add", "--name", "b"}, {"stats", "b"},
	} {
		shunt(t, "", nil, append(args, "--data", dir)...).want(t, exitFailed, "", regexp.QuoteMeta(dir)+".*newer.*99")
	}
	if after := listing(t, dir); after != before {
		t.Errorf("the folder has changed from\n%s\nto\n%s", before, after)
	}
}

// listing describes a folder with everything in it.
func listing(t *testing.T, dir string) string {
	t.Helper()
	var text strings.Builder
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err == nil {
			text.WriteString(path + " " + info.Mode().String() + " " + info.ModTime().String() + "\n")
		}
		return err
	})
	must(t, err)
	return text.String()
}

func TestAFolderWithForeignFilesIsRefused(t *testing.T) {
	dir := t.TempDir()
	must(t, os.WriteFile(filepath.Join(dir, "thesis.txt"), nil, 0o600))
	for _, args := range [][]string{{"ls"}, {"check"}, {"token", "add", "--name", "a"}, {"token", "add", "--name", "a", "--init"}} {
		shunt(t, "", nil, append(args, "--data", dir)...).want(t, exitFailed, "", regexp.QuoteMeta(dir)+` is not a data folder.*thesis\.txt.*--data`)
	}
}

// A user in the wrong folder is told its path, and no second, empty store is made there.
func TestAFolderWithoutAStoreIsNamedAndUnchanged(t *testing.T) {
	t.Parallel()
	home := t.TempDir()
	must(t, os.Mkdir(filepath.Join(home, "empty"), 0o700))
	for _, name := range []string{"empty", "missing", "empty/missing"} {
		for _, args := range [][]string{
			{"token", "add", "--name", "a"}, {"token", "ls"}, {"user", "add", "a@example.org"}, {"user", "ls"}, {"add", "https://example.org"},
			{"show", "a"}, {"edit", "a", "--title", "T"}, {"stats", "a"}, {"ls"}, {"rm", "a"}, {"export"}, {"import", os.DevNull}, {"backup", "b"}, {"check"},
		} {
			r := shunt(t, home, nil, append(args, "--data", name)...)
			r.want(t, exitFailed, "", `there is no store in `+regexp.QuoteMeta(filepath.Join(home, name))+`; is your server's data elsewhere\?.*--data`)
			if offers := strings.Contains(r.stderr, "--init"); offers != (len(args) > 1 && args[1] == "add") {
				t.Errorf("%v: it prints %q", args, r.stderr)
			}
		}
	}
	entries, err := filepath.Glob(filepath.Join(home, "*", "*"))
	if err != nil || len(entries) > 0 || exists(t, filepath.Join(home, "missing")) {
		t.Errorf("a command made files: %v, %v", entries, err)
	}
}

func TestInitMakesAStoreOnceAndOnlyHere(t *testing.T) {
	for _, args := range [][]string{{"token", "add", "--name", "a", "--init"}, {"user", "add", "a@example.org", "--init"}} {
		home := t.TempDir()
		listening := []string{"SHUNT_LISTEN=:8080"}
		shunt(t, home, listening, args...).want(t, exitUsage, "", "--base-url is missing")
		remote := append(args, "--server", "https://sho.rt", "--token", "t")
		shunt(t, home, nil, remote...).want(t, exitUsage, "", "--init .*--server")
		if exists(t, filepath.Join(home, "shunt-data")) {
			t.Error("a refused command made the folder")
		}
		shunt(t, home, nil, args...).want(t, exitDone, ".", `^shunt: made a store in `+regexp.QuoteMeta(filepath.Join(home, "shunt-data"))+`\n$`)
		shunt(t, home, nil, "token", "add", "--name", "b", "--init").want(t, exitDone, tokenLine.String(), "")
	}
}

func TestASocketPathThatIsTooLongIsRefused(t *testing.T) {
	dir := filepath.Join(t.TempDir(), strings.Repeat("x", 100))
	for _, args := range [][]string{
		{"serve", "--listen", "127.0.0.1:0", "--admin-listen", "127.0.0.1:0"}, {"token", "add", "--name", "b"}, {"stats", "b"},
	} {
		shunt(t, "", nil, append(args, "--data", dir)...).want(t, exitFailed, "", "at most 107.*--data")
	}
	if exists(t, dir) {
		t.Error("a refused command made the data folder")
	}
}
