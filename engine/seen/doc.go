// Package seen keeps the time that a store has itself seen passing. The engine asks it before it
// deletes anything for its age; storage keeps it. It knows no other room, no goroutine and no lock.
//
// # Why
//
// The wall clock may be wrong: ahead by 500 days for a quarter of an hour, or back by three years for
// a minute. What is deleted meanwhile is gone for good. So a thing is deleted only once it is old
// enough by the wall clock and by the time that the store was running since it was made, which the
// monotonic clock measures. No wrong clock can make that time pass.
//
// # What is kept
//
// A Clock has the time for which the store ran in all (Ran), and its runs: stretches in which the
// wall clock ran evenly with the monotonic clock. A jump ends a run and begins another, and so does a
// stop. A run knows which times of the wall clock it covers, and how the two clocks are apart:
//
//	wall   …──────A══════════════B          C══D          B′═════════════…
//	Ran           0              100        100 101       101
//	                 run 1        jumped ahead, run 2     jumped back, run 3
//
// A thing has only the stamp that the wall clock gave it. Its age is the time since the last moment at
// which the store ran and the wall clock showed that stamp (Age). A stamp that no run covers was made
// while the store was off, by another node of a cluster for example, so it is as old as the
// next run. A stamp before all runs is as old as the Clock.
//
// # What follows
//
//   - Time for which the store was off makes nothing older. A server that was off for a month keeps what it
//     had for a month longer, once: only the time off since a thing was made counts.
//   - What is deleted by ranges of stamps (hours, days, audit entries) stays until everything before it
//     is old enough, too (Cutoff). So a clock that was behind makes older things stay, for at most as
//     long again as they are kept. Runs before everything that there is are left out, so a
//     computer that begins each start in 1970 loses nothing by that.
//   - Ran is stored now and then, so a crash may lose some minutes of it: things stay that much longer.
//
// Rejected: a clock that begins at the creation of the store and runs with Ran alone. Each stop would put
// it back for good, so after a year off everything would be kept for a year longer, for ever. Rejected
// too: counting the time off once the clock has run evenly for some days. That is right until a clock is
// wrong for longer than that, which no number of days excludes.
package seen
