// Make writes the shapes of package worldmap. It reads the maps of Natural Earth, which are in the public domain, from
// a package of npm, whose hash is checked: only who runs it needs npm.
package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// The package of npm, and its hash.
const (
	source     = "world-atlas@2.0.2"
	sourceHash = "032e7765f2ce00edaeafec23ff22bc3b77e42987c257da944cc585b452c05b97"
)

// countriesFile is the map in the package. It has more than is drawn: a coarser one lacks Singapore, Malta and others.
const countriesFile = "package/countries-50m.json"

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "make:", err)
		os.Exit(1)
	}
}

func run(args []string) error {
	if len(args) != 1 {
		return errors.New("usage: make FILE")
	}
	text, err := fetch()
	if err != nil {
		return err
	}
	t, err := readTopology(text)
	if err != nil {
		return err
	}
	svg, err := t.draw()
	if err != nil {
		return err
	}
	return os.WriteFile(args[0], svg, 0o644)
}

// fetch returns the map.
func fetch() ([]byte, error) {
	folder, err := os.MkdirTemp("", "worldmap")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(folder)
	pack := exec.Command("npm", "pack", "--silent", "--ignore-scripts", source)
	pack.Dir, pack.Stderr = folder, os.Stderr
	name, err := pack.Output()
	if err != nil {
		return nil, fmt.Errorf("npm pack %s: %w", source, err)
	}
	packed, err := os.ReadFile(filepath.Join(folder, filepath.Base(strings.TrimSpace(string(name)))))
	if err != nil {
		return nil, err
	}
	if hash := sha256.Sum256(packed); hex.EncodeToString(hash[:]) != sourceHash {
		return nil, fmt.Errorf("%s has the hash %x, want %s", source, hash, sourceHash)
	}
	return unpack(packed)
}

// unpack returns the map in a package.
func unpack(packed []byte) ([]byte, error) {
	plain, err := gzip.NewReader(bytes.NewReader(packed))
	if err != nil {
		return nil, err
	}
	for r := tar.NewReader(plain); ; {
		h, err := r.Next()
		if err != nil {
			return nil, fmt.Errorf("%s in %s: %w", countriesFile, source, err)
		}
		if h.Name == countriesFile {
			return io.ReadAll(r)
		}
	}
}
