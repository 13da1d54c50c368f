// Package rate limits how often each of any number of clients may do something, in fixed memory. It
// knows neither HTTP nor anything else of ours: a client is a key, and its caller says what time it
// is.
//
// # Terminology
//
// A limit is a number of events in a period, and a burst: how many of them may come at once. A key
// names a client: an address, a token, an account at an address. A client's allowance is how many
// events it may still have at once; a full allowance is a burst. gcra.go has the algorithm,
// limit.go how limits are written.
//
// # The table
//
// A table has one limit, and 8,192 sets of 8 entries, 1 MiB:
//
//	set     | entry | entry | entry | entry | entry | entry | entry | entry |      128 bytes
//	entry   | 8 bytes: SipHash-2-4 of the key | 8 bytes: when its full allowance is back |
//
// The hash, under a secret of the table's own, selects the set and identifies the client. Two
// clients of a million have one hash with a probability of 3e-8, nobody can choose a hash, and the
// table does not hold the keys. An entry without a client is the same as one at full allowance.
//
// A client without an entry in its set takes over an entry that is back at full allowance. Such an
// entry holds no information about its former client, so the newcomer begins with a full allowance.
// If all eight entries are in debt, the newcomer is allowed what it asks for and is not counted.
// So:
//
//  1. An entry in debt stays until its debt is over. Nobody gains allowance by losing an entry, and
//     nobody can push out their own debt: as long as a client has its entry, the table decides
//     exactly as a token bucket of the client's own would.
//  2. Nobody pays for others: a flood of invented keys causes no refusal of a newcomer.
//  3. While all entries of a set are in debt, its newcomers have no limit in this table. Nobody can
//     choose a set: the first one is full when about 12,000 clients are in debt at a time, one in
//     twenty with 33,000, half of them with 65,536. A client is in debt for one interval after a
//     single event, for a burst's time after a burst.
//
// The effect of the third point depends on who can invent keys, so callers have to ask tables in
// the right order:
//
//   - If keys hold something that clients invent (an account at an address), ask a second table
//     first, whose keys they cannot invent (the address), and do not ask the first table for what
//     the second refuses. One address then puts no more entries in debt than its own limit allows;
//     after a set is full, that limit decides alone.
//   - If keys are addresses, an attack needs tens of thousands of them. The counted ones together
//     are allowed as many times the limit already, so the few that are not counted add little. For
//     IPv6, where one attacker has as many /64 as there are entries, ask the /48 as well, before
//     any of its /64 leave a trace.
//   - If keys are tokens, there are no more than were issued.
//
// A refusal changes nothing. A caller that asks several tables peeks at all of them before it takes
// from any, so that a refusal by one costs nothing in the others. Events that were allowed and then
// did not happen can be given back: debts add up, so this is exact whatever was taken in between.
//
// Rejected: newcomers that take over the least debt with the entry, as counts in Space-Saving do
// (Metwally, Agrawal, El Abbadi, ICDT 2005; an earlier version did: the table never allowed what an
// unbounded one would refuse, but 980 invented accounts a second kept everybody from logging in); a
// map with a sweep (a million addresses take 100 MiB before the sweep comes round); a
// least-recently-used list (a client with enough addresses pushes itself out, and begins at full
// allowance); a count-min sketch (at this size, it errs for everybody).
//
// # Concurrency
//
// Each set has one of 64 locks, which is held for eight comparisons. Neither Take nor Peek
// allocates.
package rate
