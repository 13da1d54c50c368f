package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
)

// makeTarget makes everything of one system.
func (r *release) makeTarget(t target) error {
	fmt.Printf("%s/%s: binary", t.os, t.arch)
	binary := filepath.Join(r.work, t.os+"-"+t.arch, "shunt")
	if err := r.build(t, binary); err != nil {
		return err
	}
	fmt.Print(", list of parts")
	if err := r.writeBill(t, binary); err != nil {
		return err
	}
	fmt.Print(", tarball")
	if err := r.writeTarball(t, binary); err != nil {
		return err
	}
	if t.packages {
		fmt.Print(", packages")
		if err := r.writePackages(t, binary); err != nil {
			return err
		}
	}
	fmt.Println()
	return nil
}

// build writes the static binary of a system. Paths and the state of the repository are left out,
// because they would differ between two folders.
func (r *release) build(t target, binary string) error {
	return r.run([]string{"CGO_ENABLED=0", "GOOS=" + t.os, "GOARCH=" + t.arch, "GOFLAGS=", "GOAMD64=v1", "GOARM64=v8.0"},
		"go", "build", "-trimpath", "-buildvcs=false", "-ldflags", "-s -w -buildid= -X shunt/cmd/shunt/version.number="+r.version, "-o", binary, "./cmd/shunt")
}

// makeManual writes what the commands say of themselves: man pages, compressed as packages want
// them, and completions.
func (r *release) makeManual() error {
	fmt.Println("man pages, completions")
	pages := r.path("man")
	if err := os.Mkdir(pages, 0o755); err != nil {
		return err
	}
	err := r.run([]string{"SHUNTTEST_MANUAL=" + pages, "SOURCE_DATE_EPOCH=" + strconv.FormatInt(r.time.Unix(), 10)},
		"go", "test", "-count=1", "-ldflags", "-X shunt/cmd/shunt/version.number="+r.version, "-run", "^TestEveryCommandHasAManPage$", "./cmd/shunt")
	if err != nil {
		return err
	}
	if err := compressAll(pages); err != nil {
		return err
	}
	host := r.path("host-shunt")
	if err := r.build(target{os: runtime.GOOS, arch: runtime.GOARCH}, host); err != nil {
		return err
	}
	for _, shell := range []string{"bash", "zsh", "fish"} {
		script, err := exec.Command(host, "completion", shell).Output()
		if err != nil {
			return fmt.Errorf("completion %s: %w", shell, err)
		}
		if err := os.WriteFile(r.path("shunt."+shell), script, 0o644); err != nil {
			return err
		}
	}
	return nil
}

// path returns the path of what is made on the way.
func (r *release) path(name string) string { return filepath.Join(r.work, name) }

// source returns the path of a file of the project.
func (r *release) source(name string) string { return filepath.Join(r.root, filepath.FromSlash(name)) }

// run runs a command in the project.
func (r *release) run(env []string, name string, args ...string) error {
	cmd := exec.Command(name, args...)
	cmd.Dir, cmd.Env = r.root, append(os.Environ(), env...)
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("%s %s: %w\n%s", name, args[0], err, strings.TrimSpace(string(out)))
	}
	return nil
}
