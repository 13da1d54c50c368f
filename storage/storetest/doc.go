// Package storetest has the helpers that tests of storage share with tests of the rooms that plug into a store: they
// write and flush, read back, and compare with a model. It knows only the interface Store, so that the tests of package
// storage can use it, too. Only tests may import it.
package storetest
