package admin

var linkMetrics = []metric{
	{
		name: "shunt_links", help: "Live links, including expired ones.", words: "Links, expired ones too",
		send: func(s *snapshot, out sender) { out.gauge(float64(s.engine.Links)) },
	},
	{
		name: "shunt_tombstones", help: "Deleted links whose codes are still taken or whose data is not purged yet.",
		words: "Deleted links whose codes are still kept",
		send:  func(s *snapshot, out sender) { out.gauge(float64(s.engine.Tombstones)) },
	},
	{
		name: "shunt_link_writes_total", help: "Writes of links, by result: ok, refused or failed.", labels: []string{"op", "result"},
		words: "Changes of links since the start",
	},
	{
		name: "shunt_read_only", help: "1 while links cannot be written because disk space is low.", unit: YesNo,
		words: "Read-only because the disk is almost full",
		send:  func(s *snapshot, out sender) { out.gauge(oneIf(s.readOnly)) },
	},
	{
		name: "shunt_ready", help: "1 while /readyz says that the server is ready; 0 while it loads or shuts down.", unit: YesNo,
		words: "Ready",
		send:  func(s *snapshot, out sender) { out.gauge(oneIf(s.ready)) },
	},
	{
		name: "shunt_loading_ratio", help: "Share of the links that are in memory: it rises to 1 after a start.", unit: Ratio,
		words: "Links in memory",
		send:  func(s *snapshot, out sender) { out.gauge(s.loaded) },
	},
}

var redirectMetrics = []metric{
	{
		name: "shunt_hits_total", help: "Requests for links that work, by kind. All are redirected but prefetches, so that the click after one counts.", labels: []string{"class"},
		words:  "Requests for links that work since the start, by who asked",
		values: []wording{{"hit", "visitors (hits)"}, {"bot", "bots"}, {"prefetch", "prefetches of browsers, which are not redirected"}, {"head", "HEAD requests"}},
		send: func(s *snapshot, out sender) {
			for class, n := range s.engine.Redirects {
				out.counter(n, hitClasses[class])
			}
		},
	},
	{
		name:  "shunt_redirect_duration_seconds",
		help:  "Time from reading a request for a code to handing its answer to the kernel. Under load 1 of 16 wake-ups is measured, and counts 16 times.",
		words: "Answers to requests for codes", unit: Seconds,
		send: func(s *snapshot, out sender) { out.exponential(s.latency) },
	},
	{
		name: "shunt_redirects_total", help: "Redirects answered, by HTTP status.", labels: []string{"status"},
		words: "Redirects since the start, by status",
		send:  func(s *snapshot, out sender) { out.counters(s.front.Redirects) },
	},
	{
		name: "shunt_redirect_misses_total", help: "Requests for codes that were not redirected, by reason.", labels: []string{"reason"},
		words: "Requests without a redirect since the start, by reason",
		values: []wording{
			{"not_found", "unknown code"}, {"disabled", "link disabled"}, {"expired", "link expired"}, {"exhausted", "limit of hits reached"}, {"scheduled", "not started yet"}, {"locked", "a password is asked for"},
			{"fallback", "link over, and sent to its expired_url"},
			{"loading", "links were still loading"}, {"method", "wrong method"}, {"too_long", "address too long with its query"},
			{"blocked", "target blocked"}, {"elsewhere", "the cluster could not count a hit of a link with a limit"},
		},
		send: func(s *snapshot, out sender) { out.counters(s.front.Misses) },
	},
	{
		name: "shunt_domain_hits_total", labels: []string{"domain"},
		help:  "Hits by domain (shunt_hits_total of the class hit), if there are several domains. The 101st domain and later ones are other.",
		words: "Hits since the start, by domain",
		send: func(s *snapshot, out sender) {
			out.byDomain(s.front.Domains, func(d *DomainCounts) uint64 { return d.Hits })
		},
	},
	{
		name: "shunt_domain_misses_total", labels: []string{"domain"},
		help:  "Requests for codes that were not redirected by domain (shunt_redirect_misses_total of all reasons), if there are several domains. The 101st domain and later ones are other.",
		words: "Requests without a redirect since the start, by domain",
		send: func(s *snapshot, out sender) {
			out.byDomain(s.front.Domains, func(d *DomainCounts) uint64 { return d.Misses })
		},
	},
}

// byDomain sends a count of the first domains, and the sum of the others' as that of otherDomains.
func (o sender) byDomain(all []DomainCounts, count func(*DomainCounts) uint64) {
	sum, first := uint64(0), 0
	for i := range all {
		if first == maxDomainLabels || all[i].Host == otherDomains {
			sum += count(&all[i])
			continue
		}
		o.counter(count(&all[i]), all[i].Host)
		first++
	}
	if first < len(all) {
		o.counter(sum, otherDomains)
	}
}

// hitClasses are the labels of engine.Class.
var hitClasses = [4]string{"hit", "bot", "prefetch", "head"}
