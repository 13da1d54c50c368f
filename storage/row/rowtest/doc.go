// Package rowtest has a plain model of a tally, with which the tests of row and of storage compare
// their rows. It knows engine's types only. Only tests may import it.
//
// Files, leaves first: model.go, flush.go.
package rowtest
