package admin

// clusterMetrics are about this process as a node of a cluster. Without a cluster they are absent.
var clusterMetrics = []metric{
	{
		name: "shunt_cluster_role", help: "1 for what this node of the cluster is at present: leader, follower or edge. An edge of a server has only edge.", labels: []string{"role"},
		words: "What this node is", unit: YesNo,
		values: []wording{{"leader", "it leads, and takes all writes"}, {"follower", "it follows the one that leads"}, {"edge", "it has links only"}},
		send: clusterSender(func(c Cluster, out sender) {
			for _, role := range ClusterRoles {
				if role == c.Role || !c.OfWriter { // else it would say that its job is a cluster without a leader
					out.gauge(oneIf(role == c.Role), role)
				}
			}
		}),
	},
	{
		name: "shunt_cluster_epoch", help: "Number of the present leadership, as far as this node knows. Each has a higher one.",
		words: "Number of the present leadership",
		send:  clusterSender(func(c Cluster, out sender) { out.gauge(float64(c.Epoch)) }),
	},
	{
		name: "shunt_cluster_sequence", help: "Last entry of the cluster's log: that this node has applied, and that it knows of.", labels: []string{"which"},
		words: "Entries of the cluster's log", values: []wording{{"applied", "applied here"}, {"head", "there"}},
		send: clusterSender(func(c Cluster, out sender) {
			out.gauge(float64(c.Applied), "applied")
			out.gauge(float64(c.Head), "head")
		}),
	},
	{
		name: "shunt_cluster_lag_seconds", help: "Time for which this node may lack what others wrote: since it last had everything. Absent until then.",
		words: "How far it may be behind", unit: Seconds,
		send: clusterSender(func(c Cluster, out sender) {
			if c.Lag >= 0 {
				out.gauge(c.Lag)
			}
		}),
	},
	{
		name: "shunt_cluster_stale", help: "1 while this node has had no log for longer than --stale-after, or this edge has not heard from its writer for 10 s; redirects go on.",
		words: "It has lacked what others wrote for too long", unit: YesNo,
		send: clusterSender(func(c Cluster, out sender) { out.gauge(oneIf(c.Stale)) }),
	},
	{
		name: "shunt_cluster_append_seconds", help: "Time to append an entry to the cluster's log, while this node led.",
		words: "Time to append to the cluster's log", unit: Seconds,
		send: clusterSender(func(c Cluster, out sender) { out.histogram(c.Append) }),
	},
	{
		name: "shunt_cluster_outbox_bytes", help: "Bytes of this node's counted hits that some full node has not pulled yet.",
		words: "Own hits that others have not pulled", unit: Bytes,
		send: clusterSender(func(c Cluster, out sender) { out.gauge(float64(c.OutboxBytes)) }),
	},
	{
		name: "shunt_cluster_outbox_age_seconds", help: "Age of the oldest of this node's counted hits that some full node has not pulled yet; 0 if there are none.",
		words: "Age of the oldest of them", unit: Seconds,
		send: clusterSender(func(c Cluster, out sender) { out.gauge(c.OutboxAge) }),
	},
	{
		name: "shunt_cluster_pull_behind_records", help: "Records of hits that another node had and this one had not applied, when that node last answered.", labels: []string{"node"},
		words: "Records not pulled yet",
		send:  ofPulls(func(p *ClusterPull) float64 { return float64(p.Records) }),
	},
	{
		name: "shunt_cluster_pull_behind_bytes", help: "Bytes of those records, estimated.", labels: []string{"node"},
		words: "Their size", unit: Bytes,
		send: ofPulls(func(p *ClusterPull) float64 { return float64(p.Bytes) }),
	},
	{
		name: "shunt_cluster_pull_behind_seconds", help: "Time since everything that another node had was applied here, or since this node began to ask it.", labels: []string{"node"},
		words: "Time since all hits were pulled", unit: Seconds,
		send: ofPulls(func(p *ClusterPull) float64 { return p.Seconds }),
	},
	{
		name: "shunt_cluster_lacks_hits", help: "1 while the figures of this node lack hits that others have, because its folder was rolled back: its next start takes a copy.",
		words: "It lacks hits, and is to be restarted", unit: YesNo,
		send: clusterSender(func(c Cluster, out sender) { out.gauge(oneIf(c.LacksHits)) }),
	},
	{
		name: "shunt_cluster_etcd_bytes", help: "Of the fullest server of etcd: bytes in use, size of its file, and its quota. Only on the node that leads.", labels: []string{"which"},
		words: "The fullest server of etcd", unit: Bytes, values: []wording{{"used", "in use"}, {"size", "size of its file"}, {"quota", "quota"}},
		send: clusterSender(func(c Cluster, out sender) {
			if c.Etcd != nil {
				out.gauge(float64(c.Etcd.Used), "used")
				out.gauge(float64(c.Etcd.Size), "size")
				out.gauge(float64(c.Etcd.Quota), "quota")
			}
		}),
	},
	{
		name: "shunt_cluster_writes_refused", help: "1 while this node leads and refuses writes because etcd fills up.",
		words: "Writes are refused because etcd fills up", unit: YesNo,
		send: clusterSender(func(c Cluster, out sender) { out.gauge(oneIf(c.WritesRefused)) }),
	},
	{
		name: "shunt_cluster_certificate_expiry_timestamp_seconds", help: "Time at which this node's certificate for other nodes and for etcd expires, in Unix seconds. Absent at an edge without one.",
		words: "Certificate for the cluster expires", unit: Moment,
		send: clusterSender(func(c Cluster, out sender) {
			if !c.CertificateEnds.IsZero() {
				out.gauge(unixSeconds(c.CertificateEnds))
			}
		}),
	},
}

// ofPulls returns a send that sends one value for each node whose hits this one pulls.
// edgeMetrics are about the edges of this server.
var edgeMetrics = []metric{
	{
		name: "shunt_edge_silent_seconds", help: "Time since an edge of this server was heard, or since this server started.", labels: []string{"edge"},
		words: "Not heard for", unit: Seconds,
		send: ofEdges(func(e *Edge) float64 { return e.Silent }),
	},
	{
		name: "shunt_edge_lag_seconds", help: "Time for which an edge may lack changes: since it last had all. Absent until it has said so.", labels: []string{"edge"},
		words: "May lack changes of", unit: Seconds,
		send: ofEdges(func(e *Edge) float64 { return e.Lag }),
	},
	{
		name: "shunt_edge_waiting_hits", help: "Hits that an edge had counted and not given when it last asked. Absent if they are too many to count.", labels: []string{"edge"},
		words: "Hits waiting there",
		send:  ofEdges(func(e *Edge) float64 { return e.WaitingHits }),
	},
	{
		name: "shunt_edge_waiting_bytes", help: "Bytes of the records of those hits.", labels: []string{"edge"},
		words: "Their size", unit: Bytes,
		send: ofEdges(func(e *Edge) float64 { return e.WaitingBytes }),
	},
	{
		name: "shunt_edge_certificate_expiry_timestamp_seconds", help: "Time at which the certificate of an edge for its visitors expires, in Unix seconds. Absent if it has none.", labels: []string{"edge"},
		words: "Certificate expires", unit: Moment,
		send: ofEdges(func(e *Edge) float64 {
			if e.ServesTill.IsZero() {
				return -1
			}
			return unixSeconds(e.ServesTill)
		}),
	},
}

// ofEdges returns a function that sends a number for each edge; negative: nothing.
func ofEdges(number func(*Edge) float64) func(*snapshot, sender) {
	return func(s *snapshot, out sender) {
		for i := range s.edges {
			if n := number(&s.edges[i]); n >= 0 {
				out.gauge(n, s.edges[i].Name)
			}
		}
	}
}

func ofPulls(value func(*ClusterPull) float64) func(s *snapshot, out sender) {
	return clusterSender(func(c Cluster, out sender) {
		for i := range c.Pulls {
			out.gauge(value(&c.Pulls[i]), c.Pulls[i].Node)
		}
	})
}
