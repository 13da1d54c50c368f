// Package search finds links by any part of their text. It has the form in which texts are compared,
// the text of a link that is searched, and the words of a query. It reads no store and knows no link.
//
// # Terminology
//
// A text is folded if case and accents are gone from it (Append). A link's text is its folded fields,
// each ended by a zero byte, in the order of AppendText. A query is words; a link matches if each
// word is anywhere in its text.
//
// # Folding
//
// Each character is decomposed (Unicode's NFKD), loses its combining marks, and becomes the least of
// the characters that differ from it by case; letters that Unicode does not decompose (ß, æ, ø, ł …)
// become what people type for them. A control byte becomes a blank, so that no text has a zero byte.
// A byte that is not UTF-8 becomes U+FFFD. Folding a folded text changes nothing.
//
// The tables of golang.org/x/text decide what an accent is. A newer Unicode adds characters and
// changes none that has a decomposition (its stability policy), so texts that are stored stay right.
//
// # Decisions
//
//   - A search reads the rows of an owner's links, in parts on all cores, within turns. A row ends with the folded
//     text, because folding takes 45 to 100 ns a link, and is compared before it is decoded. Words that none of a
//     million links has took 142 ms and 245 ms of CPU when each row was decoded (410b1ba1, go test ./bench -bench
//     ListByState, 2 shared cores of an AMD EPYC); without that it takes 0.66 to 0.93 of the CPU, in pairs beside other
//     load. Most of it is reading rows. A search is exact: it finds what a plain scan finds, within words as well. The
//     newest links that match are found without reading all of them.
//   - A word is looked for by its rarest byte, of two words first the one that more texts lack (Matcher). Of 980,000
//     rows a word that none has took 0.87, one that an eighth has 0.88, two words 0.69 of the CPU of bytes.Contains
//     with the longest word first; a word that all have 1.05 (minima of alternating runs, 2 shared cores of an Intel
//     Xeon). Rejected: eight places at once by two bytes of the word in a register, which took 0.6 to 3.3 times as long,
//     and copying rows together to search some hundred at once, 1.1 times the CPU.
//   - Rejected: a table of trigrams, which would write 60 rows for a create, and finds words of one and
//     two characters only by reading everything; bleve, whose index is another store with its own
//     durability, and which finds whole words.
//
// Files, leaves first: best.go, fold.go, text.go, word.go, query.go.
package search
