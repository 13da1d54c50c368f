// Package bench is shunt's benchmark suite: one file a subject.
//
//	make bench                          all of it, with 10 M links; about 20 minutes on two cores
//	make bench LINKS=1000000 COUNT=1    quicker
//
// What is measured is reported as the benchmark's own figures, so that benchstat can compare two runs:
//
//   - index_test.go: Resolve, Resolve+Hit, memory a link and the cost of a garbage collection;
//   - flush_test.go: what fold and flush cost beside a steady load, and what that load sees of them;
//   - redirect_test.go: a redirect through the front end's handler.
//
// RESULTS.md has the figures of record with their machine, commit and command.
package bench
