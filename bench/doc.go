// Package bench is shunt's benchmark suite: one file a subject.
//
//	make bench                             all of it, with 10 M links
//	make bench LINKS=1000000 SECONDS=10    quicker
//
// What is measured is reported as the benchmark's own figures, so that benchstat can compare two runs:
//
//   - machine_test.go: what a load from memory takes on this machine now;
//   - index_test.go: Resolve, Resolve+Hit, maps as a yardstick, memory a link and the cost of a garbage collection;
//   - figures_test.go: what figures take on disk and in memory, and what they cost to read (SHUNT_BENCH_DAY_HITS sets the
//     hits of BenchmarkDay, 10 M if it is not set);
//   - flush_test.go: what fold and flush cost beside a steady load, and what that load sees of them;
//   - redirect_test.go: redirects over loopback, through the whole server.
//
// RESULTS.md has the figures of record with their machine, commit and command.
package bench
