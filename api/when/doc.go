// Package when reads the times that people and programs send: RFC 3339, and dates. The API, the
// commands and the pages use it, so that all of them read the same text alike. It knows nothing of
// ours.
//
// A date alone is a whole day: where something ends, it is the end of that day, and where something
// begins, its beginning. The caller names the zone of the day: UTC in the API, the local zone in a
// command, the viewer's on pages.
package when
