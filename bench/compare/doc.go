// Compare measures what redirects cost shunt and nginx, in turn on the same core of this machine, and writes
// Markdown tables. make compare builds and installs what it needs and runs it; it needs Linux and two cores.
//
// # What is compared
//
// shunt from this tree, with all its work on: a million links, every hit journaled, folded and flushed. nginx with
// a map of 100,000 links, by the configuration in proxies/.
//
// # How
//
// Servers run on one core, and the generator (load/) on another, with everything else of this program. A round runs
// every server for a few seconds, one after the other, and the next round begins with another server. Each server is
// started for its turn, warmed up for up to a second, measured, and stopped, so no other one disturbs it.
//
// The figure that compares servers is CPU time: what the processes of the server used between the end of the warm-up
// and the end of the measurement (in the kernel, too, and with shunt's folds and flushes; nginx with its master), by
// the answers in this time. Ratios are of figures of the same round; shown are the median over rounds, and the range.
//
// # Scenarios
//
// scenarios.go has the table, with the targets that shunt must reach. Beside shunt in paced, 200 links are made and
// the metrics read once every second, by the generator itself (load.Chore), and it flushes every 100 ms: once with its
// data in memory, and once on disk, with nginx beside a program that only writes and syncs as often, because that
// alone may stop a virtual machine's cores. A turn begins when shunt has loaded its links.
//
// # Writes
//
// With --writes (make compare-writes) creations, bulks and imports are measured in place of redirects, in the same
// way. What compares two programs is two runs, each with its own. The client is in this program, and the first answer
// that is not what was asked for ends the run. Figures are of a link, not of a request. CPU of an import is that of
// the server, and once more with that of shunt import.
//
// Each shunt begins with a copy of an empty folder, but for one that has 3 M links, which keeps those of earlier
// turns. shunt writes its memtables to tables only when one is full, and they double from 256 KiB, so that about half
// of what a turn has written is in tables at its end; longer turns show more of it.
//
// # What is missing
//
// The core of the generator is as busy as the server's. So requests per second in a closed loop are a lower bound for
// the fastest servers, and a server that waits for the generator is woken more often than one that always has work. A
// turn of a few seconds contains flushes, but no compaction.
package main
