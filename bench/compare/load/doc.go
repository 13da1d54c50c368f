// Package load sends redirect requests to a server and measures how fast it answers. It knows
// nothing of shunt or of other servers: package compare starts them and calls it in a process of
// its own.
//
// # How it loads
//
// One goroutine on one thread owns all connections and waits for them with epoll. Requests are
// copied from templates made before the start, with the code of the link put in. System calls are
// raw, so Go's scheduler has no part in them, and the garbage collector is off. A server in C can
// still be limited by the generator, which does as much for a request as the server; so what
// compares servers is their CPU time for a request, and not the requests per second.
//
// A closed loop sends on each connection the next request after the answer to the last. An open
// loop sends at times drawn before, by a Poisson process, whatever the server does. The latency of
// a request of an open loop counts from the time at which it was due, even if no connection was
// free then: a server that pauses for 100 ms is late for every request that was due in this time
// (coordinated omission, Tene 2013).
//
// The codes are one link, or drawn from a number of links by a Zipf distribution with exponent 1.1, or evenly.
// Visitors are a User-Agent and a source address: every connection of a run with many visitors has
// a loopback address of its own, and every request one of 160 User-Agents.
//
// Every answer is read to its end and checked: a status 302, with a Location that begins like the
// targets of links. Anything else ends the run with an error.
//
// # What it measures
//
// CPU time is read from the clocks of the processes (clock_gettime, in nanoseconds, of all threads,
// also those that have ended) when the warm-up ends and when the measurement ends.
package load
