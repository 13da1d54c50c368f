package admin

import (
	"cmp"
	"errors"
	"runtime"
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"

	"shunt/engine"
)

// Metrics has the counters that are not on the hot path; a collector reads the others from the
// engine and the front end. Any number of goroutines may use them at once.
type Metrics struct {
	registry       *prometheus.Registry
	requests       *prometheus.CounterVec   // route, method, code
	requestSeconds *prometheus.HistogramVec // route
	linkWrites     *prometheus.CounterVec   // op, result
	authFailures   prometheus.Counter
}

// NewMetrics returns the metrics of a program; version is empty if the program has none.
func NewMetrics(version string, sources Sources) *Metrics {
	m := &Metrics{
		registry:       prometheus.NewRegistry(),
		requests:       newCounters("shunt_http_requests_total"),
		requestSeconds: newSeconds("shunt_request_duration_seconds"),
		linkWrites:     newCounters("shunt_link_writes_total"),
		authFailures:   newCounters("shunt_auth_failures_total").WithLabelValues(),
	}
	m.registry.MustRegister(m.requests, m.requestSeconds, m.linkWrites, m.authFailures, newBuildInfo(version), newStartTime(),
		newCollector(sources),
		collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	return m
}

// newCounters returns counters that are described in the table.
func newCounters(name string) *prometheus.CounterVec {
	row := rowOf(name)
	return prometheus.NewCounterVec(prometheus.CounterOpts{Name: row.name, Help: row.help}, row.labels)
}

// newSeconds returns a histogram of durations that is described in the table.
func newSeconds(name string) *prometheus.HistogramVec {
	row := rowOf(name)
	return prometheus.NewHistogramVec(prometheus.HistogramOpts{
		Name: row.name, Help: row.help,
		Buckets: []float64{.0001, .00025, .0005, .001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5},
	}, row.labels)
}

func newBuildInfo(version string) prometheus.Collector {
	row := rowOf("shunt_build_info")
	buildInfo := prometheus.NewGauge(prometheus.GaugeOpts{
		Name: row.name, Help: row.help,
		ConstLabels: prometheus.Labels{"version": cmp.Or(version, "unknown"), "goversion": runtime.Version()},
	})
	buildInfo.Set(1)
	return buildInfo
}

// newStartTime returns the time of the start of the process, or rather of its metrics, which is some
// milliseconds later.
func newStartTime() prometheus.Collector {
	row := rowOf("shunt_start_time_seconds")
	started := prometheus.NewGauge(prometheus.GaugeOpts{Name: row.name, Help: row.help})
	started.Set(unixSeconds(time.Now()))
	return started
}

// Seconds returns the observer of the durations of requests to route.
func (m *Metrics) Seconds(route string) prometheus.Observer {
	return m.requestSeconds.WithLabelValues(route)
}

// A Route counts and measures the requests to one route.
type Route struct {
	metrics *Metrics
	route   string
	seconds prometheus.Observer
}

// Route returns what counts requests to a route.
func (m *Metrics) Route(route string) *Route {
	return &Route{metrics: m, route: route, seconds: m.Seconds(route)}
}

// Answered counts a request that was answered with status after the time took.
func (r *Route) Answered(method []byte, status int, took time.Duration) {
	r.seconds.Observe(took.Seconds())
	r.metrics.Answered(r.route, method, status)
}

// Answered counts an answered API request. method is nil if the request could not be read.
func (m *Metrics) Answered(route string, method []byte, status int) {
	m.requests.WithLabelValues(route, MethodLabel(method), strconv.Itoa(status)).Inc()
}

// AuthFailed counts a request without a valid token, session or password.
func (m *Metrics) AuthFailed() { m.authFailures.Inc() }

// MethodLabel returns the method if it is one of the usual ones, "other" if not, because clients
// can invent any number of methods.
func MethodLabel(method []byte) string {
	switch m := string(method); m {
	case "GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS":
		return m
	}
	return "other"
}

// Wrote counts n writes of links that returned err. op is create, update or delete.
func (m *Metrics) Wrote(op string, n int, err error) {
	m.linkWrites.WithLabelValues(op, resultOf(err)).Add(float64(n))
}

// resultOf returns the result of a write that returned err.
func resultOf(err error) string {
	var invalid engine.InvalidError
	switch {
	case err == nil:
		return "ok"
	case errors.Is(err, engine.ErrTaken), errors.Is(err, engine.ErrNotFound), errors.Is(err, engine.ErrVersion),
		errors.Is(err, engine.ErrMismatch), errors.Is(err, engine.ErrTooManyReceipts), errors.Is(err, engine.ErrDeleted),
		errors.Is(err, engine.ErrRefused), errors.Is(err, engine.ErrOwnerGone),
		errors.As(err, &invalid):
		return "refused"
	}
	return "failed"
}
