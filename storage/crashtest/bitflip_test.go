package crashtest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"shunt/engine/expect"
)

// TestAFlippedBitIsNeverSilentlyWrong flips one bit of one file of a data folder at a time, opens
// it, and reads everything. Either the folder is refused, or rows that cannot be read are errors,
// or everything is right, or hits of the journal are missing and that is reported.
func TestAFlippedBitIsNeverSilentlyWrong(t *testing.T) {
	trials := number(t, "SHUNTTEST_FLIPS", 40)
	p := &flipProof{t: t, folder: t.TempDir(), seed: seed(t), results: map[string]map[string]int{}, texts: map[string]int{}}
	out, err := childCommand(context.Background(), "folder", p.folder).CombinedOutput()
	expect.MustThat(t, err == nil, "building the folder: %v\n%s", err, out)
	var wg sync.WaitGroup
	for i := range uint64(children) {
		wg.Go(func() { p.trials(t.TempDir(), trials*i/children, trials*(i+1)/children) })
	}
	wg.Wait()
	t.Logf("\n%s", p)
}

func childCommand(ctx context.Context, task string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, os.Args[0], args...)
	cmd.Env = append(os.Environ(), childEnv+"="+task)
	return cmd
}

// flipProof collects the outcomes of flipped bits.
type flipProof struct {
	t      *testing.T
	folder string
	seed   uint64

	mu      sync.Mutex
	results map[string]map[string]int // by kind of file and outcome
	texts   map[string]int
}

// trials runs the trials from ≤ i < to in child processes. After a trial that ended its process it
// starts another one.
func (p *flipProof) trials(dir string, from, to uint64) {
	for from < to {
		cmd := childCommand(context.Background(), "bitflip", p.folder, dir, fmt.Sprint(p.seed), fmt.Sprint(from), fmt.Sprint(to))
		var stdout, stderr bytes.Buffer
		cmd.Stdout, cmd.Stderr = &stdout, &stderr
		err := cmd.Run()
		var exit *exec.ExitError
		if err != nil && !errors.As(err, &exit) {
			p.t.Error(err)
			return
		}
		next, open := p.read(stdout.String(), from)
		if err == nil {
			return
		}
		if open == "" {
			p.t.Errorf("a child ended outside of trials: %v\n%s", err, tail(stderr.String()))
			return
		}
		outcome := "!ends: " + tail(stderr.String())
		if cmd.ProcessState.ExitCode() == 1 && strings.Contains(stderr.String(), "the store cannot go on") {
			outcome = "ends with a clear line: " + tail(stderr.String())
		}
		p.note(open, outcome)
		from = next
	}
}

// read notes the output of a child. It returns the number after the last trial that began, and that
// trial if it did not end.
func (p *flipProof) read(said string, from uint64) (next uint64, open string) {
	for line := range strings.Lines(said) {
		line = strings.TrimSpace(line)
		if rest, ok := strings.CutPrefix(line, "trial "); ok {
			n, name, _ := strings.Cut(rest, " ")
			from, _ = strconv.ParseUint(n, 10, 64)
			from++
			open = name
		}
		if rest, ok := strings.CutPrefix(line, "result "); ok {
			p.note(open, rest)
			open = ""
		}
	}
	return from, open
}

func (p *flipProof) note(where, outcome string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	name, _, _ := strings.Cut(where, " ")
	file := kindOfFile(name)
	if strings.HasPrefix(name, "journal/") {
		file = "journal ring"
		if strings.HasSuffix(name, "referrers") {
			file = "journal's dictionary"
		}
	}
	short, text, _ := strings.Cut(outcome, ": ")
	expect.That(p.t, !strings.HasPrefix(short, "!"), "bit %s flipped: %s", where, outcome)
	if p.results[file] == nil {
		p.results[file] = map[string]int{}
	}
	p.results[file][short]++
	p.texts[file+": "+short+": "+kindOfText(text)]++
}

// kindOfText returns a message with its digits replaced.
func kindOfText(text string) string {
	return strings.Map(func(r rune) rune {
		if r >= '0' && r <= '9' {
			return '#'
		}
		return r
	}, text[:min(len(text), 160)])
}

func (p *flipProof) String() string {
	columns := map[string]bool{}
	for _, row := range p.results {
		for outcome := range row {
			columns[outcome] = true
		}
	}
	names := slices.Sorted(maps.Keys(columns))
	var b strings.Builder
	fmt.Fprintf(&b, "| file | trials | %s |\n|---|--:|%s\n", strings.Join(names, " | "), strings.Repeat("--:|", len(names)))
	for _, file := range slices.Sorted(maps.Keys(p.results)) {
		trials := 0
		for _, n := range p.results[file] {
			trials += n
		}
		fmt.Fprintf(&b, "| %s | %d |", file, trials)
		for _, name := range names {
			fmt.Fprintf(&b, " %d |", p.results[file][name])
		}
		b.WriteString("\n")
	}
	if testing.Verbose() && os.Getenv("SHUNTTEST_TEXTS") != "" {
		for _, text := range slices.Sorted(maps.Keys(p.texts)) {
			fmt.Fprintf(&b, "%d × %s\n", p.texts[text], text)
		}
	}
	return b.String()
}
