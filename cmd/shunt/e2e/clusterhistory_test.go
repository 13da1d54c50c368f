package e2e

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"

	"shunt/engine/expect"
)

// What a client does with a code, and what it is told.
const (
	opCreate = iota
	opPatch
	opDelete
	opRead     // GET /links/{code}
	opRedirect // GET /{code}
)

type historyInput struct {
	kind   int
	domain string // a host; empty: the default one
	code   string
	target string // that is to be written
}

// key names the link.
func (in *historyInput) key() string { return in.domain + "/" + in.code }

// historyDomains are the domains of a history, which have equal codes.
var historyDomains = []string{"", "a.test", "b.test"}

// drawInput draws what a client does next. Targets name their key, so that nobody can take one for that of another.
func drawInput(rng *rand.Rand, codes, client, n int) historyInput {
	in := historyInput{kind: rng.IntN(5), domain: historyDomains[rng.IntN(len(historyDomains))], code: fmt.Sprintf("h-%d", rng.IntN(codes))}
	if in.kind == opCreate || in.kind == opPatch {
		in.target = fmt.Sprintf("https://example.com%s/%d-%d", in.key(), client, n)
	}
	return in
}

type historyOutput struct {
	status int    // 0: nothing is known: the answer was lost, or says so
	target string // that was read
}

// A codeState is what a code leads to; "": it has no link.
type codeState string

// linkModel is one code of one owner. A write whose outcome is unknown may have happened, at any later
// time, or not.
var linkModel = porcupine.NondeterministicModel{
	Init: func() []any { return []any{codeState("")} },
	Step: func(state, input, output any) []any {
		s, in, out := state.(codeState), input.(historyInput), output.(historyOutput)
		after := codeState(in.target) // of a write that happens; "" of a delete
		possible := (in.kind == opCreate) == (s == "")
		if in.kind == opRead || in.kind == opRedirect {
			if codeState(out.target) == s {
				return []any{s}
			}
			return nil
		}
		switch {
		case out.status == 0 && possible:
			return []any{s, after}
		case out.status == 0:
			return []any{s}
		case (out.status < 300) != possible:
			return nil
		case possible:
			return []any{after}
		}
		return []any{s}
	},
	Equal:             func(a, b any) bool { return a == b },
	DescribeOperation: func(in, out any) string { return fmt.Sprintf("%+v: %+v", in, out) },
}

// maxLag is how old a read may be at a node that is not stale: it refuses the API after --stale-after.
const maxLag = 10 * time.Second

// A history is the operations on all codes, in the clock of this process.
type history struct {
	began time.Time
	mu    sync.Mutex
	ops   map[string][]porcupine.Operation // by key
	done  map[string]int64                 // by node and key: when the last write by way of that node had ended
	total int
}

func newHistory() *history {
	return &history{began: time.Now(), ops: make(map[string][]porcupine.Operation), done: make(map[string]int64)}
}

func (h *history) now() int64 { return int64(time.Since(h.began)) }

// add adds an operation. A read may show the state of up to maxLag before it, but not of before a write
// that had ended at the same node.
func (h *history) add(client int, node string, in historyInput, out historyOutput, call, end int64) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.total++
	if in.kind != opRead && in.kind != opRedirect && out.status == 0 {
		end = int64(time.Hour) // if it happens, nobody knows when
	}
	h.ops[in.key()] = append(h.ops[in.key()], porcupine.Operation{ClientId: client, Input: in, Output: out, Call: call, Return: end})
}

// since returns from when on a read at a node may show the state.
func (h *history) since(node, key string, call int64) int64 {
	h.mu.Lock()
	defer h.mu.Unlock()
	return max(0, call-int64(maxLag), h.done[node+" "+key])
}

func (h *history) ended(node, key string, at int64) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.done[node+" "+key] = max(h.done[node+" "+key], at)
}

// TestHistoriesAreLinearizable has clients at all nodes that create, change, delete, read and follow links
// of few codes, while leaders are killed, stopped and paused. Writes must have one order, whatever node took
// them; a read must show the state of a moment that is not before the last write by way of its node.
func TestHistoriesAreLinearizable(t *testing.T) {
	operations := 20_000
	if n, err := strconv.Atoi(os.Getenv("SHUNTTEST_OPERATIONS")); err == nil {
		operations = n
	}
	s := newSite(t, "a", "b", "c")
	s.addHistoryDomains()
	h := newHistory()
	stop := make(chan struct{})
	var chaos, clients sync.WaitGroup
	kills := 0
	chaos.Go(func() {
		for ; ; kills++ {
			select {
			case <-stop:
				return
			case <-time.After(4 * time.Second):
			}
			leader := s.leader()
			if leader == nil {
				continue
			}
			switch kills % 3 {
			case 0:
				leader.kill()
				leader.start()
			case 1: // another node leads by the time it goes on, in the middle of what it did
				leader.pause()
				time.Sleep(5 * time.Second)
				leader.resume()
			case 2:
				leader.terminate()
				leader.start()
			}
		}
	})
	const writers = 12
	codes := max(20, operations/400)
	for c := range writers {
		clients.Go(func() { s.historyClient(h, c, codes, (operations+writers-1)/writers) })
	}
	clients.Wait()
	close(stop)
	chaos.Wait()
	h.check(t, operations, fmt.Sprintf("%d leaders killed, paused or stopped", kills))
	s.alike()
}

// addHistoryDomains adds the domains, and waits until all nodes have them.
func (s *site) addHistoryDomains() {
	s.t.Helper()
	for _, host := range historyDomains[1:] {
		s.leader().call("POST", "/domains", map[string]any{"host": host}).want(s.t, 201)
	}
	s.await(s.caughtUp, "all nodes have caught up")
}

// check checks the history of each key.
func (h *history) check(t *testing.T, operations int, faults string) {
	t.Helper()
	unknown, followed := 0, 0
	for key, ops := range h.ops {
		for _, op := range ops {
			out := op.Output.(historyOutput)
			if out.status == 0 {
				unknown++
			}
			if out.target != "" {
				followed++
				expect.That(t, strings.HasPrefix(out.target, "https://example.com"+key+"/"), "%s leads to %s", key, out.target)
			}
		}
		expect.Equal(t, porcupine.CheckOperationsTimeout(linkModel.ToModel(), ops, time.Minute), porcupine.Ok, "the history of %q, %d operations", key, len(ops))
	}
	t.Logf("%d operations on %d codes, %d with an unknown outcome, %d reads of a link, %s", h.total, len(h.ops), unknown, followed, faults)
	expect.That(t, h.total >= operations*9/10 && followed > 0, "only %d operations, %d reads of a link", h.total, followed)
}

func (s *site) historyClient(h *history, client, codes, operations int) {
	rng := rand.New(rand.NewPCG(uint64(client), 7))
	for i := 0; i < operations; {
		n := s.nodes[rng.IntN(len(s.nodes))]
		in := drawInput(rng, codes, client, i)
		call := h.now()
		from := h.since(n.name, in.key(), call)
		out, answered := historyOp(in, n.call, n.redirectIn)
		if !answered { // nothing happened
			time.Sleep(5 * time.Millisecond)
			continue
		}
		end := h.now()
		if in.kind == opRead || in.kind == opRedirect {
			call = from
		} else if out.status != 0 {
			h.ended(n.name, in.key(), end)
		}
		h.add(client, n.name, in, out, call, end)
		i++
	}
}

// historyOp does an operation. answered is false if it certainly did nothing, or read nothing.
func historyOp(
	in historyInput, call func(method, path string, body any, fields ...string) answer, redirect func(domain, code string) (int, string, error),
) (out historyOutput, answered bool) {
	path := "/links/" + in.code
	if in.domain != "" {
		path += "?domain=" + in.domain
	}
	var a answer
	switch in.kind {
	case opRedirect:
		status, location, err := redirect(in.domain, in.code)
		return historyOutput{status, location}, err == nil && (status == 302 || status == 404)
	case opRead:
		a = call("GET", path, nil)
		target, _ := a.body["url"].(string)
		return historyOutput{a.status, target}, a.status == 200 || a.status == 404
	case opCreate:
		body := map[string]any{"url": in.target, "alias": in.code}
		if in.domain != "" {
			body["domain"] = in.domain
		}
		a = call("POST", "/shorten", body)
	case opPatch:
		a = call("PATCH", path, map[string]any{"url": in.target})
	case opDelete:
		a = call("DELETE", path, nil)
	}
	var dialing *net.OpError
	switch {
	case errors.As(a.err, &dialing) && dialing.Op == "dial": // nobody was asked
		return historyOutput{}, false
	case a.err != nil, a.status == 503 && a.body["code"] == "outcome_unknown", a.status == 500:
		return historyOutput{}, true
	case a.status == 503:
		return historyOutput{}, false
	}
	return historyOutput{status: a.status}, true
}
