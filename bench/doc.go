// Package bench is shunt's benchmark suite: one file a subject.
//
//	make bench                             all of it, with 10 M links
//	make bench LINKS=1000000 SECONDS=10    quicker
//
// Each benchmark reports its own figures, so that benchstat can compare two runs:
//
//   - machine_linux_test.go: how long a load from memory takes on this machine now;
//   - index_test.go: Resolve, Resolve+Hit, maps as a yardstick, memory of a link, the cost of a
//     garbage collection;
//   - figures_test.go: the size of figures on disk and in memory, and the time to read them
//     (SHUNT_BENCH_DAY_HITS sets the hits of BenchmarkDay, by default 10 M);
//   - flush_test.go: the cost of fold and flush during a steady load, and the latency that the load
//     sees;
//   - heavyhour_test.go: the end of a heavy hour, whose rows are planted, during a steady load: CPU by
//     part (cpuparts_test.go), state of the store, longest hit and commit, by tenths of the time.
//     SHUNT_BENCH_HOUR_ROWS sets the rows (by default one for each link), SHUNT_BENCH_HITS the hits
//     a second (200,000). It takes 800 B of the temporary folder for a row, and three times as much
//     once the hour is rolled up;
//   - lists_test.go: lists by state, out of 1 M links;
//   - redirect_test.go: redirects over loopback, through the whole server.
//
// bigstore.go writes a data folder with a million links and 400 days of figures (make big-store), on
// which make page-times measures pages.
//
// compare/ runs shunt and nginx in turn and compares what a redirect costs (make compare).
//
// RESULTS.md holds the figures of record with their machine, commit and command.
package bench
