package main

import (
	"errors"
	"fmt"
	"io"
	"math/bits"
	"net"
	"net/netip"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"shunt/cmd/shunt/settings"
	"shunt/engine"
	"shunt/storage"
)

// The settings that more than one command takes, and how their texts are read.

const (
	defaultDataDir     = "./shunt-data"
	defaultListen      = "127.0.0.1:8080"
	defaultAdminListen = "127.0.0.1:8081"

	minFlushInterval = 10 * time.Millisecond // below it the disk does nothing but fsync
	maxFlushInterval = time.Hour             // the journal is long full by then
)

// dataSettings say where the data is and how links in it are written.
type dataSettings struct {
	dataDir        string
	allowOpen      bool // dataDir and journalDir may be writable by every user
	journalDir     string
	minFree        storage.Floor
	acceptLoss     bool
	cacheBytes     int64 // 0: the store's default
	memTableBytes  int64 // 0: the store's default
	listen         string
	baseURL        string
	acmeDomain     string
	secure         bool // the server speaks HTTPS
	privateTargets string
}

// addFolder gives cmd the settings of commands that read the data folder.
func addFolder(cmd *cobra.Command, s *dataSettings) {
	addConfig(cmd)
	settings.Var(cmd.Flags(), &s.dataDir, "data", "DIR", defaultDataDir, "data folder", settings.ParseNotEmpty)
	cmd.Flags().BoolVar(&s.allowOpen, "allow-open-data", false,
		"use a data or journal folder that every user of this machine may write to")
	hide(cmd.Flags(), "allow-open-data") // only the help of serve shows it
}

func addConfig(cmd *cobra.Command) {
	cmd.Flags().String("config", "", "TOML `FILE` of settings")
}

func addJournal(cmd *cobra.Command, s *dataSettings) {
	cmd.Flags().StringVar(&s.journalDir, "journal-dir", "",
		"`DIR` of the hit journal; may be a tmpfs (default: where it was; at first, journal in the data folder)")
}

// addStoreSettings gives cmd the settings of commands that open a store.
func addStoreSettings(cmd *cobra.Command, s *dataSettings) {
	addFolder(cmd, s)
	addJournal(cmd, s)
	settings.Var(cmd.Flags(), &s.minFree, "min-free-space", "SIZE", "auto",
		"free space below which no links are written, such as 1GiB, 5% or off (auto: the smaller of 512MiB and 5%)", parseFloor)
}

// addDataSettings gives cmd the settings of commands that open a store and print addresses of its
// links.
func addDataSettings(cmd *cobra.Command, s *dataSettings) {
	addStoreSettings(cmd, s)
	fs := cmd.Flags()
	settings.Var(fs, &s.listen, "listen", "ADDRESS", defaultListen, "address of redirects and the API", settings.ParseListen)
	settings.Var(fs, &s.baseURL, "base-url", "URL", "",
		"origin of the short addresses, such as https://sho.rt (default: https://<acme-domain>, or http://<listen> if that is loopback)", parseOrigin)
	settings.Var(fs, &s.acmeDomain, "acme-domain", "NAME", "",
		"domain for which an ACME authority (Let's Encrypt) is asked for a certificate, for HTTPS; it must lead to --listen on port 443, "+
			"or to --http-redirect-listen on port 80", parseDomain)
	settings.WordVar(fs, &s.privateTargets, "private-targets", "WORD", "auto",
		"targets in private networks: allow, refuse, or auto (allow if the base URL is private itself)",
		"allow", "refuse", "auto")
}

// resolveBaseURL returns the origin of the short addresses of a server that listens on address:
// --listen, with the port that was drawn if it is 0.
func (s *dataSettings) resolveBaseURL(address string) (string, error) {
	if s.baseURL != "" {
		return s.baseURL, nil
	}
	if err := s.checkBaseURL(); err != nil {
		return "", err
	}
	if s.acmeDomain != "" {
		return "https://" + s.acmeDomain, nil
	}
	host, _, _ := net.SplitHostPort(s.listen)
	_, port, err := net.SplitHostPort(address)
	if err != nil {
		return "", err
	}
	if s.secure {
		return strings.TrimSuffix("https://"+net.JoinHostPort(host, port), ":443"), nil
	}
	return strings.TrimSuffix("http://"+net.JoinHostPort(host, port), ":80"), nil
}

// checkBaseURL refuses a missing base URL where the address to listen on does not tell it.
func (s *dataSettings) checkBaseURL() error {
	host, _, _ := net.SplitHostPort(s.listen)
	if s.baseURL == "" && s.acmeDomain == "" && !isLoopback(host) {
		return settings.UsageErrorf("--base-url is missing: %q (--listen) is not loopback, so the public address "+
			"is unknown; give it as --base-url https://your.domain", s.listen)
	}
	return nil
}

// checkAddresses refuses two addresses of which the second could not be listened on.
func (cfg *serveConfig) checkAddresses() error {
	taken := map[string]string{}
	for _, a := range []struct{ flag, address string }{
		{"--listen", cfg.data.listen}, {"--admin-listen", cfg.adminListen}, {"--http-redirect-listen", cfg.https.redirectListen},
	} {
		_, port, _ := net.SplitHostPort(a.address)
		if other := taken[a.address]; other != "" && port != "0" {
			return settings.UsageErrorf("%s and %s are both %s; give each its own address", other, a.flag, a.address)
		}
		if a.address != "" {
			taken[a.address] = a.flag
		}
	}
	return nil
}

// isLoopback reports whether host, an address or a name, can only be this machine.
func isLoopback(host string) bool {
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

// parseOrigin returns text as scheme://host[:port], the host in the form that targets are stored
// in.
func parseOrigin(text string) (string, error) {
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
	return parseTarget(u.Scheme + "://" + host)
}

// defaultPorts are the ports that an origin does not name, as browsers do not.
var defaultPorts = map[string]string{"http": "80", "https": "443"}

// parseTarget reads an address that a link could lead to, as people type it.
func parseTarget(text string) (string, error) {
	target, err := engine.TargetPolicy{}.ParseTyped(text)
	if err != nil {
		return "", errors.New(strings.TrimPrefix(err.Error(), "url: "))
	}
	return target, nil
}

func parseFlushInterval(text string) (time.Duration, error) {
	d, err := time.ParseDuration(text)
	if err != nil {
		return 0, errors.New("must be a duration such as 1s or 250ms")
	}
	if d < minFlushInterval || d > maxFlushInterval {
		return 0, fmt.Errorf("must be from %v to %v", minFlushInterval, maxFlushInterval)
	}
	return d, nil
}

// loadSettings gives cmd's flags the values of the environment and of the file of --config, if cmd
// takes settings at all.
func loadSettings(cmd *cobra.Command, environ []string, stderr io.Writer) error {
	if cmd.Flags().Lookup("config") == nil {
		return nil
	}
	return settings.Apply(cmd.Flags(), knownSettings(cmd.Root()), environ, stderr)
}

// knownSettings returns the settings of every command, so that one file and one environment serve
// them all.
func knownSettings(root *cobra.Command) map[string]*pflag.Flag {
	known := map[string]*pflag.Flag{}
	for _, cmd := range commandsOf(root) {
		cmd.Flags().VisitAll(func(f *pflag.Flag) {
			if settings.IsSetting(f) {
				known[f.Name] = f
			}
		})
	}
	return known
}

const (
	minCacheBytes     = 8 << 20
	maxCacheBytes     = 1 << (30 + bits.UintSize/64*10) // 1 GiB on a 32-bit machine
	cacheSizeByMemory = 0                               // --cache-size auto
)

// parseCacheSize reads --cache-size.
func parseCacheSize(text string) (int64, error) {
	if text == "auto" {
		return cacheSizeByMemory, nil
	}
	n, ok := settings.ParseSize(text)
	if !ok || n < minCacheBytes || n > maxCacheBytes {
		return 0, errors.New("must be auto, or a size from 8MiB to 1TiB, such as 256MiB; on a 32-bit machine to 1GiB")
	}
	return int64(n), nil
}
