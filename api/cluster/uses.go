package cluster

// UsesPath is where a full node tells the one that leads when tokens were last used at it:
//
//	POST /cluster/uses
//
// with the uses as account.AppendUses writes them. The answer has status 204, which does not promise that they are
// durable: a crash loses a minute of last uses, as on one machine.
const UsesPath = PeerPrefix + "uses"
