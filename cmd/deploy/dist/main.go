// Dist makes a release: static binaries, packages for Debian and for RPM, tarballs, a list of what
// is in them, and their checksums. The same commit gives the same bytes in any folder: times are
// that of the commit, names of machines and paths are left out.
//
// It is a module of its own, so that what makes packages is no dependency of the program.
package main

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// A release is what is made from one commit.
type release struct {
	root    string    // the project
	out     string    // where the files of the release go
	work    string    // what is made on the way; removed at the end
	version string    // without a leading v
	time    time.Time // of the commit
	only    string    // one target, as os/arch; empty: all
}

// A target is a system that gets a binary.
type target struct {
	os, arch string
	packages bool // for its package managers
}

var targets = []target{
	{"linux", "amd64", true},
	{"linux", "arm64", true},
	{"darwin", "amd64", false}, // for development
	{"darwin", "arm64", false},
}

func main() {
	r := release{}
	flag.StringVar(&r.root, "root", ".", "folder of the project")
	flag.StringVar(&r.out, "out", "dist", "folder for the release, made if it is missing")
	flag.StringVar(&r.version, "version", "", "version (default: of the tag, or 0.0.0 and the commit)")
	flag.StringVar(&r.only, "only", "", "make the files of one system only, such as linux/amd64")
	flag.Parse()
	if flag.NArg() > 0 {
		fmt.Fprintf(os.Stderr, "dist: unexpected argument %q\n", flag.Arg(0))
		os.Exit(2)
	}
	if err := r.make(); err != nil {
		fmt.Fprintln(os.Stderr, "dist:", err)
		os.Exit(1)
	}
}

// make makes the whole release, or nothing: the folder appears in its place when it is complete.
func (r *release) make() (err error) {
	if err := r.prepare(); err != nil {
		return err
	}
	final := r.out
	if r.work, err = os.MkdirTemp(filepath.Dir(final), ".dist-"); err != nil {
		return err
	}
	defer os.RemoveAll(r.work)
	r.out = filepath.Join(r.work, "release")
	if err := os.Mkdir(r.out, 0o755); err != nil {
		return err
	}
	if err := r.makeManual(); err != nil {
		return err
	}
	if err := r.makeTargets(); err != nil {
		return err
	}
	if err := writeSums(r.out); err != nil {
		return err
	}
	if err := os.RemoveAll(final); err != nil {
		return err
	}
	return os.Rename(r.out, final)
}

func (r *release) makeTargets() error {
	made := 0
	for _, t := range targets {
		if name := t.os + "/" + t.arch; r.only == "" || r.only == name {
			if err := r.makeTarget(t); err != nil {
				return fmt.Errorf("%s: %w", name, err)
			}
			made++
		}
	}
	if made == 0 {
		return fmt.Errorf("there is no target %q", r.only)
	}
	return nil
}

// prepare finds out what is released, and refuses to replace a folder that is not a release.
func (r *release) prepare() (err error) {
	for _, dir := range []*string{&r.root, &r.out} {
		if *dir, err = filepath.Abs(*dir); err != nil {
			return err
		}
	}
	if entries, err := os.ReadDir(r.out); err == nil && len(entries) > 0 {
		if _, err := os.Stat(filepath.Join(r.out, sumsFile)); err != nil {
			return fmt.Errorf("%s has files, but no %s: it is no release, so it is not replaced", r.out, sumsFile)
		}
	}
	text, err := r.git("log", "-1", "--format=%ct")
	if err != nil {
		return err
	}
	seconds, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		return fmt.Errorf("the time of the commit is %q", text)
	}
	r.time = time.Unix(seconds, 0).UTC()
	if r.version == "" {
		r.version, err = r.versionOfCommit()
	}
	r.version = strings.TrimPrefix(r.version, "v")
	return err
}

// versionOfCommit returns the version of the tag at the commit. Between tags, it is a version
// before every release, with the commit.
func (r *release) versionOfCommit() (string, error) {
	if tag, err := r.git("describe", "--tags", "--exact-match", "--match", "v[0-9]*"); err == nil {
		return tag, nil
	}
	commit, err := r.git("rev-parse", "--short=12", "HEAD")
	if err != nil {
		return "", err
	}
	return fmt.Sprintf("0.0.0~%s.g%s", r.time.Format("20060102150405"), commit), nil
}

func (r *release) git(args ...string) (string, error) {
	out, err := exec.Command("git", append([]string{"-C", r.root}, args...)...).Output()
	if failed := (*exec.ExitError)(nil); errors.As(err, &failed) {
		return "", fmt.Errorf("git %s: %s", args[0], strings.TrimSpace(string(failed.Stderr)))
	}
	return strings.TrimSpace(string(out)), err
}
