// Package serve is the process of a server. serve.go wires it from top to bottom, and its stack stops it in reverse.
// settings.go declares the settings; server.go has what all parts of the wiring share. running.go is what a server
// is told while it runs. showconfig.go prints and checks the settings without a server.
//
// Files, leaves first: server.go, backups.go, audit.go, brand.go, cluster.go, cores.go, httpssettings.go, limits.go,
// logs.go, settings.go, reload.go, running.go, memory.go, https.go, firststeps.go, files.go, serve.go, showconfig.go.
package serve
