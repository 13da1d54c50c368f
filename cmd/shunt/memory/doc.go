// Package memory decides how much memory a server takes: the sizes of the block cache and of
// memtables, how large Go's heap may grow, and when the server takes no more links. It knows the
// machine, control groups, the collector and the store's metrics. It knows no settings and no
// commands. Serve asks it once for the sizes, and runs its HeapKeeper and its Limit.
//
// # The heap
//
// Most of a server's heap is in large blocks without pointers: the store's memtables (up to 640 MiB
// during heavy writes) and its block cache. They cost the collector little, but it counts them:
// with GOGC=100 the heap may grow to twice what was live at the last collection, and an idle server
// does not collect for two minutes and then gives memory back slowly. After an import of a million
// links it had 977 MB, of which 290 MB of the heap and 160 MB outside it were in use. So the heap
// may grow only by what is live besides those blocks, and by minHeadroom at least. The share is
// computed again after each collection: an export of a million links puts 115 MB into the block cache
// within ten seconds. When no memtable is written any more, all free memory goes back to the system at
// once.
//
// Some memory stays: two memtables of 128 MiB that Pebble keeps for the next writes
// (shunt_storage_memtable_reserved_bytes), sometimes a third that its queue still refers to, and
// the block cache. A restart releases the memtables. An import has small ones written, so that a server
// with its million links rests at 143 MB (storage/links, importedBytes).
//
// If GOGC is set, it is left as it is; so is GOMEMLIMIT, which counts the heap and not what the
// engine maps outside it.
//
// # The limit
//
// A server that takes more memory than there is gets killed, and then its links are gone until it
// has loaded them again. Only links can take memory without end, so at its limit (--memory-limit) a
// server refuses new ones and goes on with everything else (engine.ErrFull). What counts is
// anonymous memory and touched files in memory, as the kernel counts them: Go's heap, what the
// engine has mapped, a journal on a tmpfs. The page cache does not count, because the kernel takes it
// back; connections count in the kernel, for which 15 % are left.
//
// Go does not know what the engine has mapped. So five times a second Go's own limit is set to what
// the rest leaves of ours, less a sixteenth: the collector then works more before links are
// refused. When the limit is reached, all garbage is collected before links are refused, and every
// ten seconds after that.
//
// Memtables count too, and memtables of 128 MiB are too large for a machine of 256 MiB: it was full
// with 557,000 links of 30 MB in all. With memtables of a sixteenth of the
// memory, an import of a million links took 155 MB there, and 130 MB with a limit of 128 MiB.
package memory
