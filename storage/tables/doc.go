// Package tables keeps the rows of accounts and of domains. api/account and api/domain lay them out and check them;
// this room must not know what an account or a domain is.
//
// Files, leaves first: table.go.
package tables
