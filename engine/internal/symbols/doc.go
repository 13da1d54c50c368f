// Package symbols codes short texts of one kind, above all targets, so that they take less than
// half of their memory, and decodes them in some 40 ns. It knows nothing of ours. Every room of the
// engine may use it. The coding is for memory only: the next start trains another table, so nothing
// coded may be stored.
//
// # Terminology
//
// A text is a string of any bytes; the package is made for addresses. A symbol is a run of 1 to 16
// bytes that is frequent in texts. A code is a byte that stands for a symbol. A table has up to 255
// symbols. Samples are the texts from which a table is trained.
//
// # Format
//
// This is the static symbol table of FSST (Boncz, Neumann, Leis: FSST: Fast Random Access String
// Compression, PVLDB 13(11), 2020). A coded text is codes, without a header:
//
//	┌────────┬────────┬────────┬───┬────────────────────┐
//	│ code   │ code   │ code   │ 0 │ rest of the text … │
//	└────────┴────────┴────────┴───┴────────────────────┘
//	  1 … 255: a symbol           and only if a byte has no code
//
// Its length is known from elsewhere. Each of the 85 bytes that an address may have is a symbol of
// every table. So an address never gets longer, and any other text gets one byte longer at most.
//
// # How it works
//
// To decode, the 16 bytes of a symbol are copied whole, whatever its length, and the next one is put
// where it ends. No branch depends on a length.
//
// To code, a text is read from the end to the start by an automaton that knows all symbols beginning
// at each place (matcher.go), and the shortest coding of each end of the text follows from those of
// shorter ends. So the coding is the shortest that the table allows.
//
// Training (train.go) makes candidates out of symbols that often follow each other, 512 at once,
// codes the samples by them, and drops those that save the fewest codes, in several steps.
//
// Figures, of 29,914 addresses of projects (of 38.5 bytes on average), trained on 4,096 of them:
// 0.387 of plain, 0.503 by the table of no samples. With ?id= and 8 random characters each (50.5
// bytes), 0.470: 23.7 bytes, of which the random ones are eight; decoding one takes 35 to 49 ns,
// coding 440 to 490 ns, training 45 to 100 ms. (SHUNTTEST_URLS=FILE, processor time on a busy
// machine.)
//
// # Concurrency
//
// A Table never changes. Any number of goroutines may use it at once.
//
// # Decisions
//
//   - Code 0 says that the rest is plain. FSST has a code that says that one byte is plain, with
//     which a text of rare bytes doubles. Addresses have no rare bytes, since all are symbols.
//   - The shortest coding instead of the longest symbol at each place (greedy), which is 12 to 20 %
//     longer.
//   - Rejected, as measured with a prototype: codes of 6 bits for random parts, and symbols of more
//     than 16 bytes: neither made links smaller. zstd with a dictionary: 36 bytes an address, but
//     259 ns.
//
// Files, leaves first: fragments.go, matcher.go, table.go, train.go.
package symbols
