// Package storetest has what the tests of storage, and of the rooms that plug into a store, do with one: write, flush,
// read it back and compare it with a model. It knows a store by the interface Store only, so that the store's own tests
// can use it. Only tests may import it.
package storetest
