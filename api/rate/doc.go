// Package rate limits how often each of any number of clients may do something, in fixed memory.
//
// # Terminology
//
// A limit is so many events in a period, and a burst: how many of them may come at once. A client is whoever a key names: an
// address, a token, an account at an address. Its allowance is how many events it may still have at once; at full allowance
// that is a burst. gcra.go has the algorithm, limit.go how limits are written.
//
// # The table
//
// A table has one limit, and 8,192 sets of 8 entries, 1 MiB:
//
//	set     | entry | entry | entry | entry | entry | entry | entry | entry |      128 bytes
//	entry   | 8 bytes: SipHash-2-4 of the key | 8 bytes: when its full allowance is back |
//
// The hash, under a secret of the table's own, names the set and stands for the client: of two clients among a million the
// chance to be one is 3e-8, nobody can choose them, and the table does not hold what the keys were. An entry without a
// client differs in nothing from one at full allowance.
//
// A client that is in none of its set's entries takes over the one that is back at full allowance first, and what is
// missing of that allowance along with it: the newcomer begins with the debt of whoever it replaces (Space-Saving does so with
// counts: Metwally, Agrawal, El Abbadi, ICDT 2005). If any entry of the set is back at full allowance, that debt is none, and the
// table is exact. Otherwise:
//
//  1. No time in a set ever moves back, so the least of a set does not either. Whoever has lost its entry finds a debt, when it
//     returns, that is no less than the one it had. So nobody gets allowance by being pushed out, and the table never
//     allows what an unbounded one would refuse.
//  2. It may refuse what an unbounded one would allow: to newcomers of a set in which all eight are in debt. They are as the
//     one of the eight that owes least. To make them all owe a whole burst, somebody has to bring 65,536 whole bursts from
//     thousands of addresses, and then go on at 65,536 times the limit's rate; with 300 a minute that is 19.7 million requests,
//     and 327,680 a second from then on. It ends when they do: debts last for a burst's time at most.
//
// A refused newcomer takes no entry, so that clients who are refused push nobody out.
//
// Rejected: a map with a sweep (a million addresses are 100 MiB before it comes round); a least-recently-used list (who has
// enough addresses pushes himself out, and begins anew); a count-min sketch (of all tables its size, it errs for everybody
// rather than for newcomers).
//
// # Concurrency
//
// Each set has one of 64 locks, held for the time of eight comparisons. A Take allocates nothing.
package rate
