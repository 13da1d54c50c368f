// Package direct reads rows from the tables of a Pebble database, which lie in files, past its cache of
// blocks. It knows Pebble and nothing of ours: not what rows mean, nor when tables have all of them.
//
// # Why
//
// A start reads every link once. Pebble's iterators put each block that they read into the cache, where
// nobody asks for it again, and built without cgo they take a new buffer from the Go heap for each:
// the process then has a full cache and garbage besides, at the moment when its index is complete.
// A Cursor reads into buffers of its own, some 20 KB for each table that its range meets, and uses them
// again. It merges a few tables, most of which it reads alone for long, so it also takes half the
// processor time of Pebble's tower of iterators.
//
// # What is read
//
// Tables are those of one moment. An iterator of the database that is never moved keeps their files. Rows
// that are not in a table yet, in memory and in the log only, are not read: the caller must know that
// there are none. Open refuses what is beyond a simple merge (ErrUnusable), and Check the ranges in
// which rows were deleted by range. The caller then uses Pebble's own iterators.
//
// Of a key the newest value counts, by sequence number, as in Pebble: a deletion hides what is older, and
// operands of a merge are passed on one by one, newest first, down to the first set value or deletion.
package direct
