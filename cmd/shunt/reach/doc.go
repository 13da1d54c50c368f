// Package reach finds the server that a command talks to: the one that --server names, the one that runs on the data
// folder, or else one that it starts in this process, for this command alone (local.go). target.go has the settings
// that say so, client.go is the connection, operate.go has the server do what may take long.
//
// Files, leaves first: client.go, operate.go, target.go, local.go.
package reach
