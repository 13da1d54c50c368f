package replica

import "shunt/storage/clusterlog"

// Nodes are upgraded one by one, so for a while some read newer entries than others. The leader writes the
// newest version that all nodes read. It checks this each second, when it trims; a leadership begins with the
// oldest version.

// oldestReader returns the newest version of entries that all nodes read. A node that is down counts, because it
// would stop at a newer entry when it comes back; a forgotten one does not. Without any node only the oldest
// version is certain.
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
