// Package clock bounds the harm of a wrong clock. A hit counts in the hour that the wall clock showed, right
// or wrong. But nothing is deleted for its age before the store has run for that time since (engine/seen),
// and nothing is closed or deleted until the clock has run evenly for a while.
//
// # When the clock is wrong
//
// The wall clock may be wrong, for a minute or for months, and nobody can say which of two times is
// right. So these rules hold whatever it shows:
//
//  1. Nothing is deleted for its age (hours, days, entries of the audit log, receipts, codes of deleted
//     links) before it has been kept for that time by the wall clock and while the store ran since it was
//     made. Package seen keeps the latter, durably; it has the design, and what it costs: things stay longer
//     after the server was off, and after a jump.
//  2. A hit counts in the hour that the wall clock showed, once and for all. A hit of a clock that was ahead
//     is shown on that day when it comes. OpenHour, and the store's roll-up mark, follow the clock back.
//  3. A wall clock that is before all days of which figures are kept is certainly wrong (a computer without
//     a battery begins in 1970). Then the time in use runs on from where it was (Clock.InUse), for
//     hits, stamps and questions.
//  4. What was stamped in the future, and is not hits, goes once it was kept for its time while the store ran:
//     else a deleted code would be taken for years.
//  5. No stats query is refused because of it: what is kept never begins after now (hit.KeptSince).
//  6. Each jump by more than a minute is a WARN line and counted; pages show those of half a day or more.
//
// Nothing is closed or deleted until the clock has run evenly for ten minutes, after a start and after
// each jump: that saves the store work which it would have to do again. In a cluster each node has a clock of its own.
// Deletions of links, receipts and audit entries are decided by the node that leads, and are the same on all;
// hours and days are each node's own.
package clock
