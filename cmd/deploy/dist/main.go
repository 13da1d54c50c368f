// Dist writes the list of parts of a binary for dist.sh, which makes a release: dist BINARY VERSION
// SECONDS, the time of the commit. It is a module of its own, so that what makes packages is no
// dependency of the program.
package main

import (
	"crypto/sha256"
	"debug/buildinfo"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"os"
	"runtime/debug"
	"strconv"
	"strings"
	"time"
)

// A bill is the bill of materials of a binary in the JSON form of CycloneDX 1.5 (ECMA-424).
type bill struct {
	Format       string       `json:"bomFormat"`
	SpecVersion  string       `json:"specVersion"`
	Serial       string       `json:"serialNumber"`
	Version      int          `json:"version"`
	Metadata     billMetadata `json:"metadata"`
	Components   []component  `json:"components"`
	Dependencies []dependency `json:"dependencies"`
}

type billMetadata struct {
	Timestamp string    `json:"timestamp"`
	Component component `json:"component"`
}

type component struct {
	Type    string `json:"type"`
	Ref     string `json:"bom-ref"`
	Name    string `json:"name"`
	Version string `json:"version"`
	URL     string `json:"purl,omitempty"`
	Hashes  []hash `json:"hashes,omitempty"`
}

type hash struct {
	Algorithm string `json:"alg"`
	Content   string `json:"content"` // hexadecimal
}

type dependency struct {
	Ref       string   `json:"ref"`
	DependsOn []string `json:"dependsOn"`
}

func main() {
	if err := writeBill(os.Args[1], os.Args[2], os.Args[3]); err != nil {
		fmt.Fprintln(os.Stderr, "dist:", err)
		os.Exit(1)
	}
}

// writeBill writes what the binary of a system is made of, as the Go linker recorded it.
func writeBill(binary, version, unixSeconds string) error {
	seconds, err := strconv.ParseInt(unixSeconds, 10, 64)
	if err != nil {
		return err
	}
	info, err := buildinfo.ReadFile(binary)
	if err != nil {
		return err
	}
	content, err := os.ReadFile(binary)
	if err != nil {
		return err
	}
	sum := sha256.Sum256(content)
	self := component{
		Type: "application", Ref: "shunt", Name: "shunt", Version: version,
		Hashes: []hash{{"SHA-256", fmt.Sprintf("%x", sum)}},
	}
	b := bill{
		Format: "CycloneDX", SpecVersion: "1.5", Serial: serial(sum), Version: 1,
		Metadata:   billMetadata{Timestamp: time.Unix(seconds, 0).UTC().Format(time.RFC3339), Component: self},
		Components: []component{goComponent(info.GoVersion)},
	}
	for _, m := range info.Deps {
		c, err := moduleComponent(m)
		if err != nil {
			return err
		}
		b.Components = append(b.Components, c)
	}
	on := dependency{Ref: self.Ref}
	for _, c := range b.Components {
		on.DependsOn = append(on.DependsOn, c.Ref)
	}
	b.Dependencies = []dependency{on}
	write := json.NewEncoder(os.Stdout)
	write.SetEscapeHTML(false)
	write.SetIndent("", "  ")
	return write.Encode(b)
}

// goComponent is the standard library and runtime in the binary.
func goComponent(version string) component {
	version = strings.TrimPrefix(version, "go")
	url := "pkg:golang/std@" + version
	return component{Type: "library", Ref: url, Name: "std", Version: version, URL: url}
}

// moduleComponent is a module in the binary. The checksum of go.sum is a SHA-256 of the list of its
// files (golang.org/x/mod/sumdb/dirhash, "h1").
func moduleComponent(m *debug.Module) (component, error) {
	if m.Replace != nil {
		m = m.Replace
	}
	url := "pkg:golang/" + m.Path + "@" + m.Version
	c := component{Type: "library", Ref: url, Name: m.Path, Version: m.Version, URL: url}
	if text, found := strings.CutPrefix(m.Sum, "h1:"); found {
		sum, err := base64.StdEncoding.DecodeString(text)
		if err != nil {
			return c, fmt.Errorf("checksum of %s: %w", m.Path, err)
		}
		c.Hashes = []hash{{"SHA-256", fmt.Sprintf("%x", sum)}}
	}
	return c, nil
}

// serial returns a UUID (RFC 9562, version 8) that follows from the binary, so that two builds of a
// commit have the same.
func serial(sum [sha256.Size]byte) string {
	u := sum[:16]
	u[6], u[8] = u[6]&0x0f|0x80, u[8]&0x3f|0x80
	return fmt.Sprintf("urn:uuid:%x-%x-%x-%x-%x", u[:4], u[4:6], u[6:8], u[8:10], u[10:])
}
