package admin

// clusterMetrics are about this process as a node of a cluster. Without a cluster they are absent.
var clusterMetrics = []metric{
	{
		name: "shunt_cluster_role", help: "1 for what this node of the cluster is at present: leader, follower or edge.", labels: []string{"role"},
		words: "What this node is", unit: YesNo,
		values: []wording{{"leader", "it leads, and takes all writes"}, {"follower", "it follows the one that leads"}, {"edge", "it has links only"}},
		send: ofCluster(func(c *Cluster, out sender) {
			for _, role := range ClusterRoles {
				out.gauge(oneIf(role == c.Role), role)
			}
		}),
	},
	{
		name: "shunt_cluster_epoch", help: "Number of the present leadership, as far as this node knows. Each has a higher one.",
		words: "Number of the present leadership",
		send:  ofCluster(func(c *Cluster, out sender) { out.gauge(float64(c.Epoch)) }),
	},
	{
		name: "shunt_cluster_sequence", help: "Last entry of the cluster's log: that this node has applied, and that it knows of.", labels: []string{"which"},
		words: "Entries of the cluster's log", values: []wording{{"applied", "applied here"}, {"head", "there"}},
		send: ofCluster(func(c *Cluster, out sender) {
			out.gauge(float64(c.Applied), "applied")
			out.gauge(float64(c.Head), "head")
		}),
	},
	{
		name: "shunt_cluster_lag_seconds", help: "Time for which this node may lack what others wrote: since it last had everything. Absent until then.",
		words: "How far it may be behind", unit: Seconds,
		send: ofCluster(func(c *Cluster, out sender) {
			if c.Lag >= 0 {
				out.gauge(c.Lag)
			}
		}),
	},
	{
		name: "shunt_cluster_append_seconds", help: "Time to append an entry to the cluster's log, while this node led.",
		words: "Time to append to the cluster's log", unit: Seconds,
		send: ofCluster(func(c *Cluster, out sender) { out.histogram(c.Append) }),
	},
	{
		name: "shunt_cluster_cap_blocks", help: "Links with a cap of which this node holds hits that it may admit by itself.",
		words: "Links of whose cap this node holds a part",
		send:  ofCluster(func(c *Cluster, out sender) { out.gauge(float64(c.CapBlocks)) }),
	},
}

// ofCluster returns a send that sends nothing without a cluster.
func ofCluster(send func(c *Cluster, out sender)) func(s *snapshot, out sender) {
	return func(s *snapshot, out sender) {
		if s.cluster != nil {
			send(s.cluster, out)
		}
	}
}
