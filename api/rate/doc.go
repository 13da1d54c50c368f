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
// A client that is in none of its set's entries takes over one that is back at full allowance. Such
// an entry says nothing of the client that had it, so the newcomer begins with a full allowance. If
// all eight entries are in debt, the newcomer is allowed what it asks for and is not counted. So:
//
//  1. An entry in debt stays until its debt is over. Nobody gets allowance by being pushed out, and
//     nobody can push out their own debt: as long as a client has its entry, the table decides
//     exactly as a token bucket of the client's own would.
//  2. Nobody pays for others: a flood of keys that somebody invents has no newcomer refused.
//  3. While a set is full of debt, its newcomers have no limit by this table. Nobody can choose a
//     set: the first is full when some 12,000 clients are in debt at a time, one in twenty with
//     33,000, half of them with 65,536. A client is in debt for one interval after a single event,
//     for a burst's time after a burst.
//
// The effect of the third point depends on who can make up keys, so callers have to ask tables in
// the right order:
//
//   - If keys hold something that clients invent (an account at an address), a second table whose
//     keys they cannot invent (the address) is asked first, and what it refuses is not asked of the
//     first. One address then puts no more entries in debt than its own limit allows; beyond a full
//     set, that limit decides alone.
//   - If keys are addresses, tens of thousands of them must come. Those that are counted are
//     allowed as many times the limit already, so what a few that are not counted get on top
//     matters little. For IPv6, where one attacker has as many /64 as there are entries, the /48
//     can be asked as well, before any of its /64 leave a trace.
//   - If keys are tokens, there are no more than were issued.
//
// A refusal changes nothing. Somebody who asks several tables peeks at all of them before taking of
// any, so that what one refuses costs nothing in the others. What was allowed and then came to
// nothing can be given back: debts add up, so that is exact whatever was taken in between.
//
// Rejected: newcomers that take over the least debt with the entry, as counts in Space-Saving do
// (Metwally, Agrawal, El Abbadi, ICDT 2005; this was here before: the table never allowed what an
// unbounded one would refuse, but 980 invented accounts a second kept everybody from logging in); a
// map with a sweep (a million addresses are 100 MiB before it comes round); a least-recently-used
// list (who has enough addresses pushes himself out, and begins at full allowance); a count-min
// sketch (of all tables its size, it errs for everybody).
//
// # Concurrency
//
// Each set has one of 64 locks, held for the time of eight comparisons. Neither Take nor Peek
// allocates.
package rate
