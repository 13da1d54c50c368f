// Package users has the commands about users, their passwords and their tokens, and about folders, domains, and edges,
// which have tokens of their own: commands.go lists them.
//
// Files, leaves first: find.go, passwd.go, setuplink.go, token.go, user.go, tokens.go, domain.go, edges.go, folder.go,
// commands.go, useredit.go.
package users
