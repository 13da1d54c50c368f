// Package account keeps users, their API tokens and their sessions in a small table of bytes that somebody else makes durable.
//
// # Terminology
//
// A user owns links; its number is the owner of a link. A token is a secret that acts for its user, within its scopes. A
// session is what a user has in a browser after logging in with a password: a secret in a cookie, and every scope of the
// user's role. A caller is who a request turned out to be: a user, the scopes that the token left it, and what it was proved
// with, so that Recheck can ask again later.
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
// # Passwords and sessions
//
// A password has 8 to 1,024 bytes and is kept as argon2id (19 MiB, 2 passes, 1 lane, 16 bytes of
// salt). At most 4 are hashed at a time (76 MiB), on no more than half of the cores; 64 wait for up
// to 5 s, 8 of them of one caller, who are served in turn (package turnstile). Everybody else is
// refused: ErrOverloaded. A login by a name that there is not is hashed for as well. A hash of
// other parameters is replaced at the next login.
//
// A session's cookie is 256 random bits in base64url, known to the table by its SHA-256 only. It ends 7 days after its last
// use, which is noted once an hour, 30 days after its beginning, when it is logged out of, when its user gets a new password
// (unless it asked for that), and when the user is deleted. Tokens outlive a new password: programs have them.
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
//	'c' | SHA-256 of the cookie (32)   → session
//	'y' | user id (4) | SHA-256 (32)   → nothing
//	'l' | SHA-256 (32)                 → when that token or session was last used
//
// A user, token or session is written, and deleted, with its other rows in one batch.
//
// # Concurrency and durability
//
// Any number of goroutines may call everything at once; writers take turns, because each of them looks before it writes. A
// turn ends when the write has ended in the table, not when its caller has waited enough (engine.CommitTimeout, for the turn
// and the table together): engine.ErrOutcomeUnknown leaves a write to happen, and until then others get engine.ErrOverloaded
// in as much time. What a function has written is durable when it returns nil. Who somebody is, is read from the table on each call (two
// gets and two JSON values, 7 µs; three for a session) and cached nowhere: what is revoked, ended, demoted or deleted is so
// when the function returns, for requests on open connections too. What was asked for before is checked once more where it
// matters: IssueToken looks at its maker again in its turn. Before a user is deleted, the caller's Farewell is asked what else there
// is of them; it is told how the write has ended, however late, so that nothing is made for the user meanwhile.
//
// Only last uses wait: in memory, of what was verified and no more than 65,536, for Run to write them once a minute.
package account
