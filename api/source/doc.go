// Package source reads the links of files that people bring: an import by the command and one on the
// dashboard's page have the same sources. It knows files, and neither HTTP nor what a link is.
//
// A Source reads the records of a file one after the other, each a link or the reason why it is none.
// A record that is wrong never ends a file. A record has a number for messages; how far an import has
// come is a number of records, since a source reads the same records again in the same order. Memory
// does not depend on the length of a file.
//
//	file ──▶ container ──▶ rows ──▶ fields ──▶ links
//	         JSON lines, CSV,       by names   of a system
//	         pages of JSON, SQL,
//	         rules of a proxy
//
// The order is that in which links are to be made. Our exports have the newest link first, so exports,
// and lines whose first link is newer than the last, are read from the end, and then the lists of the new
// server have the same order. Lines of --rejects and other files are read as they stand.
//
// # What a file is
//
// Its content tells, container.go: no system marks its files, but each has names for its values that no
// other has together (system.go). Then one table of names (fields.go) says which value is which field
// of a link, for all systems, since they hardly differ: where they do, the system's row says so. A new
// system is a row there, with a file of its own in testdata/files; a new heading of a column is a name
// in fields.go; a new container implements rows.
//
// # What does not fit
//
// Nothing is folded, cut or invented: a value that has no place in a link is counted by its name, a
// record without a code or a target, with a password that is not in the file, or with a pattern is
// refused with the reason, and the server refuses links that it does not take. Titles and notes are
// exceptions: a title has one line here, so the ends of its lines become blanks, and those of a note
// become line feeds. A title in a dump that was encoded twice, beyond doubt, is read as it was meant.
// What is known of a refused record is kept in a form that can be corrected and read again (rejected.go).
//
// A link that is damaged in pages of JSON is refused with the number of bytes that were passed over, and
// the next one is read (resync.go). Of a dump with several tables of links one is read, and the others
// are named.
//
// Links of several hosts in one file would collide if all became links of one domain. So those of the
// first host name no domain, and those of others are refused until somebody says where they go.
//
// # What went wrong for others
//
// Each trouble that people had with importers of other systems, and doors to them, has a test here:
//
//	codes that differ by case      TestOnlyImportsMayDifferFromTakenCodesByCase
//	custom aliases, mixed case,    TestFilesOfOtherSystems, by testdata/files.txt
//	no visits, text like “BlÃ¼te”
//	emoji end an import            TestThePageImportsWhatAnotherSystemGivesOut
//	times in a wrong zone          cases in importtimes.txt of cmd/shunt/e2e
//	one bad row ends all           importing.txt
//	a second import doubles        importreuse.txt, importfiles.txt
//	no choice of a domain          importfiles.txt
//	clicks are lost                importdaily.txt
//	many rows time out or double   TestAnImportThatIsCutGoesOn
//	a flood guard stops it         TestACreateOfManyLinksCountsEachLink
//	%, %0A and case of a query     TestATargetLeavesADoorAsItCame
//	a repeated target              testdata/doors/yourls.txt of api, and the proof clients
package source
