// Package account keeps users, their passwords, API tokens, sessions and setup codes in a small
// table of bytes that its caller makes durable. It knows engine's errors, not HTTP. The API asks it
// who a caller is and what the caller may do.
//
// # Terminology
//
// A user owns links; the owner of a link is a user's number. The role of a user says which scopes the user can hold. A
// viewer reads the links and figures of all, and owns none, except those of the time before; a viewer's tokens only
// read. A token is a secret that acts for its user, within its scopes. A session is a user's login in a browser: a
// secret in a cookie, with every scope of the user's role. A setup code is a secret in an address, with which a user
// sets a password: the first one, or another for a lost one. A caller is the sender of a request: a user, the scopes
// that the token allows, and the credential, so that Recheck can check it again later.
//
// # Domains
//
// A member and a token can be limited to domains. A caller may use those that are in both sets, which is computed each
// time that a caller is read: an edit of the user is in force at once for all tokens and sessions. An admin and the
// scope Admin have no limit, and a caller with a limit has no scope Admin. A token that a limited token makes is
// limited at least as it is. When a domain is removed, its number stays in the sets, and opens nothing: so no set
// becomes empty, and nobody gets more by it. Rejected: to take it out of all rows, which are thousands in one write,
// and then a set that becomes empty would look like no limit.
//
// # Tokens
//
//	shunt_ | 30 characters of base62, crypto/rand, unbiased (178 bits) | 6 characters of base62: the checksum
//
// The checksum is CRC-32 (IEEE) of the 30 characters, most significant digit first: a mistyped or
// cut token is recognized without a look-up, and a secret scanner can tell a token from noise (the
// form is the one that GitHub chose in 2021). The table knows a token only by its SHA-256. A slow
// hash would add no protection, because nobody can guess 178 bits. Beside the hash it keeps the first four of the 30
// characters, by which people tell their tokens apart, and find one that was leaked.
//
// # Passwords and sessions
//
// A password has 8 to 1,024 bytes and is kept as argon2id (19 MiB, 2 passes, 1 lane, 16 bytes of
// salt). At most 4 are hashed at a time (76 MiB), on no more than half of the cores; 64 wait for up
// to 5 s, 8 of them of one caller, and callers take turns (package turnstile). All others are
// refused with ErrOverloaded. A login with an unknown name is hashed too, so that its time does not
// show whether the name exists. A hash with other parameters is replaced at the next login.
//
// A session's cookie is 256 random bits in base64url, known to the table by its SHA-256 only. It
// ends 7 days after its last use, which is recorded once an hour; 30 days after its beginning; at
// log-out; when its user ends it, or all of them, in another session; when its user gets a new
// password, unless this session asked for it; and when the user is deleted. A new password leaves
// tokens valid, because programs use them. A session's public ID is 64 bits of SHA-256 of the
// cookie's SHA-256.
//
// # Setup codes
//
// A setup code is 128 random bits in base64url, known to the table by its SHA-256 only. It works
// once: its use sets the password, and the e-mail address of a user who has none, and begins a
// session. It ends after an hour; when its user gets a new password, by this code or in any other
// way; when the user is deleted; and as the oldest of more than 8. Looking at a code does not use it
// up. Wrong, used and expired codes are one error.
//
// # Layout of the table
//
// All numbers are big-endian, values are JSON with a format version "v": 1, but 2 for a user or a token who is limited
// to domains, whom a program that knows no limits must not read. Names are keyed in lower case.
//
//	'u' | user id (4)                  → user
//	's'                                → last user id (4): none is given twice
//	'n' | name                         → user id (4)
//	't' | SHA-256 of the token (32)    → token
//	'x' | user id (4) | token id       → SHA-256 of the token (32)
//	'c' | SHA-256 of the cookie (32)   → session
//	'y' | user id (4) | SHA-256 (32)   → nothing
//	'k' | SHA-256 of the code (32)     → setup code
//	'w' | user id (4) | SHA-256 (32)   → nothing
//	'l' | SHA-256 (32)                 → when that token or session was last used
//	'm' | user id (4)                  → the campaigns that the user keeps; absent: none
//	'f' | user id (4)                  → the filters of links that the user keeps; absent: none
//
// A user, token, session or setup code is written, and deleted, with its other rows in one batch.
// The use of a setup code is one batch, too.
//
// # Concurrency and durability
//
// Any number of goroutines may call everything at once. Only one at a time may write, because each
// writer reads before it writes. It holds the write lock until its write has ended in the table,
// even if its caller stops waiting before (after engine.CommitTimeout, for the lock and the table
// together). Under it the table's callback takes the lock of the known callers, then that of the last uses.
// After engine.ErrOutcomeUnknown the write may still happen, and until it ends other
// writers get engine.ErrOverloaded after the same time. When a function returns nil, its write is
// durable, and in force: a revocation, log-out, demotion or deletion holds for the next request, on
// open connections too. Where it matters, the caller is checked again: IssueToken checks its maker
// with the write lock held. Before a user is deleted, the Farewell of RemoveUser decides whether
// that is allowed, because it knows what the user owns elsewhere. It is told how the write ended,
// however late, so that nothing is created for the user meanwhile.
//
// Only last uses are written later: Run writes them once a minute. Until then they are in memory:
// only those of verified tokens and sessions, and at most 65,536.
//
// # Callers in memory
//
// To read a token and its user takes two gets and two JSON values: 7 µs of CPU and 35 allocations
// when the rows are in the memtable, 40 µs beside a load of creates. So a caller that was read is
// kept in memory until the next write of a token, session or user; to find it there takes 0.3 µs,
// SHA-256 and the last use included, and no allocation (BenchmarkAuthenticate). At most 16,384 are
// kept, in at most 16 MiB; when there are more, all are forgotten. A caller in memory is
// always what the table has:
//
//	write                    table                      memory
//	begins                   old rows                   forgets everybody
//	  its caller may give    old or new rows            adds nothing: each request reads the table
//	  up: outcome unknown
//	ends, durable or not     new rows, or old rows      adds again, but nothing that was read
//	                                                    before the write ended
//	its function returns     the same
//
// One place writes (writeLock.writeThen), and tells memory of each write, so none can forget to
// (TestEveryWriteOfAccountsGoesThroughOnePlace). Last uses, setup codes, campaigns and filters are beside
// callers, and their writes forget nobody. Two Accounts on one table would not hear of each other's writes, as
// they would not share the write lock; a node is told of those of others (Changed).
//
// Rejected: to forget only those whom a write touches. It takes a second table by user, and changes
// of accounts are rare: each costs every caller one more read. Rejected, too: to change entries instead of
// forgetting them, because while the outcome of a write is unknown there is nothing to change them
// to.
package account
