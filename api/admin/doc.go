// Package admin serves the admin address for operators: metrics, health and profiles. It knows the
// engine and the counters that it is given, but no route of the API and no listener. It asks for no
// token: anybody that can connect may read, except for pages in a browser.
//
// # Pages
//
// A browser on the operator's machine sends requests for any page that it shows. guard.go refuses
// requests that such a page could have sent: on loopback, those for a host that is not a loopback
// name or address (DNS rebinding); everywhere, those with Origin or a foreign Sec-Fetch-Site.
// Rejected: a token of its own, because every scraper and health check would need it.
//
// # Metrics
//
// Metrics come from three places. Metrics itself counts API requests and writes of links. A
// collector reads the atomics of the engine and the front end when Prometheus asks, so that the hot
// path does no extra work. Sources (sources.go) has a function for each figure that is made elsewhere;
// where there is none, the metric is absent. Labels are from closed sets, because clients can invent
// any number of methods and paths.
//
// Each metric is a row of one table (table.go, and a file for each subject, such as tablestore.go):
// its name, help and labels for Prometheus, and its words and unit for people. Facts returns in words
// exactly what Prometheus reads, so a page that shows them lacks nothing; metrics without a row have
// the words of their help.
//
// The latency of redirects has both forms of a histogram (histogram.go): classic buckets at powers of
// two for scrapes in text, and a native one, eight times as fine, for scrapes in protobuf.
package admin
