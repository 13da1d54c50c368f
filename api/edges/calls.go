package edges

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strings"
	"time"
)

// Paths of the calls, after the root of the API.
const (
	PathPrefix = "/edge/"
	MeetPath   = PathPrefix + "meet"
	CopyPath   = PathPrefix + "copy"
	FollowPath = PathPrefix + "follow"
	CapsPath   = PathPrefix + "caps"
	FindPath   = PathPrefix + "find"
	UnlockPath = PathPrefix + "unlock"

	ChallengePath = PathPrefix + "challenge"
)

// ProcessField is a header field of answers of an edge to the calls of edges: a number that the process has drawn. An
// edge that reads its own has asked itself.
const ProcessField = "Shunt-Edge-Process"

// Fields of requests that an edge passes on, once each, besides those of package relay.
const (
	TokenField = "Shunt-Edge-Token" // token of the edge; Authorization is the client's own
	HostField  = "Shunt-Host"       // Host of the client's request; Host itself is the writer's
)

// Version is that of the calls. A newer side must understand an older one, so a higher number only says that more is
// possible.
const Version = 1

const (
	// Hold is how long a writer waits for entries before it answers.
	Hold = time.Second

	// MaxRecordsBytes is about how much of its outbox an edge sends at a time, MaxEntriesBytes how much of its log a
	// writer: at least one record or entry if there is any.
	MaxRecordsBytes = 4 << 20
	MaxEntriesBytes = 4 << 20

	// MaxAskBytes and MaxAnswerBytes bound the messages, with the largest record and the largest entry beyond these.
	MaxAskBytes    = MaxRecordsBytes + 2<<20
	MaxAnswerBytes = MaxEntriesBytes + 2<<20
)

const (
	// MaxCapVisits bounds the redirects of one question about caps, MaxCapsBytes the question.
	MaxCapVisits = 1 << 14
	MaxCapsBytes = MaxCapVisits * 384

	// MaxJSONAnswerBytes bounds answers in JSON.
	MaxJSONAnswerBytes = 256 << 10
)

// Identity is what the store of a new edge begins with.
type Identity struct {
	Version    int    `json:"version"`
	Name       string `json:"name"`        // of the edge, by its token
	VisitorKey []byte `json:"visitor_key"` // of the writer
}

// Who identifies the edge that uses a token. Edges of earlier versions do not send it.
type Who struct {
	Store   string `json:"store,omitempty"`   // id of its store; empty: it has none yet
	Process string `json:"process,omitempty"` // that of ProcessField
}

// ReadWho reads the body of a call that has nothing else.
func ReadWho(b []byte) (w Who, err error) {
	if err = json.Unmarshal(b, &w); err == nil {
		err = w.check()
	}
	return w, err
}

func (w *Who) check() error {
	if max(len(w.Store), len(w.Process)) > maxPlaceBytes {
		return errors.New("an edge says who it is in at most 128 bytes each")
	}
	return nil
}

// Ask is the head of a question. After it come records of the edge's outbox.
type Ask struct {
	Who
	Version int    `json:"version"`
	Key     string `json:"key"`     // fingerprint of the edge's visitor key
	Log     string `json:"log"`     // that the edge follows, in hexadecimal
	At      string `json:"at"`      // its position there, as text
	Outbox  string `json:"outbox"`  // its outbox, in hexadecimal
	First   uint64 `json:"first"`   // position of the first record, or of the next one if there is none
	Before  string `json:"before"`  // hash of the record before that, in hexadecimal: see Answer.Last
	NoWait  bool   `json:"no_wait"` // answer at once, also without entries
	Program string `json:"program"` // version of the edge's program, for people

	Applied uint64 `json:"applied"` // sequence of At, for people; 0: the edge has no copy yet

	// Hits in the outbox after the records of this question, for people; nil: too many to count.
	Hits      *uint64 `json:"hits"`
	HitsBytes uint64  `json:"hits_bytes"`

	ServesTill int64 `json:"serves_till,omitempty"` // when the edge's certificate for visitors expires, in Unix s; 0: it has none
}

// Answer is the head of an answer. After it come entries of the log.
type Answer struct {
	Version  int    `json:"version"`
	Head     uint64 `json:"head"`           // sequence of the last entry of the log
	Taken    uint64 `json:"taken"`          // through which position the records of the outbox are applied, durably
	Last     string `json:"last"`           // hash of the record at Taken, in hexadecimal: if the edge has another one there, its folder was rolled back
	Lost     uint64 `json:"lost,omitempty"` // records before the first that the writer lacks: it was restored
	Busy     bool   `json:"busy,omitempty"` // the writer takes no more records for a moment
	Copy     Reason `json:"copy,omitempty"` // why the edge must take a copy; empty: it need not
	WaitedMs int64  `json:"waited_ms"`      // how long the writer has waited for entries
	NowMs    int64  `json:"now_ms"`         // the time at the writer, in Unix ms; 0: not said
}

// A Reason says why an edge cannot follow the log from where it is.
type Reason string

// Reasons to take a copy.
const (
	NotNeeded Reason = ""
	Behind    Reason = "behind"   // the log no longer has the next entry
	OtherLog  Reason = "log"      // the edge follows another log, or has no copy yet
	Ahead     Reason = "ahead"    // the writer was rolled back
	Diverged  Reason = "diverged" // the writer was rolled back, and went on
)

// AppendAsk appends a question.
func AppendAsk(dst []byte, a *Ask, records [][]byte) []byte { return appendMessage(dst, a, records) }

// ReadAsk is the inverse of AppendAsk. The records alias b. The numbers of a are within their ranges, and its texts
// within their lengths; Program can be printed.
func ReadAsk(b []byte) (a Ask, records [][]byte, err error) {
	records, err = readMessage(b, &a)
	if err == nil {
		err = a.check()
	}
	if err != nil {
		return Ask{}, nil, err
	}
	a.Program = printable(a.Program)
	return a, records, nil
}

const (
	maxPlaceBytes   = 128 // of each text that says where an edge is; the longest has 98
	maxProgramBytes = 100
	maxCount        = math.MaxInt64 // the largest number of the API

	// maxServesTill is the last second of which JSON has a time: the end of the year 9999, which certificates have that
	// never expire.
	maxServesTill = 253402300799
)

// check refuses what no edge says. It knows no more of a than that: the writer reads where the edge is.
func (a *Ask) check() error {
	switch {
	case a.Version < 1 || a.First == 0:
		return errors.New("a question has a version, and a position from 1 on")
	case a.First > maxCount-MaxParts || a.Applied > maxCount || a.Hits != nil && *a.Hits > maxCount || a.HitsBytes > maxCount:
		return errors.New("a question has a position or a count that is too high")
	case a.ServesTill < 0 || a.ServesTill > maxServesTill:
		return errors.New("a certificate expires before the year 10000, and after that of 1969")
	case max(len(a.Key), len(a.Log), len(a.At), len(a.Outbox), len(a.Before)) > maxPlaceBytes:
		return errors.New("a question says where an edge is in at most 128 bytes each")
	}
	return a.Who.check()
}

// printable returns a text of which people see each byte, and at most maxProgramBytes.
func printable(text string) string {
	return strings.Map(func(r rune) rune {
		if r < ' ' || r > '~' {
			return '?'
		}
		return r
	}, text[:min(len(text), maxProgramBytes)])
}

// AppendAnswer appends an answer.
func AppendAnswer(dst []byte, a *Answer, entries [][]byte) []byte {
	return appendMessage(dst, a, entries)
}

// ReadAnswer is the inverse of AppendAnswer. The entries alias b.
func ReadAnswer(b []byte) (a Answer, entries [][]byte, err error) {
	entries, err = readMessage(b, &a)
	if err == nil && a.Version < 1 {
		err = fmt.Errorf("%w: an answer without a version", errMessage)
	}
	return a, entries, err
}
