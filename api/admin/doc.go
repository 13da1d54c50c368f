// Package admin is what operators see on the admin address: metrics, health and profiles. It knows
// the engine and the counters that it is given, no route of the API and no listener. Anybody who
// can connect may read, so it asks for no token, but it refuses what a web page may have asked for.
//
// Metrics come from three places: Metrics itself counts API requests and writes of links; a
// collector reads the engine's and the front end's own atomics when Prometheus asks, so that the
// hot path pays nothing; and the store says its own by name. Labels are from closed sets, because
// clients can make up methods and paths without end.
package admin
