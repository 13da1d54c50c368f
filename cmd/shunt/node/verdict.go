package node

import (
	"errors"
	"fmt"

	"shunt/storage/clusterlog"
)

// verdicts say what to do about an error with which a node cannot follow its cluster's log.
var verdicts = []struct {
	err  error
	next string
}{
	{clusterlog.ErrAhead, "the servers of etcd were restored from an older copy, or are other ones. Restore the newer state of etcd; or, if it is lost, " +
		"stop the node with the highest entry ('shunt check'), and run 'shunt cluster renew --replace' with its data folder"},
	{clusterlog.ErrDiverged, "this data folder and the log have different histories since one of them was restored from an older copy. Move the folder away " +
		"and run 'shunt join'; what only this node has stays in the folder"},
	{clusterlog.ErrForeignLog, "check that --cluster names the right servers and the right prefix, and --data the right folder. If etcd has lost the log, " +
		"stop the node with the highest entry ('shunt check'), and run 'shunt cluster renew' with its data folder"},
	{clusterlog.ErrNewerVersion, "run the newer version of shunt on this node, too; the data is unchanged"},
	{clusterlog.ErrNameTaken, "give this node another --node-name; or, if the other one is gone for good, run 'shunt cluster forget' with that name"},
	{clusterlog.ErrForgotten, "start this node again from a copy of another node's data: move its data folder away and run 'shunt join'"},
	{clusterlog.ErrClock, "correct the wrong clock, preferably with NTP, and start this node again; nothing was changed"},
	{clusterlog.ErrOldServer, "upgrade the servers of etcd, one after the other"},
}

// withVerdict adds to an error what to do about it. final reports whether a retry cannot help.
func withVerdict(err error) (_ error, final bool) {
	for _, v := range verdicts {
		if errors.Is(err, v.err) {
			return fmt.Errorf("%w. %s", err, sentence(v.next)), true
		}
	}
	return err, false
}

// sentence returns text with a capital at its beginning.
func sentence(text string) string { return string(text[0]-'a'+'A') + text[1:] }
