// Package blocklist keeps the list of refused and blocked targets up to date with its file.
// It knows engine.BlockList, which looks targets up, and the figures that the metrics show of it (admin).
// Package api refuses and blocks targets by it; cmd opens it and runs it.
//
// The block list is a file of hosts and address prefixes, which engine.BlockList
// looks up. The server calls stat on it once a second and reads it when it has changed, a
// million hosts in 0.3 s, so a new host is blocked within two seconds. For two seconds after a change
// the file is read whatever stat reports, because a second change within one tick of the clock
// shows only in the content. inotify was rejected: it does not see every file system, and reports
// less when a file is moved over another. The list is matched against Location, with the forwarded
// query (package redirect). Writes of links are checked by the same list, through TargetPolicy.
package blocklist
