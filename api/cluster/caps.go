package cluster

import (
	"encoding/json"

	"shunt/api/problem"
	"shunt/engine"
)

// CapsPath is where a node asks the one that leads whether links with a cap may be followed:
//
//	POST /cluster/caps
//
// with a list of CapAsks as JSON. The answer is a list of CapAnswers, one for each.
const CapsPath = PeerPrefix + "caps"

// FindPath is where a node asks the one that leads about codes that it does not know:
//
//	POST /cluster/find
//
// with an absent.Question as JSON. The answer is an absent.Found.
const FindPath = PeerPrefix + "find"

// UnlockPath is where an edge asks the node that leads whether a visitor has typed the password of a link:
//
//	POST /cluster/unlock
//
// with a lock.Question as JSON. The answer is a lock.Answer.
const UnlockPath = PeerPrefix + "unlock"

// MaxCapsBytes bounds both lists as JSON.
const MaxCapsBytes = engine.MaxCapAsks * 256

// ReadCapAsks reads the list of a node. Errors are problems.
func ReadCapAsks(body []byte) (asks []engine.CapAsk, err error) {
	if len(body) > MaxCapsBytes {
		return nil, problem.New(problem.BadRequest, "a list of questions about caps has at most %d bytes", MaxCapsBytes)
	}
	if err := json.Unmarshal(body, &asks); err != nil {
		return nil, problem.New(problem.BadRequest, "not a list of questions about caps: %v", err)
	}
	if len(asks) > engine.MaxCapAsks {
		return nil, problem.New(problem.BadRequest, "a node asks for at most %d links at a time", engine.MaxCapAsks)
	}
	return asks, nil
}
