package api

import (
	"fmt"
	"maps"
	"net"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil/promlint"

	"shunt/api/admin"
	"shunt/api/domain"
	"shunt/engine/expect"
)

// contractMetrics are the metrics of the contract with their labels, without the prefix shunt_.
// What follows the empty line is promised to alerts and dashboards besides.
var contractMetrics = `
redirects_total{status} redirect_misses_total{reason} hits_total{class} request_duration_seconds{route}
http_requests_total{route,method,code} connections rate_limited_total{scope} auth_failures_total links
link_writes_total{op,result} engine_bytes{part} sketches{kind} journal_fill_ratio journal_standby
journal_replayed_records flush_duration_seconds flush_errors_total last_flush_timestamp_seconds read_only
build_info{version,goversion} storage_disk_bytes

certificate_expiry_timestamp_seconds acme_state{state} acme_failures_total domain_certificate_expiry_timestamp_seconds{domain} domain_certificate_failures{domain} domain_hits_total{domain} domain_misses_total{domain}
last_backup_timestamp_seconds last_backup_duration_seconds last_backup_size_bytes
offsite_backup_timestamp_seconds offsite_backup_interval_seconds offsite_backup_duration_seconds offsite_backup_sent_bytes_total
offsite_backup_failures_total
block_list_entries block_list_loaded_timestamp_seconds block_list_load_duration_seconds block_list_failing
geoip_loaded_timestamp_seconds geoip_failing
rollup_lag_seconds sessions clock_trusted clock_jumps_total ready loading_ratio start_time_seconds flush_interval_seconds redirect_duration_seconds
memory_limit_bytes memory_used_bytes{part} memory_full access_log_dropped_total shed_total{kind}
last_reload_timestamp_seconds reload_failures_total journal_unprotected_records hit_parts_lost_total{part}

cluster_role{role} cluster_epoch cluster_sequence{which} cluster_lag_seconds cluster_stale cluster_append_seconds cluster_outbox_bytes
cluster_outbox_age_seconds cluster_pull_behind_records{node} cluster_pull_behind_bytes{node} cluster_pull_behind_seconds{node}
cluster_lacks_hits cluster_etcd_bytes{which} cluster_writes_refused
storage_free_bytes storage_min_free_bytes storage_write_stalled storage_write_stalls_total
storage_commit_wait_seconds storage_compaction_debt_bytes storage_l0_sublevels storage_cache_room_bytes storage_cache_hits_total
storage_cache_misses_total storage_commit_duration_seconds storage_commit_mutations
storage_mutations_total storage_commit_batches_total
`

// manyDomains returns more domains than have labels.
func manyDomains(at time.Time) (all []admin.DomainCertificate) {
	for i := range 103 {
		all = append(all, admin.DomainCertificate{Host: fmt.Sprintf("d%03d.test", i), NotAfter: at.Add(time.Duration(-i) * time.Second), Failures: i % 3})
	}
	return all
}

// allSources returns a change of options that gives them every source of figures.
func allSources(t *testing.T) func(*Options) {
	at := time.Unix(1_700_000_000, 0)
	return func(o *Options) {
		blocking(t, o, "evil.example\n")
		o.Metrics = admin.Sources{
			Store: func() admin.Storage { return wholeStorage(at) },
			Certificate: func() admin.Certificate {
				return admin.Certificate{NotAfter: at, ACME: true, State: admin.ACMEFailing, Failures: 7}
			},
			Domains: func() []admin.DomainCertificate { return manyDomains(at) },
			Memory: func() admin.Memory {
				return admin.Memory{Limit: 9, Used: []admin.Count{{Label: "heap", N: 8}}, Full: true}
			},
			Countries:     func() admin.CountryFile { return admin.CountryFile{LoadedAt: at, Failing: true} },
			AccessDropped: func() uint64 { return 10 },
			Backup:        func() admin.Backup { return admin.Backup{At: at, Took: time.Second, Bytes: 12} },
			Offsite: func() admin.Offsite {
				return admin.Offsite{LastAt: at, Took: time.Second, Every: 5 * time.Minute, SentBytes: 14, Failures: 15}
			},
			Cluster: func() admin.Cluster {
				return admin.Cluster{
					Role: "leader", Epoch: 2, Applied: 3, Head: 4, Lag: 5, Append: admin.Buckets{Bounds: []float64{1}, Counts: []uint64{1, 2}, Sum: 3},
					OutboxBytes: 7, OutboxAge: 8, Pulls: []admin.ClusterPull{{Node: "b", Records: 9, Bytes: 10, Seconds: 11}},
					Etcd: &admin.ClusterServer{Used: 12, Size: 13, Quota: 14}, WritesRefused: true, LacksHits: true, CertificateEnds: at,
				}
			},
			Edges: func() []admin.Edge {
				return []admin.Edge{{Name: "frankfurt", Silent: 1, Lag: 2, WaitingHits: 3, WaitingBytes: 4, ServesTill: at}}
			},
			Reloads: func() admin.Reloads { return admin.Reloads{LastAt: at, Failures: 13} },
		}
	}
}

// wholeStorage reports every figure of a store. Its oldest hour ended at rollUpWaits.
func wholeStorage(rollUpWaits time.Time) admin.Storage {
	s := admin.Storage{Values: map[string]float64{}, Histograms: map[string]admin.Buckets{}, RollUpWaits: &rollUpWaits}
	for i, name := range admin.StoreNames() {
		s.Values[name] = float64(i)
	}
	for _, name := range []string{"commit_duration_seconds", "commit_mutations"} {
		delete(s.Values, name)
		s.Histograms[name] = admin.Buckets{Bounds: []float64{1, 2}, Counts: []uint64{3, 4, 5}, Sum: 36}
	}
	return s
}

// A sample is a line of /metrics.
var sample = regexp.MustCompile(`^([a-z_0-9]+)(?:\{(.*)\})? (\S+)$`)

var labelPair = regexp.MustCompile(`([a-z]+)="([^"]*)"`)

// samples returns the lines of /metrics that are not comments, as matches of sample.
func (st *site) samples() (lines [][]string) {
	st.t.Helper()
	for line := range strings.Lines(st.metricsText()) {
		if strings.HasPrefix(line, "#") {
			continue
		}
		m := sample.FindStringSubmatch(strings.TrimSpace(line))
		expect.MustThat(st.t, m != nil, "not a sample: %q", line)
		lines = append(lines, m)
	}
	return lines
}

func TestTheContractsMetricsAreAllThere(t *testing.T) {
	st := newSite(t, allSources(t))
	st.addDomain(domain.Domain{Host: "d000.test"})
	st.shorten(`{"url":"http://a/","alias":"x"}`)
	st.get("/x", browser)
	st.get("/none")
	got := map[string]string{} // labels by name
	for _, m := range st.samples() {
		name := strings.TrimPrefix(m[1], "shunt_")
		if base, suffix := name[:strings.LastIndexByte(name, '_')+1], name[strings.LastIndexByte(name, '_')+1:]; base != "" && slices.Contains([]string{"bucket", "sum", "count"}, suffix) {
			name = strings.TrimSuffix(base, "_")
		}
		var labels []string
		for _, pair := range labelPair.FindAllStringSubmatch(m[2], -1) {
			if pair[1] != "le" && pair[1] != "quantile" {
				labels = append(labels, pair[1])
			}
		}
		slices.Sort(labels)
		got[name] = strings.Join(labels, ",")
	}
	for _, want := range strings.Fields(contractMetrics) {
		name, labels, _ := strings.Cut(strings.TrimSuffix(want, "}"), "{")
		sorted := strings.Split(labels, ",")
		slices.Sort(sorted)
		has, there := got[name]
		expect.That(t, there && has == strings.Join(sorted, ","), "shunt_%s: there is %v, with the labels {%s}", want, there, has)
	}
	for line, want := range map[string]string{
		"shunt_certificate_expiry_timestamp_seconds": "1.7e+09", `shunt_acme_state{state="failing"}`: "1", `shunt_acme_state{state="valid"}`: "0",
		`shunt_domain_certificate_expiry_timestamp_seconds{domain="d001.test"}`: "1.699999999e+09", `shunt_domain_certificate_failures{domain="d002.test"}`: "2",
		`shunt_domain_certificate_expiry_timestamp_seconds{domain="other"}`: "1.699999898e+09", `shunt_domain_certificate_failures{domain="other"}`: "2",
		`shunt_domain_certificate_failures{domain="d100.test"}`: "none",
		"shunt_acme_failures_total":                             "7", `shunt_memory_used_bytes{part="heap"}`: "8", "shunt_memory_full": "1", "shunt_access_log_dropped_total": "10",
		`shunt_shed_total{kind="creates"}`: "0", "shunt_last_backup_timestamp_seconds": "1.7e+09", "shunt_last_backup_size_bytes": "12",
		"shunt_offsite_backup_timestamp_seconds": "1.7e+09", "shunt_offsite_backup_interval_seconds": "300", "shunt_offsite_backup_sent_bytes_total": "14",
		"shunt_offsite_backup_failures_total": "15",
		"shunt_loading_ratio":                 "1", "shunt_reload_failures_total": "13", "shunt_block_list_entries": "1", "shunt_ready": "1",
		"shunt_geoip_loaded_timestamp_seconds": "1.7e+09", "shunt_geoip_failing": "1",
		`shunt_storage_commit_mutations_bucket{le="2"}`: "7", "shunt_storage_commit_mutations_count": "12", "shunt_storage_commit_mutations_sum": "36",
	} {
		expect.Equal(t, st.metric(line), want, line)
	}
}

func TestRedirectsAreMeasuredByEveryDoor(t *testing.T) {
	for _, front := range []Front{FrontAuto, FrontFasthttp} {
		st := newSite(t, func(o *Options) { o.Front = front })
		st.shorten(`{"url":"http://a/","alias":"x"}`)
		for range 5 {
			st.get("/x", browser)
		}
		st.get("/none")
		for st.metric("shunt_redirect_duration_seconds_count") != "6" {
			runtime.Gosched() // the loop sends an answer before it notes how long that took
		}
		expect.Equal(t, st.metric(`shunt_redirect_duration_seconds_bucket{le="16"}`), "6", "front %d answers within 16 s", front)
		native := send(t, st.adminAt, "GET", requestText("GET", "/metrics", "",
			"Accept: application/vnd.google.protobuf;proto=io.prometheus.client.MetricFamily;encoding=delimited"))
		expect.That(t, strings.HasPrefix(native.header.Get("Content-Type"), "application/vnd.google.protobuf") &&
			strings.Contains(native.body, "shunt_redirect_duration_seconds"), "got %d %s", native.status, native.header.Get("Content-Type"))
	}
}

func TestAFigureWithoutASourceIsAbsent(t *testing.T) {
	st := newSite(t, nil)
	for _, m := range st.samples() {
		for _, prefix := range []string{"shunt_certificate", "shunt_acme", "shunt_domain", "shunt_cluster", "shunt_last_backup", "shunt_offsite", "shunt_block", "shunt_memory", "shunt_access", "shunt_last_reload", "shunt_storage"} {
			expect.That(t, !strings.HasPrefix(m[1], prefix), "%s is %s, although nothing reports it", m[1], m[3])
		}
	}
}

// TestDomainsAreCountedApart asks for links and codes of three domains, by every door.
func TestDomainsAreCountedApart(t *testing.T) {
	everyDoor(t, nil, func(t *testing.T, st *site, dial func() net.Conn) {
		st.withThree()
		st.call("POST", "/shorten", `{"url":"https://a.example/","alias":"off","domain":"a.test","disabled":true}`).need(t, "", 201)
		for host, n := range map[string]int{"a.test": 3, "www.b.test": 2, "unknown.test": 1} {
			for range n {
				sendOn(t, dial, "GET /x HTTP/1.1\r\nHost: "+host+"\r\n"+browser+"\r\n\r\n")
			}
		}
		sendOn(t, dial, "GET /x HTTP/1.1\r\nHost: a.test\r\nUser-Agent: Twitterbot/1.0\r\n\r\n")
		sendOn(t, dial, "GET /x HTTP/1.1\r\nHost: a.test\r\n"+browser+"\r\nPurpose: prefetch\r\n\r\n")
		for _, path := range []string{"/nobody", "/off", "/no/body", "/nobody"} {
			askAs(t, dial, "a.test", path)
		}
		askAs(t, dial, "b.test", "/x+") // a page about a link counts nothing
		askAs(t, dial, "other.test", "/nobody")
		askAs(t, dial, "other.test", "/no/body")
		st.call("GET", "/stats/x", "").need(t, "what folds the hits", 200)
		for line, want := range map[string]string{
			`shunt_domain_hits_total{domain="127.0.0.1:8080"}`: "1", `shunt_domain_misses_total{domain="127.0.0.1:8080"}`: "2",
			`shunt_domain_hits_total{domain="a.test"}`: "3", `shunt_domain_misses_total{domain="a.test"}`: "4",
			`shunt_domain_hits_total{domain="b.test"}`: "2", `shunt_domain_misses_total{domain="b.test"}`: "0",
			`shunt_domain_hits_total{domain="other"}`: "none", `shunt_hits_total{class="hit"}`: "6",
			`shunt_redirect_misses_total{reason="not_found"}`: "5", `shunt_redirect_misses_total{reason="disabled"}`: "1",
		} {
			expect.Equal(t, st.metric(line), want, line)
		}
	})
}

// TestTheFirstHundredDomainsHaveValuesOfTheirOwn has 103 domains.
func TestTheFirstHundredDomainsHaveValuesOfTheirOwn(t *testing.T) {
	st := newSite(t, nil)
	for i := range 102 {
		st.addDomain(domain.Domain{Host: fmt.Sprintf("d%03d.test", 101-i)})
	}
	for _, host := range []string{"d000.test", "d098.test", "d099.test", "d101.test"} {
		st.call("POST", "/shorten", fmt.Sprintf(`{"url":"https://a.example/","alias":"x","domain":%q}`, host)).need(t, host, 201)
		for _, path := range []string{"/x", "/nobody"} {
			send(t, st.publicAt, "GET", "GET "+path+" HTTP/1.1\r\nHost: "+host+"\r\n"+browser+"\r\n\r\n")
		}
	}
	st.call("GET", "/stats/x?domain=d101.test", "").need(t, "what folds the hits", 200)
	for _, name := range []string{"shunt_domain_hits_total", "shunt_domain_misses_total"} {
		for host, want := range map[string]string{
			"127.0.0.1:8080": "0", "d000.test": "1", "d001.test": "0", "d098.test": "1", "d099.test": "none", "d101.test": "none", "other": "2",
		} {
			expect.Equal(t, st.metric(fmt.Sprintf("%s{domain=%q}", name, host)), want, "%s of %s", name, host)
		}
	}
}

func TestPrometheusLinterFindsNothingToSay(t *testing.T) {
	st := newSite(t, allSources(t))
	st.addDomain(domain.Domain{Host: "d000.test"})
	st.shorten(`{"url":"http://a/","alias":"x"}`)
	st.get("/x", browser)
	problems, err := promlint.New(strings.NewReader(st.metricsText())).Lint()
	expect.NoError(t, err)
	for _, p := range problems {
		t.Errorf("%s: %s", p.Metric, p.Text)
	}
}

// closedLabels are the values that each label may have, as a regular expression. Routes are those
// of the server, each of which has its metric from the start.
var closedLabels = map[string]string{
	"status": `30[1278]`, "class": `hit|bot|prefetch|head`, "method": `GET|HEAD|POST|PUT|PATCH|DELETE|OPTIONS|other`, "code": `[1-5]\d\d`,
	"reason": `[a-z_]{4,13}`, "role": `leader|follower|edge`, "which": `applied|head|used|size|quota`, "node": `[a-z0-9-]{1,63}`, "edge": `[a-z0-9-]{1,63}`, "scope": `creates|calls|logins|misses|unlocks`, "op": `create|update|delete`, "result": `ok|refused|failed|opened|wrong|limited|overloaded`,
	"part": `[a-z]{4,8}`, "kind": `list|dense|creates|in_flight`, "state": `waiting|valid|failing`, "loop": `\d{1,3}`, "le": `[0-9.e+-]+|\+Inf`,
	"quantile": `[0-9.]+`, "domain": `d\d{3}\.test|other|127\.0\.0\.1:8080`, "version": `test|go[0-9.a-z-]+`, "goversion": `go\S+`,
}

func TestHostileClientsMakeNoNewLabels(t *testing.T) {
	st := newSite(t, allSources(t))
	st.addDomain(domain.Domain{Host: "d000.test"})
	closedLabels := maps.Clone(closedLabels)
	closedLabels["route"] = "none|malformed"
	for _, m := range labelPair.FindAllStringSubmatch(st.metricsText(), -1) {
		if m[1] == "route" && !strings.Contains(closedLabels["route"], "|"+regexp.QuoteMeta(m[2])+"|") {
			closedLabels["route"] += "|" + regexp.QuoteMeta(m[2])
		}
	}
	for i, value := range hostileValues {
		path := "/" + strings.NewReplacer("\x00", "", "\r", "", "\n", "", " ", "").Replace(value)
		st.get(path, "User-Agent: "+strings.NewReplacer("\r", "", "\n", "", "\x00", "").Replace(value))
		st.call([]string{"BREW", "PROPFIND", "G\"ET", "POST"}[i%4], "/links"+path, value)
	}
	samples := st.samples()
	for _, m := range samples {
		for _, pair := range labelPair.FindAllStringSubmatch(m[2], -1) {
			closed := closedLabels[pair[1]]
			expect.That(t, closed != "" && regexp.MustCompile(`^(?:`+closed+`)$`).MatchString(pair[2]), "%s has a label %s", m[1], pair[0])
		}
	}
	expect.That(t, len(samples) <= 1500, "there are %d samples", len(samples))
}
