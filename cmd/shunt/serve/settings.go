package serve

import (
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/netip"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"shunt/api"
	"shunt/api/admin"
	"shunt/api/auth"
	"shunt/api/doors"
	"shunt/api/limit"
	"shunt/cmd/shunt/core"
	"shunt/cmd/shunt/edge"
	"shunt/cmd/shunt/settings"
	"shunt/engine"
	"shunt/engine/zone"
)

// serveConfig has the settings of serve.
type serveConfig struct {
	data           core.Data
	adminListen    string
	adminHosts     []string
	trustedProxies []netip.Prefix
	clientIPHeader string
	geoIP          string
	blockList      string
	rootRedirect   string
	brand          brandSettings
	noDashboard    bool
	fetchTitles    bool
	doors          []string
	languageFiles  []string
	front          string
	countryHeader  string
	hostHeader     string
	flushInterval  time.Duration
	cacheSize      int64
	memoryLimit    int64 // bytes, or memoryLimitByMemory or noMemoryLimit
	keptHours      int
	keptDays       int
	timeZone       *zone.Zone // of kept days; nil: the store's
	connections    int        // 0: as many as there are descriptors for
	perAddress     int        // negative: no limit
	rateLimits     limit.Limits
	https          httpsSettings
	allowHTTP      bool
	corsOrigins    []string
	pprof          bool
	logFormat      string
	logLevel       slog.Level
	logs           logSettings
	audit          auditSettings
	addNode        Cluster
	node           NodeSettings // nil if addNode is
	edge           edge.Settings
	backups        backupSettings
}

// addServeSettings gives cmd the settings of serve.
func addServeSettings(cmd *cobra.Command, cfg *serveConfig) {
	core.AddDataSettings(cmd, &cfg.data)
	fs := cmd.Flags()
	fs.Lookup("allow-open-data").Hidden = false
	settings.Var(fs, &cfg.adminListen, "admin-listen", "ADDRESS", core.DefaultAdminListen,
		"address of /metrics, /healthz and /readyz", settings.ParseListen)
	fs.StringSliceVar(&cfg.adminHosts, "admin-host", nil,
		"host `NAME` that the admin address answers to, such as that of a proxy in front of it; may be repeated or "+
			"a list with commas (default: on loopback only localhost and loopback addresses, elsewhere any name)")
	fs.Var(settings.Networks(&cfg.trustedProxies), "trusted-proxy",
		"address or network of a proxy to trust; may be repeated or a list with commas")
	settings.Var(fs, &cfg.clientIPHeader, "client-ip-header", "HEADER", "X-Forwarded-For",
		"the header in which a trusted proxy names the client", settings.ParseHeaderName)
	fs.StringVar(&cfg.geoIP, "geoip", "", "`FILE` in MaxMind's DB format for the countries of visitors; read again when it changes (within a minute) and on SIGHUP")
	settings.Var(fs, &cfg.countryHeader, "country-header", "HEADER", "",
		"the header in which a trusted proxy gives the country of the visitor, such as CF-IPCountry; it takes precedence over --geoip",
		settings.ParseHeaderName)
	settings.Var(fs, &cfg.hostHeader, "host-header", "HEADER", "",
		"the header in which a trusted proxy gives the host that the visitor asked for, such as X-Forwarded-Host; its last value counts, and takes precedence over Host",
		settings.ParseHeaderName)
	fs.StringVar(&cfg.blockList, "block-list", "",
		"`FILE` of hosts and address prefixes, one per line, that no link may lead to; read again when it changes")
	settings.Var(fs, &cfg.rootRedirect, "root-redirect", "URL", "", "where / redirects to (default: a page)", core.ParseTarget)
	addBrandSettings(fs, &cfg.brand)
	settings.BoolVar(fs, &cfg.noDashboard, "no-dashboard", "serve no dashboard: under /_/ only the reference of the API and the logo")
	settings.BoolVar(fs, &cfg.fetchTitles, "fetch-titles",
		"let users have the server ask for the titles and icons of targets, on the public internet only (default: it asks nobody)")
	addLanguages(fs, &cfg.languageFiles)
	fs.StringSliceVar(&cfg.doors, "doors", nil,
		"`NAMES` of other link shorteners whose clients this server answers as their own would, at the base URL, with its tokens as their API keys; "+
			"some of "+strings.Join(doors.Names(), ", ")+", with commas; yourls:unique refuses a repeated target (default: none)")
	settings.CompleteWords(fs, "doors", doors.Names()...)
	settings.Var(fs, &cfg.flushInterval, "flush-interval", "DURATION", engine.DefaultFlushInterval.String(),
		"how often hits are written; a power cut loses at most this much", parseFlushInterval)
	settings.Var(fs, &cfg.cacheSize, "cache-size", "SIZE", "auto",
		"memory for cached blocks of the store, such as 256MiB (auto: a sixteenth of the memory, from 64MiB to 1GiB)", parseCacheSize)
	addMemoryLimit(fs, &cfg.memoryLimit)
	settings.Var(fs, &cfg.keptHours, "keep-hours", "N", strconv.Itoa(engine.DefaultKeptHours),
		"how many hours to keep hourly figures; hours in which the server is off do not count", settings.CountUpTo(engine.MaxKeptHours))
	settings.Var(fs, &cfg.keptDays, "keep-days", "N", strconv.Itoa(engine.DefaultKeptDays),
		"how many days to keep daily figures, not counting those in which the server is off; the figures of a link's whole life are always kept", settings.CountUpTo(engine.MaxKeptDays))
	settings.Var(fs, &cfg.timeZone, "time-zone", "NAME", "",
		"time zone of the kept days, such as Europe/Berlin; fixed for a store at its first start (default: the store's; UTC for a new one)", zone.Load)
	addAuditSettings(fs, &cfg.audit)
	settings.Var(fs, &cfg.connections, "max-connections", "N", "auto",
		"most clients connected at once (auto: 32768, or as many as file descriptors allow)",
		settings.CountOr("auto", 0, api.MaxConnections))
	settings.Var(fs, &cfg.perAddress, "max-connections-per-address", "N", strconv.Itoa(api.DefaultPerAddress),
		"most connections from one address or one IPv6 /64; this machine and trusted proxies have no limit; or off",
		settings.CountOr("off", -1, api.MaxConnections))
	addRateLimits(fs, &cfg.rateLimits)
	addHTTPSSettings(fs, &cfg.https)
	settings.WordVar(fs, &cfg.front, "front", "DOOR", "auto",
		"who answers redirects: auto (event loops of our own on Linux, the fastest way) or fasthttp", "auto", "fasthttp")
	fs.StringSliceVar(&cfg.corsOrigins, "cors-origin", nil,
		"`ORIGIN` whose pages may call the API with tokens, such as https://app.example, or *; may be repeated or a list with commas (default: none)")
	settings.BoolVar(fs, &cfg.allowHTTP, "allow-http", "accept tokens over plain HTTP from anywhere (in a network that you trust)")
	settings.BoolVar(fs, &cfg.data.AcceptLoss, "accept-loss",
		"start even if the store has lost acknowledged writes, and go on without them")
	settings.BoolVar(fs, &cfg.pprof, "pprof", "serve /debug/pprof on the admin address even if that is not loopback")
	settings.WordVar(fs, &cfg.logFormat, "log-format", "FORMAT", "text", "text or json", "text", "json")
	settings.Var(fs, &cfg.logLevel, "log-level", "LEVEL", "info", "debug, info, warn or error", settings.ParseLevel)
	settings.CompleteWords(fs, "log-level", "debug", "info", "warn", "error")
	addLogSettings(fs, &cfg.logs)
	edge.Add(fs, &cfg.edge)
	addBackupSettings(fs, &cfg.backups)
	if cfg.addNode != nil {
		cfg.node = cfg.addNode(fs)
	}
}

// check refuses settings that contradict each other.
func (cfg *serveConfig) check() error {
	if err := cfg.checkAddresses(); err != nil {
		return err
	}
	if cfg.countryHeader != "" && len(cfg.trustedProxies) == 0 {
		return settings.UsageErrorf("--country-header needs --trusted-proxy: only a trusted proxy is believed about the country of a visitor")
	}
	if cfg.hostHeader != "" && len(cfg.trustedProxies) == 0 {
		return settings.UsageErrorf("--host-header needs --trusted-proxy: only a trusted proxy is believed about the host that a visitor asked for")
	}
	if err := auth.CheckCORSOrigins(cfg.corsOrigins); err != nil {
		return settings.UsageErrorf("--cors-origin: %w", err)
	}
	if _, err := doors.Named(cfg.doors); err != nil {
		return settings.UsageErrorf("--doors: %w", err)
	}
	if _, err := admin.ParseHosts(cfg.adminHosts); err != nil {
		return settings.UsageErrorf("--admin-host: %w", err)
	}
	if err := cfg.https.check(&cfg.data); err != nil {
		return err
	}
	if cfg.node != nil {
		if err := cfg.node.Check(); err != nil {
			return err
		}
	}
	if err := cfg.edge.Check(cfg.allowHTTP); err != nil {
		return err
	}
	if err := cfg.backups.check(cfg.edge.Of != "" || cfg.node != nil && cfg.node.OfEdge()); err != nil {
		return err
	}
	return cfg.data.CheckBaseURL()
}

// checkAddresses refuses two addresses of which the second could not be listened on.
func (cfg *serveConfig) checkAddresses() error {
	taken := map[string]string{}
	for _, a := range []struct{ flag, address string }{
		{"--listen", cfg.data.Listen}, {"--admin-listen", cfg.adminListen}, {"--http-redirect-listen", cfg.https.redirectListen},
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

const (
	minFlushInterval = 10 * time.Millisecond // below it the disk does nothing but fsync
	maxFlushInterval = time.Hour             // the journal is long full by then
)

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
