// Package accounts keeps the rows of accounts. api/account lays them out and checks them; this room must not know
// what an account is.
//
// Files, leaves first: table.go.
package accounts
