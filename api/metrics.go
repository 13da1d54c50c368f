package api

import (
	"errors"
	"runtime"
	"strconv"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/valyala/fasthttp"

	"shunt/engine"
)

// metrics are what is counted beside the hot path; collector reads the rest where it is counted anyway.
type metrics struct {
	registry       *prometheus.Registry
	requests       *prometheus.CounterVec   // route, method, code
	requestSeconds *prometheus.HistogramVec // route
	linkWrites     *prometheus.CounterVec   // op, result
	authFailures   prometheus.Counter
}

func newMetrics(s *Server, o Options) *metrics {
	m := &metrics{
		registry: prometheus.NewRegistry(),
		requests: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "shunt_http_requests_total", Help: "API requests answered.",
		}, []string{"route", "method", "code"}),
		requestSeconds: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "shunt_request_duration_seconds", Help: "Time in the handler of an API request.",
			Buckets: []float64{.0001, .00025, .0005, .001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5},
		}, []string{"route"}),
		linkWrites: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "shunt_link_writes_total", Help: "Links written, by what became of it: ok, refused or failed.",
		}, []string{"op", "result"}),
		authFailures: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "shunt_auth_failures_total", Help: "API requests without a valid token.",
		}),
	}
	version := o.Version
	if version == "" {
		version = "unknown"
	}
	buildInfo := prometheus.NewGauge(prometheus.GaugeOpts{
		Name: "shunt_build_info", Help: "Always 1.",
		ConstLabels: prometheus.Labels{"version": version, "goversion": runtime.Version()},
	})
	buildInfo.Set(1)
	m.registry.MustRegister(m.requests, m.requestSeconds, m.linkWrites, m.authFailures, buildInfo,
		&collector{s}, storageCollector{o.StorageMetrics},
		collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	return m
}

// request counts an answered API request.
func (m *metrics) request(route string, ctx *fasthttp.RequestCtx) {
	m.requests.WithLabelValues(route, knownMethod(ctx.Method()), strconv.Itoa(ctx.Response.StatusCode())).Inc()
}

// unread counts a request that could not be read: there is no telling its method.
func (m *metrics) unread(ctx *fasthttp.RequestCtx) {
	m.requests.WithLabelValues(badRequest, otherMethod, strconv.Itoa(ctx.Response.StatusCode())).Inc()
}

const otherMethod = "other"

// knownMethod returns the method, if it is one of the usual ones: clients can make up others without end.
func knownMethod(method []byte) string {
	switch m := string(method); m {
	case "GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS":
		return m
	}
	return otherMethod
}

// wrote counts a write of a link.
func (m *metrics) wrote(op string, err error) {
	var invalid engine.InvalidError
	result := "failed"
	switch {
	case err == nil:
		result = "ok"
	case errors.Is(err, engine.ErrTaken), errors.Is(err, engine.ErrNotFound), errors.Is(err, engine.ErrVersion),
		errors.Is(err, engine.ErrMismatch), errors.Is(err, engine.ErrTooManyReceipts), errors.Is(err, engine.ErrDeleted),
		errors.Is(err, engine.ErrRefused), errors.Is(err, engine.ErrOwnerGone),
		errors.As(err, &invalid):
		result = "refused"
	}
	m.linkWrites.WithLabelValues(op, result).Inc()
}
