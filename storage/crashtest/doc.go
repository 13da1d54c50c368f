// Package crashtest has no code of its own: its tests put engine and storage together through
// crashes, faults and flipped bits, and print a table of what came of it.
//
//	make crash-clone   the file system is cloned at random moments, as a kill or a power cut would leave it, and opened again
//	make faults        each file-system operation of a scripted run fails once, in each of its ways
//	make bitflip       one bit of one file of a data folder is flipped
//
// What they have in common: a session is engine and store opened as a server opens them
// (session_test.go), and the ledger knows what was asked for and what was acknowledged
// (ledger_test.go).
package crashtest
