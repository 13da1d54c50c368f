package crashtest

import (
	"context"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"shunt/engine"
)

func init() { tasks["faults"] = faultChild }

// A script is the same for the same seed, so that the parent knows what step n of a child was.
type script struct {
	steps []step
}

type step struct {
	verb  string // create, edit, delete, hit, account, hour, reserve or reopen
	row   string
	draft engine.Draft // of create and edit
	value string       // of account; "" deletes
}

const (
	scriptSteps = 200
	scriptLinks = 60
	hitsAStep   = 4
)

func newScript(seed uint64) script {
	rng := rand.New(rand.NewPCG(seed, 3))
	var sc script
	for n := range scriptSteps {
		sc.steps = append(sc.steps, drawStep(rng, n))
	}
	sc.steps[scriptSteps/2] = step{verb: "reopen"}
	return sc
}

func drawStep(rng *rand.Rand, n int) step {
	s := step{row: fmt.Sprintf("link-%d", rng.IntN(scriptLinks))}
	s.draft = engine.Draft{
		Alias: s.row, Owner: 1, RedirectStatus: 302, Texts: engine.Texts{Title: fmt.Sprintf("title %d", n)}, Tags: []string{"a", "b"}[:rng.IntN(3)], Split: someSplit,
		Target: fmt.Sprintf("https://example.com/%d/%s", n, strings.Repeat("x", rng.IntN(2000))),
	}
	switch k := rng.IntN(100); {
	case k < 40:
		s.verb = "create"
	case k < 70:
		s.verb = "edit"
	case k < 74:
		s.verb = "delete"
	case k < 85:
		s.verb = "hit"
	case k < 93:
		s.verb, s.row = "account", accountRow+strconv.Itoa(rng.IntN(4))
		if rng.IntN(3) > 0 {
			s.value = fmt.Sprintf("value %d %s", n, strings.Repeat("v", 300_000)) // so that memtables fill up and logs rotate
		}
	case k < 97:
		s.verb = "hour"
	default:
		s.verb = "reserve"
	}
	return s
}

// player runs a script. It prints a line when a step begins and when it is acknowledged.
type player struct {
	mu    sync.Mutex
	fs    *faultFS
	dir   string
	nowMs atomic.Int64
	s     *session
}

func (p *player) say(format string, args ...any) {
	p.mu.Lock()
	defer p.mu.Unlock()
	fmt.Printf(format+"\n", args...) // os.Stdout has no buffer
}

var scriptStart = time.Date(2026, 1, 2, 3, 59, 0, 0, time.UTC)

// exitSkipped is the exit code of a child whose fault does not apply to operation k.
const exitSkipped = 7

// faultChild runs the task "DIR SEED K MODE".
func faultChild() {
	seed, _ := strconv.ParseUint(os.Args[2], 10, 64)
	k, _ := strconv.ParseInt(os.Args[3], 10, 64)
	p := &player{dir: os.Args[1], fs: &faultFS{FS: vfs.Default, k: k, mode: faultMode(os.Args[4]), skip: func() { os.Exit(exitSkipped) }}}
	p.fs.fault = func(op string) { p.say("fault %d %s", time.Now().UnixNano(), op) }
	p.nowMs.Store(scriptStart.UnixMilli())
	p.open()
	for n, s := range newScript(seed).steps {
		p.say("begin %d", n)
		if acked, err := p.play(&s); err != nil {
			p.say("refuse %d %v", n, err)
		} else {
			p.say("ack %d %s", n, acked)
		}
	}
	p.close()
	p.say("operations %d", p.fs.n.Load())
}

// end ends the process as the server does when it cannot open or close its store.
func end(doing string, err error) {
	fmt.Fprintf(os.Stderr, "shunt: %s: %v\n", doing, err)
	os.Exit(1)
}

func (p *player) open() {
	s, err := openSession(setting{
		fs: p.fs, dir: filepath.Join(p.dir, "data"), journal: filepath.Join(p.dir, "journal"), flushInterval: 5 * time.Millisecond,
		now: func() time.Time { return time.UnixMilli(p.nowMs.Load()) }, log: slog.New(slog.NewTextHandler(os.Stderr, nil)),
	})
	if err != nil {
		end("opening", err)
	}
	p.s = s
	s.start()
}

func (p *player) close() {
	if err := p.s.close(); err != nil {
		end("closing", err)
	}
}

// play runs a step, and returns the facts that the ledger needs.
func (p *player) play(s *step) (acked string, err error) {
	ctx := context.Background()
	switch s.verb {
	case "create":
		d, _, err := p.s.e.Create(ctx, s.draft)
		return fmt.Sprint(d.Version, " ", d.ID), err
	case "edit":
		d, err := p.s.e.Update(ctx, keyOf(s.row), engine.Guard{AnyOwner: true}, func(r *engine.Record) error {
			r.Hot.Target, r.Cold.Title, r.Cold.Tags = s.draft.Target, s.draft.Title, s.draft.Tags
			return nil
		})
		return fmt.Sprint(d.Version, " ", d.ID), err
	case "delete":
		return "0 0", p.s.e.Delete(ctx, keyOf(s.row), engine.Guard{AnyOwner: true})
	case "hit":
		return fmt.Sprint(p.hit(s.row)), nil
	case "account":
		key := []byte(strings.TrimPrefix(s.row, accountRow))
		if s.value == "" {
			return "0 0", p.s.writeAccounts(nil, [][]byte{key}, nil)
		}
		return "0 0", p.s.writeAccounts([][2][]byte{{key, []byte(s.value)}}, nil, nil)
	case "reserve":
		first, err := p.s.store.AllocateIDs(10)
		return fmt.Sprint(first), err
	case "hour":
		p.nowMs.Add(3600_000)
	case "reopen":
		p.close()
		p.open()
	}
	return "", nil
}

func (p *player) hit(code string) (answered int) {
	for visitor := range hitsAStep {
		l, ok := p.s.e.Resolve(keyOf(code).View())
		v := engine.Visit{Visitor: spread(uint64(visitor)), NowMs: p.nowMs.Load(), Kind: engine.KindOf(engine.ClassHit, uint8(visitor%(someTargets+1)))}
		if ok && p.s.e.Hit(l, v) {
			answered++
		}
	}
	time.Sleep(2 * time.Millisecond) // so that flushes come between hits
	return answered
}
