// Command shunt is a redirect engine: it answers short links from memory, counts every hit and
// estimates unique visitors. This folder has the tree of commands (main.go) and its help; below it
// everything of ours but bench may be imported. Nothing may import it.
//
// The rooms with commands: serve (the server, and config, which prints its settings), links, users
// and upkeep (backups, checks, health), and cluster (what makes a server one of several; the build
// tag nocluster leaves it out). They stand on core (a store, an engine and accounts, and how they
// start and stop), on reach (how a command finds its server) and on usage (arguments, and where
// settings come from).
//
// No other room knows a command: settings (where the value of a setting comes from), console (what
// people read), certs (certificates), memory (cache and heap), socket (the way of local commands to
// their server) and so on. e2e has the tests of the built binary.
//
// Files, leaves first: completion.go, help.go, version.go, withcluster.go, main.go.
package main
