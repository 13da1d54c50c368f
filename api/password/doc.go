// Package password hashes passwords and compares them with argon2id (RFC 9106), a few at a time. It knows nothing of
// who has a password: users and links have a Hasher each, so that strangers who try the passwords of links never keep
// anybody from logging in.
//
// Files, leaves first: aside_linux.go, aside.go, password.go.
package password
