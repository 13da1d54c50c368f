package node

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"

	"shunt/api/absent"
	"shunt/api/cluster"
	"shunt/engine"
)

// maxFoundBytes bounds an answer about codes.
const maxFoundBytes = 4 << 10

// Absent is who is asked about codes that this node does not know: the one that leads.
func (n *Node) Absent() absent.Source {
	leader := &sender{node: n}
	return absent.Source{
		Gone: func() bool { return n.Leads() || n.Stale() },
		Ask: func(ctx context.Context, codes []engine.Key) (f absent.Found, err error) {
			body, err := json.Marshal(&absent.Question{Codes: codes})
			if err != nil {
				return f, err
			}
			if body, err = leader.post(ctx, cluster.FindPath, body, http.StatusOK, maxFoundBytes); err != nil {
				return f, err
			}
			if err := json.Unmarshal(body, &f); err != nil {
				return f, fmt.Errorf("an answer about codes: %w", err)
			}
			return f, nil
		},
		Applied: n.AwaitApplied,
	}
}
