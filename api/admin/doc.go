// Package admin is what operators see on the admin address: metrics, health and profiles. It knows
// the engine and the counts that it is given, but no route of the API and no listener. It asks for
// no token: anybody who can connect may read, except for the pages of a browser.
//
// # Pages
//
// A browser on the operator's machine connects for any page that it shows. guard.go refuses what
// such a page could have sent: on loopback, requests for a host that is not a loopback name or
// address (DNS rebinding); everywhere, those that say Origin or a foreign Sec-Fetch-Site. Rejected:
// a token of its own, which every scraper and health check would have to be given.
//
// # Metrics
//
// Metrics come from three places. Metrics itself counts API requests and writes of links. A
// collector reads the engine's and the front end's own atomics when Prometheus asks, so that the
// hot path pays nothing. The store says its own, by name. Labels are from closed sets, because
// clients can make up methods and paths without end.
package admin
