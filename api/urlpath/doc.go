// Package urlpath says which code the path of a request names, also where people and mailers have spoilt the address.
// It knows what a code is (engine.ValidCode, engine.Reserved), and nothing else of ours.
// Whoever reads a request may use it; it works on the bytes that were sent and changes none of them.
package urlpath
