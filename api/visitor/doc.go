// Package visitor reads from a request its visitor: bot or person, device, browser, country,
// referrer. It knows engine's dimensions, and no HTTP library: bytes and addresses go in, numbers
// come out. The redirector calls it on every redirect, and the reference page lists its words. Whether a request is a
// prefetch is not about its visitor: api/redirect/prefetch.go.
//
// # Terms
//
// An Agent is the result of classifying a User-Agent: that it is a bot, or a device and a browser.
// A visitor is a number, made of the client's address and the User-Agent (Hash). A country is that
// of the client's address in a file (Countries). A referrer is a host (Referrer), for which the
// engine's dictionary has a number.
//
// None of them costs an allocation for a value that was seen before, and values that clients invent
// without limit take bounded memory.
//
// # The visitor
//
// A visitor is SipHash-2-4 (Aumasson, Bernstein 2012) under the store's key of
//
//	| 16 bytes: the address; IPv4 in its IPv6-mapped form, IPv6 cut to its /64 | 8 bytes: SipHash-2-4 of the User-Agent |
//
// and the inner hash is the key in Agents too. That cache is 16,384 sets of four 8-byte words,
// without pointers or locks:
//
//	| 48 high bits of the hash | known 1 | bot 1 | unfurls 1 | 1 bit | device 4 | browser 8 |
//
// # Device, browser, bot
//
// A User-Agent that is not in the cache is classified by the words in it (agentrules.go): apps
// before the browsers that they embed, consoles and televisions before the systems that they run. A
// browser that poses as another, as Brave does, is classified as that one. Bots are known by words
// too (agentbots.go); one group of them shows previews of links. All words are found in one pass (agentwords.go).
//
// # Referrer
//
// The referrer is the host in the Referer header (referrer.go), without "www.", so that one site is
// one referrer. The engine's dictionary gives it a number; when the dictionary is full, new hosts
// are "other", and so is a header without a valid host.
//
// # Country
//
// Countries is a MaxMind file, read whole into two sorted arrays (country.go), at start and when it has
// changed (countrywatch.go). What is read replaces what was in one step. The top 16
// bits of an address choose a few ranges, which a binary search goes through: 9 ns for a random
// IPv4 address among 250,000 ranges, 36 ns for IPv6. 6to4 and Teredo addresses have no country.
//
// # Decisions
//
// Countries are copied. The file could be mapped and its tree walked by every hit, with a cache of
// its records by offset: then a file that is rewritten in place is a SIGBUS, a damaged one is found
// out by a visitor, and a look-up reads up to 32 nodes. The copy is 5 bytes a range; while a new file is
// read, there are two. It is looked at once a minute, so that an idle machine sleeps.
//
// Rejected: a map of User-Agents (a lock or an allocation per request, and a bound that needs an
// eviction list).
package visitor
