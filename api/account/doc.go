// Package account keeps users and their API tokens in a small table of bytes that somebody else makes durable.
//
// # Terminology
//
// A user owns links; its number is the owner of a link. A token is a secret that acts for its user, within its scopes. A
// caller is who a request turned out to be: a user, and the scopes that the token left it.
//
// # Tokens
//
//	shunt_ | 30 characters of base62, crypto/rand, unbiased (178 bits) | 6 characters of base62: the checksum
//
// The checksum is CRC-32 (IEEE) of the 30 characters, most significant digit first: a mistyped or cut token is told
// from a wrong one without a look-up, and a secret scanner can tell a token from noise (the form is the one that
// GitHub chose in 2021). The table knows a token only by its SHA-256. A slow hash would gain nothing: nobody guesses
// 178 bits.
//
// # Layout of the table
//
// All numbers are big-endian, values are JSON with a format version "v". Names are keyed in lower case.
//
//	'u' | user id (4)                  → user
//	's'                                → last user id (4): none is given twice
//	'n' | name                         → user id (4)
//	't' | SHA-256 of the token (32)    → token
//	'x' | user id (4) | token id       → SHA-256 of the token (32)
//
// A user or a token is written with its index row in one batch.
//
// # Concurrency and durability
//
// Any number of goroutines may call everything at once; writers take one mutex, because each of them looks before it
// writes. What a function has written is durable when it returns. Authenticate reads the table on each call (two gets
// and two JSON values, 7 µs) and caches nothing: a token is dead when RevokeToken returns.
package account
