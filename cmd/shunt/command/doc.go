// Package command has the commands that talk to a server, here or elsewhere, or work on a data folder. Each has a file,
// and commands.go lists them. local.go finds the server, or opens the folder and serves it to this command alone;
// client.go is the connection to it.
//
// Files, leaves first: client.go, health.go, local.go, user.go, operate.go, check.go, backup.go, restore.go,
// shortaddress.go, show.go, stats.go, token.go, tokens.go, setuplink.go, passwd.go, links.go, tag.go, import.go,
// audit.go, add.go, commands.go, useredit.go.
package command
