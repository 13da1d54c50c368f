package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/goreleaser/nfpm/v2"
	_ "github.com/goreleaser/nfpm/v2/deb"
	"github.com/goreleaser/nfpm/v2/files"
	_ "github.com/goreleaser/nfpm/v2/rpm"
)

const description = `redirect engine: short links from memory, every hit counted
 shunt turns long addresses into short links, answers them from memory, counts
 every hit, estimates unique visitors, and loses nothing. It has an API, a
 dashboard, backups while it serves, and metrics for Prometheus.`

// An entry is a file of the packages.
type entry struct {
	from, to string
	mode     fs.FileMode
	config   bool     // what the operator changes in it is kept by an upgrade
	only     []string // formats of packages; none: all
}

// entries are the files of the packages, apart from man pages. Those that are made on the way have
// no folder in from.
var entries = []entry{
	{from: "cmd/deploy/shunt.toml", to: "/etc/shunt/shunt.toml", mode: 0o640, config: true}, // postinst gives it to the group shunt
	{from: "cmd/deploy/systemd/shunt.service", to: "/usr/lib/systemd/system/shunt.service", mode: 0o644},
	{from: "cmd/deploy/systemd/shunt.socket", to: "/usr/lib/systemd/system/shunt.socket", mode: 0o644},
	{from: "cmd/deploy/systemd/shunt-backup.service", to: "/usr/lib/systemd/system/shunt-backup.service", mode: 0o644},
	{from: "cmd/deploy/systemd/shunt-backup.timer", to: "/usr/lib/systemd/system/shunt-backup.timer", mode: 0o644},
	{from: "cmd/deploy/package/shunt.init", to: "/etc/init.d/shunt", mode: 0o755, config: true, only: []string{"deb"}},
	{from: "cmd/deploy/package/shunt.logrotate", to: "/etc/logrotate.d/shunt", mode: 0o644, config: true},
	{from: "shunt.bash", to: "/usr/share/bash-completion/completions/shunt", mode: 0o644},
	{from: "shunt.zsh", to: "/usr/share/zsh/vendor-completions/_shunt", mode: 0o644},
	{from: "shunt.fish", to: "/usr/share/fish/vendor_completions.d/shunt.fish", mode: 0o644},
	{from: "LICENSE", to: "/usr/share/doc/shunt/copyright", mode: 0o644},
	{from: "README.md", to: "/usr/share/doc/shunt/README.md", mode: 0o644},
	{from: "UPGRADE.md", to: "/usr/share/doc/shunt/UPGRADE.md", mode: 0o644},
	{from: "CHANGELOG.md", to: "/usr/share/doc/shunt/CHANGELOG.md", mode: 0o644},
	{from: "cmd/deploy/prometheus", to: "/usr/share/doc/shunt/prometheus", mode: 0o644},
	{from: "cmd/deploy/grafana", to: "/usr/share/doc/shunt/grafana", mode: 0o644},
	{from: "cmd/deploy/fail2ban", to: "/usr/share/doc/shunt/fail2ban", mode: 0o644},
	{from: "cmd/deploy/nginx.conf", to: "/usr/share/doc/shunt/nginx.conf", mode: 0o644},
	{from: "cmd/deploy/haproxy.cfg", to: "/usr/share/doc/shunt/haproxy.cfg", mode: 0o644},
}

// writePackages writes the packages of a system.
func (r *release) writePackages(t target, binary string) error {
	for _, format := range []string{"deb", "rpm"} {
		if err := r.writePackage(t, binary, format); err != nil {
			return fmt.Errorf("%s: %w", format, err)
		}
	}
	return nil
}

func (r *release) writePackage(t target, binary, format string) (err error) {
	info := r.info(t)
	if info.Contents, err = r.contents(binary, format); err != nil {
		return err
	}
	info = nfpm.WithDefaults(info)
	if err := nfpm.PrepareForPackager(info, format); err != nil {
		return err
	}
	packager, err := nfpm.Get(format)
	if err != nil {
		return err
	}
	file, err := os.Create(filepath.Join(r.out, packager.ConventionalFileName(info)))
	if err != nil {
		return err
	}
	return errors.Join(packager.Package(info, file), file.Close())
}

func (r *release) info(t target) *nfpm.Info {
	scripts := func(name string) string { return r.source("cmd/deploy/package/" + name) }
	info := &nfpm.Info{
		Name: "shunt", Arch: t.arch, Platform: t.os, Version: r.version, VersionSchema: "none", Release: "1",
		Section: "web", Priority: "optional", Maintainer: "The shunt maintainers <shunt@localhost>",
		Description: description, License: "Apache-2.0", MTime: r.time,
	}
	info.Umask = 0o022
	info.Scripts = nfpm.Scripts{PostInstall: scripts("postinst"), PreRemove: scripts("prerm"), PostRemove: scripts("postrm")}
	info.Depends = nil // the binary is static
	info.RPM = nfpm.RPM{BuildHost: "localhost", Summary: strings.SplitN(description, "\n", 2)[0], Compression: "gzip:9"}
	info.Deb = nfpm.Deb{Compression: "gzip", Predepends: []string{"passwd"}}
	return info
}

// contents returns the files of the packages of a format.
func (r *release) contents(binary, format string) (c files.Contents, err error) {
	c = files.Contents{
		r.content(binary, "/usr/bin/shunt", 0o755, false),
		{Destination: "/etc/shunt", Type: files.TypeDir, FileInfo: &files.ContentFileInfo{Mode: 0o755, MTime: r.time}},
	}
	for _, e := range entries {
		if len(e.only) > 0 && e.only[0] != format {
			continue
		}
		if c, err = r.add(c, e); err != nil {
			return nil, err
		}
	}
	pages, err := os.ReadDir(r.path("man"))
	if err != nil {
		return nil, err
	}
	for _, page := range pages {
		section := strings.TrimSuffix(page.Name(), ".gz")
		to := "/usr/share/man/man" + section[len(section)-1:] + "/" + page.Name()
		c = append(c, r.content(filepath.Join(r.path("man"), page.Name()), to, 0o644, false))
	}
	return c, nil
}

// add adds the file of e, or all files of a folder.
func (r *release) add(c files.Contents, e entry) (files.Contents, error) {
	from := r.source(e.from)
	if !strings.Contains(e.from, "/") && strings.HasPrefix(e.from, "shunt.") {
		from = r.path(e.from)
	}
	err := filepath.WalkDir(from, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		inside, err := filepath.Rel(from, path)
		if err != nil {
			return err
		}
		to := e.to
		if inside != "." {
			to += "/" + filepath.ToSlash(inside)
		}
		c = append(c, r.content(path, to, e.mode, e.config))
		return nil
	})
	return c, err
}

func (r *release) content(from, to string, mode fs.FileMode, config bool) *files.Content {
	kind := files.TypeFile
	if config {
		kind = files.TypeConfigNoReplace
	}
	return &files.Content{
		Source: from, Destination: to, Type: kind,
		FileInfo: &files.ContentFileInfo{Mode: mode, MTime: r.time, Owner: "root", Group: "root"},
	}
}
