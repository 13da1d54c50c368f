// Package seams has what tests replace in the whole process. Nothing else writes it.
package seams

import "github.com/alexedwards/argon2id"

// Passwords is what the hash of a password costs: the minimum of OWASP's cheat sheet on password storage (2024), 19
// MiB, two passes, one lane (TestAHashOfOtherParametersIsReplacedAtLogin of package account). It takes 30 ms of a core,
// and some 300 ms with the race detector. The short tests of package api make 795 of them, so they make cheap ones.
var Passwords = argon2id.Params{Memory: 19 << 10, Iterations: 2, Parallelism: 1, SaltLength: 16, KeyLength: 32}

// CheapPasswords is for tests.
var CheapPasswords = argon2id.Params{Memory: 8, Iterations: 1, Parallelism: 1, SaltLength: 16, KeyLength: 32}
