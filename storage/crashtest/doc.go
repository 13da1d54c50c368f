// Package crashtest has only tests: they run engine and storage together through crashes, faults
// and flipped bits, and print a table of the outcomes. It knows engine, storage and Pebble's file
// systems; nothing may import it.
//
//	make crash-clone   the file system is cloned at random moments, as a kill or a power cut would leave it, and opened again
//	make faults        each file-system operation of a scripted run fails once, in each of its ways
//	make bitflip       one bit of one file of a data folder is flipped
//
// # Terminology
//
// A session is engine and store opened as a server opens them (session_test.go). The ledger knows
// which changes were asked for and which were acknowledged (ledger_test.go). A child is this test
// binary as a process with one task (main_test.go). A row is a link or a row of accounts.
package crashtest
