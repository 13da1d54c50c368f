// Package users has the commands about users, their passwords and their tokens: commands.go lists them.
//
// Files, leaves first: find.go, passwd.go, setuplink.go, token.go, user.go, tokens.go, commands.go, useredit.go.
package users
