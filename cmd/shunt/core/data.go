package core

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"shunt/cmd/shunt/console"
	"shunt/cmd/shunt/settings"
	"shunt/cmd/shunt/usage"
	"shunt/engine"
	"shunt/storage"
)

// The settings that more than one command takes, and how their texts are read.

const (
	DefaultDataDir     = "./shunt-data"
	DefaultListen      = "127.0.0.1:8080"
	DefaultAdminListen = "127.0.0.1:8081"
)

// Data says where the data is and how links in it are written.
type Data struct {
	Dir            string
	allowOpen      bool // the folders of the data and the journal may be writable by every user
	journalDir     string
	minFree        storage.Floor
	AcceptLoss     bool
	CacheBytes     int64     // 0: the store's default
	VisitorKey     *[16]byte // of a store that is made; nil: drawn at random
	MemTableBytes  int64     // 0: the store's default
	Listen         string
	BaseURL        string
	ACMEDomain     string
	Secure         bool // the server speaks HTTPS
	PrivateTargets string
	targetSchemes  engine.TargetSchemes
}

// AddFolder gives cmd the settings of commands that read the data folder.
func AddFolder(cmd *cobra.Command, s *Data) {
	usage.AddConfig(cmd)
	settings.Var(cmd.Flags(), &s.Dir, "data", "DIR", DefaultDataDir, "data folder", settings.ParseNotEmpty)
	cmd.Flags().BoolVar(&s.allowOpen, "allow-open-data", false,
		"use a data or journal folder that every user of this machine may write to")
	usage.Hide(cmd.Flags(), "allow-open-data") // only the help of serve shows it
}

// AddJournal gives cmd the setting of where the hit journal is.
func AddJournal(cmd *cobra.Command, s *Data) {
	cmd.Flags().StringVar(&s.journalDir, "journal-dir", "",
		"`DIR` of the hit journal; may be a tmpfs (default: where it was; at first, journal in the data folder)")
}

// AddStoreSettings gives cmd the settings of commands that open a store.
func AddStoreSettings(cmd *cobra.Command, s *Data) {
	AddFolder(cmd, s)
	AddJournal(cmd, s)
	settings.Var(cmd.Flags(), &s.minFree, "min-free-space", "SIZE", "auto",
		"free space below which no links are written, such as 1GiB, 5% or off (auto: the smaller of 512MiB and 5%)", parseFloor)
}

// AddDataSettings gives cmd the settings of commands that open a store and print addresses of its
// links.
func AddDataSettings(cmd *cobra.Command, s *Data) {
	AddStoreSettings(cmd, s)
	fs := cmd.Flags()
	settings.Var(fs, &s.Listen, "listen", "ADDRESS", DefaultListen, "address of redirects and the API", settings.ParseListen)
	settings.Var(fs, &s.BaseURL, "base-url", "URL", "",
		"origin of the short addresses, such as https://sho.rt (default: https://<acme-domain>, or http://<listen> if that is loopback)", ParseOrigin)
	settings.Var(fs, &s.ACMEDomain, "acme-domain", "NAME", "",
		"domain for which an ACME authority (Let's Encrypt) is asked for a certificate, for HTTPS; it must lead to --listen on port 443, "+
			"or to --http-redirect-listen on port 80", parseDomain)
	settings.WordVar(fs, &s.PrivateTargets, "private-targets", "WORD", "auto",
		"targets in private networks: allow, refuse, or auto (allow if the base URL is private itself)",
		"allow", "refuse", "auto")
	settings.Var(fs, &s.targetSchemes, "target-schemes", "LIST", "https,http",
		"schemes that targets may have, separated by commas, such as https,http,mailto,tel; never javascript, data and others that a browser may run",
		engine.ParseTargetSchemes)
}

// ResolveBaseURL returns the origin of the short addresses of a server that listens on address:
// --listen, with the port that was drawn if it is 0.
func (s *Data) ResolveBaseURL(address string) (string, error) {
	if s.BaseURL != "" {
		return s.BaseURL, nil
	}
	if err := s.CheckBaseURL(); err != nil {
		return "", err
	}
	if s.ACMEDomain != "" {
		return "https://" + s.ACMEDomain, nil
	}
	host, _, _ := net.SplitHostPort(s.Listen)
	_, port, err := net.SplitHostPort(address)
	if err != nil {
		return "", err
	}
	if s.Secure {
		return strings.TrimSuffix("https://"+net.JoinHostPort(host, port), ":443"), nil
	}
	return strings.TrimSuffix("http://"+net.JoinHostPort(host, port), ":80"), nil
}

// CheckBaseURL refuses a missing base URL where the address to listen on does not tell it.
func (s *Data) CheckBaseURL() error {
	host, _, _ := net.SplitHostPort(s.Listen)
	if s.BaseURL == "" && s.ACMEDomain == "" && !IsLoopback(host) {
		return settings.UsageErrorf("--base-url is missing: %q (--listen) is not loopback, so the public address "+
			"is unknown; give it as --base-url https://your.domain", s.Listen)
	}
	return nil
}

// IsLoopback reports whether host, an address or a name, can only be this machine.
func IsLoopback(host string) bool {
	if addr, err := netip.ParseAddr(host); err == nil {
		return addr.Unmap().IsLoopback()
	}
	name := strings.ToLower(strings.TrimSuffix(host, "."))
	return name == "localhost" || strings.HasSuffix(name, ".localhost")
}

// parseFloor reads how much space is to stay free.
func parseFloor(text string) (storage.Floor, error) {
	wrong := errors.New("must be auto, off, a share such as 5%, or a size such as 512MiB")
	switch text {
	case "auto":
		return storage.Floor{}, nil
	case "off":
		return storage.Floor{Off: true}, nil
	}
	if share, ok := strings.CutSuffix(text, "%"); ok {
		percent, err := strconv.ParseFloat(share, 64)
		if err != nil || !(percent > 0 && percent < 100) {
			return storage.Floor{}, wrong
		}
		return storage.Floor{Percent: percent}, nil
	}
	n, ok := settings.ParseSize(text)
	if !ok {
		return storage.Floor{}, wrong
	}
	return storage.Floor{Bytes: n}, nil
}

// ParseOrigin returns text as scheme://host[:port], the host in the form that targets are stored
// in.
func ParseOrigin(text string) (string, error) {
	scheme, rest, _ := strings.Cut(text, "://")
	if !strings.EqualFold(scheme, "http") && !strings.EqualFold(scheme, "https") || rest == "" {
		return "", errors.New("must begin with http:// or https:// and a host, such as https://sho.rt")
	}
	u, err := url.Parse(text)
	if err != nil || u.User != nil || strings.TrimSuffix(u.Path, "/") != "" || u.RawQuery != "" || u.ForceQuery || strings.Contains(text, "#") {
		return "", errors.New("must be an origin: scheme, host and port, nothing else, such as https://sho.rt")
	}
	host := u.Host
	if port, ok := defaultPorts[strings.ToLower(u.Scheme)]; ok && u.Port() == port {
		host = strings.TrimSuffix(host, ":"+port)
	}
	return ParseTarget(u.Scheme + "://" + host)
}

// defaultPorts are the ports that an origin does not name, as browsers do not.
var defaultPorts = map[string]string{"http": "80", "https": "443"}

// ParseTarget reads an address that a link could lead to, as people type it.
func ParseTarget(text string) (string, error) {
	target, err := engine.TargetPolicy{Schemes: engine.WebSchemes}.ParseTyped(text)
	if err != nil {
		return "", errors.New(strings.TrimPrefix(err.Error(), "url: "))
	}
	return target, nil
}

func isAddress(host string) bool {
	_, err := netip.ParseAddr(host)
	return err == nil
}

// parseDomain reads a name that an authority can look up.
func parseDomain(text string) (string, error) {
	origin, err := ParseOrigin("https://" + text)
	name := strings.TrimPrefix(origin, "https://")
	if err != nil || strings.ContainsAny(text, ":[]") || !strings.Contains(strings.Trim(name, "."), ".") || isAddress(name) {
		return "", errors.New("must be the name of a domain, such as sho.rt")
	}
	return strings.TrimSuffix(name, "."), nil
}

// CheckFolder refuses a data folder that every user may write to: whoever can replace the socket in
// it gets the passwords that commands send, and whoever can replace the journal invents hits. Its
// group may write to it: Kubernetes gives a volume to a group (fsGroup).
func (s *Data) CheckFolder() error { return s.refuseOpen("data", s.Dir) }

// refuseOpen refuses a folder that every user may write to, unless that is allowed. One that cannot
// be looked at is for whoever opens it to refuse.
func (s *Data) refuseOpen(kind, dir string) error {
	info, err := os.Stat(dir)
	if err != nil || !info.IsDir() || info.Mode().Perm()&0o002 == 0 || s.allowOpen {
		return nil
	}
	return fmt.Errorf("every user of this machine may write to the %s folder %s (mode %04o); run: chmod o-w %s (or, if that is meant, use --allow-open-data)",
		kind, Absolute(dir), info.Mode().Perm(), console.Quote(Absolute(dir)))
}

// Absolute returns the absolute path of dir, or dir itself if the working directory is gone.
func Absolute(dir string) string {
	path, err := filepath.Abs(dir)
	if err != nil {
		return dir
	}
	return path
}
