// Package links has the commands about links: each has a file, and commands.go lists them. shortaddress.go reads which
// link a person means.
//
// Files, leaves first: shortaddress.go, addsheet.go, filtered.go, links.go, importfrom.go, rejected.go, import.go,
// audit.go, show.go, qr.go, add.go, stats.go, tag.go, checktargets.go, commands.go.
package links
