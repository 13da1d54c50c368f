// Command shunt is a redirect engine: it answers short links from memory, counts every hit and
// estimates unique visitors. This folder has its commands, and the wiring of the server; it may
// import everything of ours but bench, and nothing may import it.
//
// main.go has the tree of commands, and each command has a file. settings.go declares the settings
// that several commands share. serve.go wires the server from top to bottom, and stack.go stops it
// in reverse. local.go connects the other commands to a server.
//
// The rooms: settings (where the value of a setting comes from), console (what people read), certs
// (certificates), memory (cache and heap) and socket (the way of local commands to their server).
// None of them knows a command. e2e has the tests of the built binary.
//
// Files, leaves first: usage.go, version.go, stack.go, settings.go, baseurl.go, process.go, brand.go, servesettings.go,
// client.go, core.go, local.go, user.go, metrics.go, https.go, operate.go, reload.go, shortaddress.go, journal.go,
// showconfig.go, show.go, stats.go, help.go, health.go, completion.go, check.go, restore.go, cluster.go, backup.go,
// token.go, tokens.go, setuplink.go, passwd.go, links.go, tag.go, import.go, audit.go, add.go, useredit.go, serve.go,
// logs.go, limits.go, firststeps.go, main.go.
package main
