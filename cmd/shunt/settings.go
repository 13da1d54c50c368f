package main

import (
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/netip"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

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
	journalDir     string
	minFree        storage.Floor
	acceptLoss     bool
	cacheBytes     int64 // 0: the store's default
	listen         string
	baseURL        string
	acmeDomain     string
	secure         bool // the server speaks HTTPS
	privateTargets string
}

// addFolder gives cmd the settings of whoever looks into the data folder.
func addFolder(cmd *cobra.Command, s *dataSettings) {
	addConfig(cmd)
	checkedVar(cmd.Flags(), &s.dataDir, "data", "DIR", defaultDataDir, "folder of the data", parseNotEmpty)
}

func addConfig(cmd *cobra.Command) {
	cmd.Flags().String("config", "", "TOML `FILE` of settings")
}

func addJournal(cmd *cobra.Command, s *dataSettings) {
	cmd.Flags().StringVar(&s.journalDir, "journal-dir", "",
		"`DIR` of the hit journal; may be a tmpfs (default: where it was, at first journal in the data folder)")
}

// addStoreSettings gives cmd the settings of whoever opens a store.
func addStoreSettings(cmd *cobra.Command, s *dataSettings) {
	addFolder(cmd, s)
	addJournal(cmd, s)
	checkedVar(cmd.Flags(), &s.minFree, "min-free-space", "SIZE", "auto",
		"free space below which links are not written, such as 1GiB, 5% or off (auto: the smaller of 512MiB and 5%)", parseFloor)
}

// addDataSettings gives cmd the settings of whoever opens a store and names the links in it.
func addDataSettings(cmd *cobra.Command, s *dataSettings) {
	addStoreSettings(cmd, s)
	fs := cmd.Flags()
	checkedVar(fs, &s.listen, "listen", "ADDRESS", defaultListen, "address of redirects and the API", parseListen)
	checkedVar(fs, &s.baseURL, "base-url", "URL", "",
		"origin of the short addresses, such as https://sho.rt (default: https://<acme-domain>, or http://<listen> if that is loopback)", parseOrigin)
	checkedVar(fs, &s.acmeDomain, "acme-domain", "NAME", "",
		"domain for which an ACME authority (Let's Encrypt) is asked for a certificate, for HTTPS; it must lead to --listen on port 443, "+
			"or to --http-redirect-listen on port 80", parseDomain)
	wordVar(fs, &s.privateTargets, "private-targets", "WORD", "auto",
		"targets in private networks: allow, refuse, or auto (allow if the base URL is private itself)",
		"allow", "refuse", "auto")
}

// resolveBaseURL returns the origin of the short addresses of a server that listens on address: --listen, with the port
// that was drawn if it is 0.
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
		return usageErrorf("--base-url is missing: %q (--listen) is not loopback, so it does not tell the address "+
			"that people will use; give it as --base-url https://your.domain", s.listen)
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
			return usageErrorf("%s and %s are both %s; give them two addresses", other, a.flag, a.address)
		}
		if a.address != "" {
			taken[a.address] = a.flag
		}
	}
	return nil
}

// isLoopback tells whether host, an address or a name, can only be this machine.
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
	n, ok := parseSize(text)
	if !ok {
		return storage.Floor{}, wrong
	}
	return storage.Floor{Bytes: n}, nil
}

// parseSize reads a number of bytes such as 512MiB.
func parseSize(text string) (bytes uint64, ok bool) {
	number := strings.TrimRight(text, "KMGTiB")
	n, err := strconv.ParseUint(number, 10, 32)
	shift, known := sizeUnits[text[len(number):]]
	return n << shift, err == nil && known && n > 0 && n<<shift>>shift == n
}

// sizeUnits are what a size may end in, as powers of two.
var sizeUnits = map[string]uint{"": 0, "B": 0, "KiB": 10, "MiB": 20, "GiB": 30, "TiB": 40}

var errEmpty = errors.New("must not be empty")

func parseNotEmpty(text string) (string, error) {
	if text == "" {
		return "", errEmpty
	}
	return text, nil
}

func parseListen(text string) (string, error) {
	_, port, err := net.SplitHostPort(text)
	if err != nil || port == "" {
		return "", errors.New("must be host:port, such as 127.0.0.1:8080 or :8080")
	}
	if _, err := net.LookupPort("tcp", port); err != nil {
		return "", fmt.Errorf("must have a port from 0 to 65535, and not %q", port)
	}
	return text, nil
}

// parseOrigin returns text as scheme://host[:port], the host in the form that targets are stored in.
func parseOrigin(text string) (string, error) {
	scheme, rest, _ := strings.Cut(text, "://")
	if !strings.EqualFold(scheme, "http") && !strings.EqualFold(scheme, "https") || rest == "" {
		return "", errors.New("must begin with http:// or https:// and a host, such as https://sho.rt")
	}
	u, err := url.Parse(text)
	if err != nil || u.User != nil || strings.TrimSuffix(u.Path, "/") != "" || u.RawQuery != "" || u.ForceQuery || strings.Contains(text, "#") {
		return "", errors.New("must be an origin: scheme, host and port, nothing else, such as https://sho.rt")
	}
	return parseTarget(u.Scheme + "://" + u.Host)
}

// parseTarget reads an address that a link could lead to.
func parseTarget(text string) (string, error) {
	target, err := engine.TargetPolicy{}.Parse(text)
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

// countUpTo parses a number from 1 to most.
func countUpTo(most int) func(text string) (int, error) {
	return func(text string) (int, error) {
		n, err := strconv.Atoi(text)
		if err != nil || n < 1 || n > most {
			return 0, fmt.Errorf("must be a number from 1 to %d", most)
		}
		return n, nil
	}
}

// countOr reads a number from 1 to most, or a word that stands for a number beyond.
func countOr(word string, number, most int) func(text string) (int, error) {
	return func(text string) (int, error) {
		if text == word {
			return number, nil
		}
		n, err := strconv.Atoi(text)
		if err != nil || n < 1 || n > most {
			return 0, fmt.Errorf("must be a number from 1 to %d, or %s", most, word)
		}
		return n, nil
	}
}

func parseHeaderName(text string) (string, error) {
	for _, c := range []byte(text) {
		letter := 'a' <= c|0x20 && c|0x20 <= 'z'
		if !letter && !('0' <= c && c <= '9') && c != '-' && c != '_' {
			return "", errors.New("must be the name of a header")
		}
	}
	return parseNotEmpty(text)
}

func parseLevel(text string) (level slog.Level, err error) {
	if level.UnmarshalText([]byte(text)) != nil {
		return 0, errors.New("must be debug, info, warn or error")
	}
	return level, nil
}

// prefixes is a flag that holds networks and may be repeated.
type prefixes struct{ list *[]netip.Prefix }

var (
	_ pflag.Value      = prefixes{}
	_ pflag.SliceValue = prefixes{}
)

func (p prefixes) Set(text string) error {
	for part := range strings.SplitSeq(text, ",") {
		if err := p.Append(strings.TrimSpace(part)); err != nil {
			return err
		}
	}
	return nil
}

// Append implements pflag.SliceValue.
func (p prefixes) Append(text string) error {
	prefix, err := parsePrefix(text)
	if err == nil {
		*p.list = append(*p.list, prefix)
	}
	return err
}

// Replace implements pflag.SliceValue.
func (p prefixes) Replace(texts []string) error {
	*p.list = nil
	for _, text := range texts {
		if err := p.Append(text); err != nil {
			return err
		}
	}
	return nil
}

// GetSlice implements pflag.SliceValue.
func (p prefixes) GetSlice() []string {
	texts := make([]string, len(*p.list))
	for i, prefix := range *p.list {
		texts[i] = prefix.String()
	}
	return texts
}

func (p prefixes) String() string { return strings.Join(p.GetSlice(), ",") }
func (p prefixes) Type() string   { return "NETWORK" }

// parsePrefix reads a network such as 10.0.0.0/8, or a single address.
func parsePrefix(text string) (netip.Prefix, error) {
	if addr, err := netip.ParseAddr(text); err == nil && addr.Zone() == "" {
		addr = addr.Unmap()
		return netip.PrefixFrom(addr, addr.BitLen()), nil
	}
	prefix, err := netip.ParsePrefix(text)
	if err != nil {
		return netip.Prefix{}, fmt.Errorf("%q is neither an address nor a network such as 10.0.0.0/8", text)
	}
	return prefix.Masked(), nil
}
