package lock

import "shunt/engine"

// A Question is that of an edge, which has no hashes of passwords, whether a visitor has typed that of a link.
type Question struct {
	Link     engine.Key `json:"link"`
	ID       uint64     `json:"id"`
	Password string     `json:"password"`
	Network  string     `json:"network"` // of the visitor; empty: not known
}

// MaxQuestions is how many questions an edge has under way at a time.
const MaxQuestions = 4

// MaxQuestionBytes bounds a Question as JSON: a password may be escaped byte by byte.
const MaxQuestionBytes = 8 << 10

// Result says what became of an attempt.
type Result string

// Results.
const (
	Opened     Result = "opened"
	Wrong      Result = "wrong"
	Limited    Result = "limited"    // too many wrong passwords from the network
	Overloaded Result = "overloaded" // too many passwords are being compared, or nobody could be asked
)

// Results has every Result.
var Results = [...]Result{Opened, Wrong, Limited, Overloaded}

// An Answer is that to a Question.
type Answer struct {
	Result Result `json:"result"`
	Lock   uint64 `json:"lock,omitempty"`    // with Opened: that of the link now
	WaitMs int64  `json:"wait_ms,omitempty"` // with Limited: until the next attempt
}
