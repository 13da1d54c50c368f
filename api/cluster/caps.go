package cluster

import (
	"encoding/json"
	"fmt"

	"shunt/api/problem"
	"shunt/engine"
)

// CapsPath is where a node tells the one that leads what it has used of the caps of links:
//
//	POST /cluster/caps
//
// with a CapMessage as JSON. The answer has status 204; what follows from the message is in the log then.
const CapsPath = PeerPrefix + "caps"

// MaxCapMessageBytes bounds a CapMessage as JSON.
const MaxCapMessageBytes = engine.MaxCapReports * 512

// AppendCapMessage returns m as JSON.
func AppendCapMessage(m *engine.CapMessage) ([]byte, error) { return json.Marshal(m) }

// ReadCapMessage reads what AppendCapMessage returned. Errors are problems.
func ReadCapMessage(body []byte) (m engine.CapMessage, err error) {
	if len(body) > MaxCapMessageBytes {
		return m, problem.New(problem.BadRequest, "a message about caps has at most %d bytes", MaxCapMessageBytes)
	}
	if err := json.Unmarshal(body, &m); err != nil {
		return engine.CapMessage{}, problem.New(problem.BadRequest, "%s", fmt.Sprintf("not a message about caps: %v", err))
	}
	if len(m.Reports) > engine.MaxCapReports {
		return engine.CapMessage{}, problem.New(problem.BadRequest, "a message about caps has at most %d reports", engine.MaxCapReports)
	}
	return m, nil
}
