// Package links has the commands about links: each has a file, and commands.go lists them. shortaddress.go reads which
// link a person means.
//
// Files, leaves first: import.go, shortaddress.go, links.go, audit.go, show.go, addsheet.go, add.go, stats.go, tag.go,
// commands.go.
package links
