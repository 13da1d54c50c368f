package admin

import "strconv"

var connectionMetrics = []metric{
	{
		name: "shunt_connections", help: "Open public connections.", words: "Open connections",
		send: func(s *snapshot, out sender) { out.gauge(float64(s.front.Connections)) },
	},
	{
		name: "shunt_loop_connections", help: "Open public connections that an event loop owns, by loop; the others are fasthttp's.",
		labels: []string{"loop"}, words: "Connections of each event loop",
		send: func(s *snapshot, out sender) {
			for i, n := range s.front.Loops {
				out.gauge(float64(n), strconv.Itoa(i))
			}
		},
	},
	{
		name: "shunt_connections_ended_total", help: "Public connections closed or refused by the server, by reason.",
		labels: []string{"reason"}, words: "Connections that the server ended, by reason",
		values: []wording{
			{"late", "a request or an answer took too long"}, {"idle", "no request came"}, {"evicted", "idle, and others needed the place"},
			{"address", "too many from one address"}, {"plain_http", "HTTP on a port for HTTPS"},
		},
		send: func(s *snapshot, out sender) { out.counters(s.front.Ended) },
	},
	{
		name: "shunt_rate_limited_total", help: "Requests refused by a rate limit, by limit.", labels: []string{"scope"},
		words: "Requests refused by a rate limit, by limit",
		values: []wording{
			{"creates", "new links"}, {"calls", "other requests"}, {"logins", "attempts to sign in"}, {"misses", "unknown codes"}, {"unlocks", "wrong passwords of links"},
		},
		send: func(s *snapshot, out sender) { out.counters(s.front.Limited) },
	},
	{
		name: "shunt_unlocks_total", help: "Passwords that visitors of links typed, by result.", labels: []string{"result"},
		words: "Passwords that visitors of links typed, by result",
		values: []wording{
			{"opened", "right"}, {"wrong", "wrong"}, {"limited", "too many wrong ones before"}, {"overloaded", "not compared: too much to do, or nobody could be asked"},
		},
		send: func(s *snapshot, out sender) { out.counters(s.front.Unlocks) },
	},
	{
		name: "shunt_auth_failures_total", help: "API requests without a valid token, session or password.",
		words: "Requests without a valid token, session or password",
	},
	{
		name: "shunt_sessions", help: "Sessions of logins that are stored. One that has expired counts until its user logs in again.",
		words: "Sessions of people who signed in",
		send:  sessionsSender(func(n uint64, out sender) { out.gauge(float64(n)) }),
	},
	{
		name: "shunt_shed_total", help: "Requests refused because the server was overloaded, by kind.", labels: []string{"kind"},
		words: "Requests refused because the server was overloaded, by kind",
		send:  func(s *snapshot, out sender) { out.counters(s.shed) },
	},
}
var requestMetrics = []metric{
	{
		name: "shunt_request_duration_seconds", help: "Time to handle an API request.", labels: []string{"route"},
		words: "How long requests took on average", unit: Seconds,
		values: []wording{{"none", "unknown addresses"}, {"malformed", "requests that could not be read"}},
	},
	{
		name: "shunt_http_requests_total", help: "API requests answered.", labels: []string{"route", "method", "code"},
		words: "Requests answered",
	},
}

// programMetrics are about the process. Those of Go and of the operating system come from the
// Prometheus library.
var programMetrics = []metric{
	{
		name: "shunt_build_info", help: "Always 1; the labels are the version of the program and of Go.",
		words: "Version", unit: Info,
		values: []wording{{"version", "shunt"}, {"goversion", "Go"}},
	},
	{
		name: "shunt_start_time_seconds", help: "Time at which the process started, in Unix seconds. It needs no /proc.",
		words: "Started", unit: Moment,
	},
	{name: "process_start_time_seconds", words: "Started, as the operating system says", unit: Moment},
	{name: "process_cpu_seconds_total", words: "Processor time used", unit: Seconds},
	{name: "process_open_fds", words: "Open files and connections"},
	{name: "process_max_fds", words: "Limit of open files and connections"},
	{name: "go_goroutines", words: "Tasks at work or waiting (goroutines)"},
	{name: "go_gc_duration_seconds", words: "Collections of unused memory", unit: Seconds},
}
