package replica

import "shunt/storage/clusterlog"

// Nodes are upgraded one by one, so for a while some read newer entries than others. The node that leads
// writes what all read. It looks each second, as it does for trimming; a leadership begins with the oldest
// version.

// oldestReader returns the newest version of entries that all nodes read. One that is down counts, too: it
// comes back, and would stop at a newer entry. It no longer does once it is forgotten. Without any node
// nothing newer than the oldest version is certain.
func oldestReader(nodes []clusterlog.Member) (version int) {
	for _, n := range nodes {
		if version == 0 || n.Reads < version {
			version = n.Reads
		}
	}
	return version
}

// noteVersion lets the store write a version of entries.
func (t *trimmer) noteVersion(version int) {
	t.replica.store.WriteEntries(version)
	if t.version != 0 && t.version != version {
		t.replica.logger.Info("the nodes of the cluster read another version of entries now", "before", t.version, "now", version)
	}
	t.version = version
}
