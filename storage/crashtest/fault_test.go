package crashtest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"shunt/engine/expect"
)

const (
	childDeadline = 20 * time.Second
	children      = 4 // at once: mostly they wait for the disk
	exitPanic     = 2
)

// TestAFailedFileOperationIsHarmlessOrClear fails each file-system operation of a scripted run in
// each way, each in a process of its own. The process goes on, or ends with a clear line;
// afterwards everything that it acknowledged must be there. SHUNTTEST_FAULT_STEP=1 fails every
// operation.
func TestAFailedFileOperationIsHarmlessOrClear(t *testing.T) {
	p := &faultProof{t: t, seed: seed(t)}
	dry := p.play(0, notDone)
	total, err := strconv.Atoi(dry.last("operations"))
	expect.MustThat(t, err == nil && dry.exit == 0, "the run without a fault: exit code %d, %v\n%s", dry.exit, err, dry.stderr)
	every := int(number(t, "SHUNTTEST_FAULT_STEP", uint64(total/8)))
	var wg sync.WaitGroup
	next := make(chan int)
	for range children {
		wg.Go(func() {
			for k := range next {
				for _, mode := range modesOf(k, every) {
					p.judge(k, mode)
				}
			}
		})
	}
	for k := 1 + rand.New(rand.NewPCG(p.seed, 4)).IntN(every); k <= total; k += every {
		next <- k
	}
	close(next)
	wg.Wait()
	t.Logf("%d operations, every %d.\n%s", total, every, p)
	for _, wrong := range p.wrong { // last, so that the end of a long log has them
		t.Error(wrong)
	}
}

// modesOf returns all modes, or two of them if only few operations are tried.
func modesOf(k, every int) []faultMode {
	if every <= 8 {
		return faultModes
	}
	return []faultMode{notDone, faultModes[1+k/every%(len(faultModes)-1)]}
}

// faultProof collects the outcomes of faults.
type faultProof struct {
	t    *testing.T
	seed uint64

	mu      sync.Mutex
	results map[faultMode]map[string]int
	slowest time.Duration  // from a fault to the end of the process
	ended   map[string]int // by the operation that failed
	wrong   []string
}

// oneFault is the judge of the files that are left after one fault.
type oneFault struct {
	*testing.T
	p *faultProof

	what   string
	said   string // on standard error
	failed bool
}

func (f *oneFault) Failed() bool { return f.failed }

func (f *oneFault) Errorf(format string, args ...any) {
	f.p.mu.Lock()
	defer f.p.mu.Unlock()
	text := f.what + ": " + fmt.Sprintf(format, args...)
	if !f.failed {
		text += "\n" + f.said
	}
	f.failed = true
	f.p.wrong = append(f.p.wrong, text)
}

// run is the output of a child and how it ended.
type run struct {
	dir            string
	exit           int
	stdout, stderr string
	hung           bool
	endedAt        time.Time
}

// last returns the rest of the last line that begins with word.
func (r *run) last(word string) (rest string) {
	for line := range strings.Lines(r.stdout) {
		if after, ok := strings.CutPrefix(strings.TrimSpace(line), word+" "); ok {
			rest = after
		}
	}
	return rest
}

func (p *faultProof) play(k int, mode faultMode) *run {
	r := &run{dir: p.t.TempDir()}
	ctx, cancel := context.WithTimeout(context.Background(), childDeadline)
	defer cancel()
	cmd := exec.CommandContext(ctx, os.Args[0], r.dir, fmt.Sprint(p.seed), fmt.Sprint(k), string(mode))
	cmd.Env = append(os.Environ(), childEnv+"=faults")
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	err := cmd.Run()
	var exit *exec.ExitError
	expect.That(p.t, err == nil || errors.As(err, &exit), "operation %d, %s: %v", k, mode, err)
	r.endedAt, r.hung, r.exit = time.Now(), ctx.Err() != nil, cmd.ProcessState.ExitCode()
	r.stdout, r.stderr = stdout.String(), stderr.String()
	return r
}

// judge plays the script with one fault and checks what is left.
func (p *faultProof) judge(k int, mode faultMode) {
	r := p.play(k, mode)
	defer os.RemoveAll(r.dir)
	if r.exit == exitSkipped {
		return
	}
	outcome := r.outcome()
	p.note(mode, outcome, r)
	f := &oneFault{T: p.t, p: p, what: fmt.Sprintf("operation %d, %s, fault %q, which %s", k, mode, r.last("fault"), outcome), said: tail(r.stderr)}
	expect.That(f, !strings.HasPrefix(outcome, "!"), "exit code %d", r.exit)
	h := newHistory(f, p.seed, new(crashTable))
	reserved, err := h.retell(newScript(p.seed), r.stdout)
	if err == nil {
		err = h.lookAt(r.dir, reserved)
	}
	expect.NoError(f, err)
}

func tail(text string) string { return text[max(0, len(text)-3000):] }

// outcome returns how the process ended. An outcome that must not be begins with "!".
func (r *run) outcome() string {
	switch {
	case r.hung:
		return "!hangs"
	case r.last("fault") == "":
		return "did not come"
	case r.exit == 0 && r.last("refuse") != "" && r.refusedAfterFault():
		return "answered as an error"
	case r.exit == 0:
		return "no effect"
	case r.exit == 1 && strings.Contains(r.stderr, "the store cannot go on"):
		return "ends: the store cannot go on"
	case r.exit == 1 && strings.Contains(r.stderr, "shunt: "):
		return "ends: not opened or closed"
	case r.exit == exitPanic:
		return "!panics"
	}
	return "!ends without a clear line"
}

// refusedAfterFault reports whether a step was refused because of the fault. Other steps are
// refused because there is no such link, or because it is taken.
func (r *run) refusedAfterFault() bool {
	for line := range strings.Lines(r.stdout) {
		if strings.HasPrefix(line, "refuse") && !strings.Contains(line, "not found") && !strings.Contains(line, "taken") {
			return true
		}
	}
	return false
}

// retell writes into the ledger what a child printed. It returns the highest id that was reserved.
func (h *history) retell(sc script, said string) (reserved uint64, err error) {
	var now *attempt
	for line := range strings.Lines(said) {
		words := strings.Fields(line)
		if len(words) < 2 {
			continue
		}
		n, err := strconv.Atoi(words[1])
		if err != nil || n >= len(sc.steps) {
			continue
		}
		s := &sc.steps[n]
		switch {
		case words[0] == "begin":
			now = h.beginStep(s)
		case words[0] == "refuse" && now != nil && !strings.Contains(line, "outcome is unknown"):
			h.ledger.refuse(now)
		case words[0] == "ack":
			id, err := h.ackStep(s, now, words[2:])
			if err != nil {
				return 0, fmt.Errorf("%q: %w", line, err)
			}
			reserved = max(reserved, id)
		}
	}
	return reserved, nil
}

func (h *history) beginStep(s *step) *attempt {
	last := h.ledger.latest(s.row)
	a := attempt{row: s.row}
	switch s.verb {
	case "create":
		a.hits = new(hits)
		a.state = showsDraft(&s.draft)
	case "edit":
		a.hits = last.hits
		a.state = showsDraft(&s.draft)
		if a.hits == nil {
			return nil
		}
	case "delete":
	case "account":
		a.state = s.value
	case "hit":
		if last.hits != nil {
			last.hits.sent.Add(hitsAStep)
			last.hits.sentVisitors.Or(1<<hitsAStep - 1)
		}
		return nil
	case "hour":
		h.nowMs.Add(3600_000)
		return nil
	default:
		return nil
	}
	return h.ledger.begin(a)
}

func (h *history) ackStep(s *step, a *attempt, words []string) (reserved uint64, err error) {
	var numbers []uint64
	for _, w := range words {
		n, err := strconv.ParseUint(w, 10, 64)
		if err != nil {
			return 0, err
		}
		numbers = append(numbers, n)
	}
	switch s.verb {
	case "create", "edit", "delete", "account":
		if a == nil {
			return 0, errors.New("acknowledged, but there is no such link")
		}
		h.ledger.acknowledge(a, s.row, numbers[0], numbers[1])
	case "hit":
		if last := h.ledger.latest(s.row); last.hits != nil {
			last.hits.answered.Add(numbers[0])
		}
	case "reserve":
		return numbers[0] + 9, nil
	}
	return 0, nil
}

// lookAt opens the folder without faults and compares it with the ledger.
func (h *history) lookAt(dir string, reserved uint64) error {
	h.ledger.tick()
	s, err := openSession(setting{
		fs: vfs.Default, dir: filepath.Join(dir, "data"), journal: filepath.Join(dir, "journal"),
		flushInterval: time.Second, now: h.now, log: quiet,
	})
	if err != nil {
		return fmt.Errorf("opening afterwards: %w", err)
	}
	at := h.ledger.tick()
	all := h.ledger.figures()
	h.check(s, &crash{kill: mapped, opening: true, moments: moments{began: at, ended: at, from: all, to: all}})
	first, err := s.store.AllocateIDs(1)
	if err == nil && first <= reserved {
		err = fmt.Errorf("got id %d, but ids up to %d are taken", first, reserved)
	}
	return errors.Join(err, s.close())
}

func (p *faultProof) note(mode faultMode, outcome string, r *run) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.results == nil {
		p.results, p.ended = map[faultMode]map[string]int{}, map[string]int{}
	}
	if p.results[mode] == nil {
		p.results[mode] = map[string]int{}
	}
	p.results[mode][outcome]++
	at, what, _ := strings.Cut(r.last("fault"), " ")
	if ns, err := strconv.ParseInt(at, 10, 64); err == nil && r.exit != 0 {
		p.slowest = max(p.slowest, r.endedAt.Sub(time.Unix(0, ns)))
		op, path, _ := strings.Cut(what, " /")
		p.ended[outcome+": "+op+" "+kindOfFile(path)]++
	}
}

// kindOfFile returns the name of a file without digits.
func kindOfFile(path string) string {
	name := filepath.Base(path)
	return strings.Trim(strings.Map(func(r rune) rune {
		if r >= '0' && r <= '9' {
			return -1
		}
		return r
	}, name), "-.")
}

func (p *faultProof) String() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	columns := map[string]bool{}
	for _, row := range p.results {
		for outcome := range row {
			columns[outcome] = true
		}
	}
	names := slices.Sorted(maps.Keys(columns))
	var b strings.Builder
	fmt.Fprintf(&b, "| fault | %s |\n|---|%s\n", strings.Join(names, " | "), strings.Repeat("--:|", len(names)))
	for _, mode := range faultModes {
		fmt.Fprintf(&b, "| %s |", string(mode))
		for _, name := range names {
			fmt.Fprintf(&b, " %d |", p.results[mode][name])
		}
		b.WriteString("\n")
	}
	fmt.Fprintf(&b, "Slowest end after a fault: %v\n", p.slowest.Round(time.Millisecond))
	for _, what := range slices.Sorted(maps.Keys(p.ended)) {
		fmt.Fprintf(&b, "%4d × %s\n", p.ended[what], what)
	}
	return b.String()
}
