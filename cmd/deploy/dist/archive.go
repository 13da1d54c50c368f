package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// writeTarball writes the archive of a system: the binary, its man pages and completions, and the
// texts that belong to it, in a folder of its name.
func (r *release) writeTarball(t target, binary string) error {
	name := fmt.Sprintf("shunt-%s-%s-%s", r.version, t.os, t.arch)
	members := map[string]string{name + "/shunt": binary}
	for _, text := range []string{"LICENSE", "README.md", "CHANGELOG.md", "UPGRADE.md"} {
		members[name+"/"+text] = r.source(text)
	}
	for _, shell := range []string{"bash", "zsh", "fish"} {
		members[name+"/completions/shunt."+shell] = r.path("shunt." + shell)
	}
	pages, err := os.ReadDir(r.path("man"))
	if err != nil {
		return err
	}
	for _, page := range pages {
		members[name+"/man/"+page.Name()] = filepath.Join(r.path("man"), page.Name())
	}
	return r.writeTar(filepath.Join(r.out, name+".tar.gz"), members)
}

// writeTar writes files, by their names in the archive, in order, with the time of the commit and
// without an owner.
func (r *release) writeTar(to string, members map[string]string) error {
	var archive bytes.Buffer
	packed, err := gzip.NewWriterLevel(&archive, gzip.BestCompression)
	if err != nil {
		return err
	}
	w := tar.NewWriter(packed)
	names := make([]string, 0, len(members))
	for name := range members {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		content, err := os.ReadFile(members[name])
		if err != nil {
			return err
		}
		header := &tar.Header{Name: name, Mode: 0o644, Size: int64(len(content)), ModTime: r.time, Format: tar.FormatPAX}
		if strings.HasSuffix(name, "/shunt") {
			header.Mode = 0o755
		}
		if err := w.WriteHeader(header); err != nil {
			return err
		}
		if _, err := w.Write(content); err != nil {
			return err
		}
	}
	if err := errors.Join(w.Close(), packed.Close()); err != nil {
		return err
	}
	return os.WriteFile(to, archive.Bytes(), 0o644)
}

// compressAll replaces each file of a folder with its compressed form, without a name or time.
func compressAll(dir string) error {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	for _, e := range entries {
		path := filepath.Join(dir, e.Name())
		content, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		var out bytes.Buffer
		packed, err := gzip.NewWriterLevel(&out, gzip.BestCompression)
		if err != nil {
			return err
		}
		if _, err := packed.Write(content); err != nil {
			return err
		}
		if err := packed.Close(); err != nil {
			return err
		}
		if err := os.WriteFile(path+".gz", out.Bytes(), 0o644); err != nil {
			return err
		}
		if err := os.Remove(path); err != nil {
			return err
		}
	}
	return nil
}

// sumsFile has the checksums of a release, as sha256sum writes and checks them.
const sumsFile = "SHA256SUMS"

func writeSums(dir string) error {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	var sums strings.Builder
	for _, e := range entries {
		content, err := os.ReadFile(filepath.Join(dir, e.Name()))
		if err != nil {
			return err
		}
		fmt.Fprintf(&sums, "%x  %s\n", sha256.Sum256(content), e.Name())
	}
	return os.WriteFile(filepath.Join(dir, sumsFile), []byte(sums.String()), 0o644)
}
