// Package memory decides how much memory a server takes: the size of the block cache, and how large
// Go's heap may grow. It knows the machine, control groups, the collector and the store's metrics.
// It knows no settings and no commands. Serve asks it once for the size of the cache, and runs its
// HeapKeeper.
//
// # The heap
//
// Most of a server's heap is in large blocks without pointers: the store's memtables (up to 640 MiB
// during heavy writes) and its block cache. They cost the collector little, but it counts them:
// with GOGC=100 the heap may grow to twice what was live at the last collection, and an idle server
// does not collect for two minutes and then gives memory back slowly. After an import of a million
// links it had 977 MB, of which 290 MB of the heap and 160 MB outside it were in use. So the heap
// may grow only by what is live besides those blocks, and by minHeadroom at least. When no memtable
// is written any more, all free memory goes back to the system at once.
//
// Some memory stays: two memtables of 128 MiB that Pebble keeps for the next writes
// (shunt_storage_memtable_reserved_bytes), sometimes a third that its queue still refers to, and
// the block cache. After that import it was 500 to 605 MiB in all (make import-memory). A restart
// releases the memtables.
//
// If GOGC is set, it is left as it is; so is GOMEMLIMIT, which counts the heap and not what the
// engine maps outside it.
package memory
