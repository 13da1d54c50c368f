package importer

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"shunt/api/client"
	"shunt/api/source"
	"shunt/engine/expect"
)

// A target stands for the server and its connection: it remembers codes in their order, and refuses
// links without one.
type target struct {
	codes []string
	known map[string]bool
	cutAt int           // the number of batches that are answered before the connection is cut; 0: all
	after bool          // the batch of the cut is imported, without an answer
	sent  int           // links
	takes time.Duration // for each batch
}

var errCut = errors.New("the connection was cut")

// importAll is the ImportAll of a client of the target.
func (g *target) importAll(_ context.Context, batches iter.Seq[[]json.RawMessage]) iter.Seq2[client.ImportResult, error] {
	return func(yield func(client.ImportResult, error) bool) {
		n := 0
		for links := range batches {
			if n++; g.cutAt > 0 && n > g.cutAt {
				if g.after {
					g.take(links)
				}
				yield(client.ImportResult{}, errCut)
				return
			}
			if !yield(g.take(links), nil) {
				return
			}
		}
	}
}

func (g *target) take(links []json.RawMessage) (r client.ImportResult) {
	time.Sleep(g.takes)
	g.sent += len(links)
	for i, text := range links {
		var link struct{ Code string }
		switch err := json.Unmarshal(text, &link); {
		case err != nil || link.Code == "":
			p := &client.Problem{Kind: client.ErrMalformedJSON, Detail: "D", Status: 400}
			r.Refused = append(r.Refused, client.BulkItem{Index: i, Problem: p})
		case g.known[link.Code]:
			r.Existing++
		default:
			g.known[link.Code] = true
			g.codes = append(g.codes, link.Code)
			r.Created++
		}
	}
	return r
}

// linksFile writes n links into a file; newestFirst: as exports have them.
func linksFile(t *testing.T, n int, newestFirst bool) (path string, codes []string) {
	t.Helper()
	var text bytes.Buffer
	for i := range n {
		codes = append(codes, fmt.Sprint("c", i))
		fmt.Fprintf(&text, `{"code":"c%d","url":"https://example.org/"}`+"\n", i)
	}
	if newestFirst {
		slices.Reverse(codes)
		text.WriteString("\n") // a blank line changes nothing
	}
	path = filepath.Join(t.TempDir(), "links.ndjson")
	first := map[bool]string{true: `{"short_url":"x","code":"first"}` + "\n", false: ""}[newestFirst]
	if newestFirst {
		codes = append(codes, "first")
	}
	expect.OK(t, os.WriteFile(path, append([]byte(first), text.Bytes()...), 0o600))
	return path, codes
}

func newTarget() *target { return &target{known: map[string]bool{}} }

// run imports a file into g.
func (g *target) run(t *testing.T, path string, resume bool) (done Done, resumable bool, stderr string, err error) {
	t.Helper()
	var said strings.Builder
	x := &Import{File: path, Stderr: &said, Resume: resume, To: "https://sho.rt", Send: g.importAll}
	done, resumable, err = x.Run(t.Context())
	return done, resumable, said.String(), err
}

func TestAnImportThatWasCutGoesOnWhereItWasCut(t *testing.T) {
	for _, newestFirst := range []bool{false, true} {
		for _, after := range []bool{false, true} {
			path, codes := linksFile(t, 30_500, newestFirst)
			g := newTarget()
			g.cutAt, g.after = 17, after
			done, resumable, _, err := g.run(t, path, false)
			expect.MustThat(t, errors.Is(err, errCut) && resumable && done.Created == 17_000, "got %v, resumable %v, %v", done, resumable, err)
			g.cutAt, g.sent = 0, 0
			done, _, _, err = g.run(t, path, true)
			expect.That(t, err == nil && done.Created+done.Existing == len(codes) && done.Failed == 0,
				"got %v, %v, want all %d", done, err, len(codes))
			expect.Equal(t, g.sent, len(codes)-16_000, "sent links again: those after the cut, and the batch before it")
			expect.That(t, slices.Equal(g.codes, codes),
				"newest first %v: the server has %d links in another order, want %d", newestFirst, len(g.codes), len(codes))
			left, err := filepath.Glob(path + markSuffix + "*")
			expect.That(t, err == nil && left == nil, "the mark is left: %v, %v", left, err)
		}
	}
}

func TestAServerWithoutItsLinksGetsAllOfThem(t *testing.T) {
	path, codes := linksFile(t, 20_000, false)
	g := newTarget()
	g.cutAt = 15
	_, _, _, _ = g.run(t, path, false)
	g = newTarget() // restored from a backup
	done, _, said, err := g.run(t, path, true)
	expect.That(t, err == nil && done.Created+done.Existing == len(codes) && len(g.codes) == len(codes),
		"got %v, %v and %d links, want %d", done, err, len(g.codes), len(codes))
	expect.Contains(t, said, "does not have what was imported before, up to line 15000: ")
}

func TestAMarkOfAnotherImportIsNotFollowed(t *testing.T) {
	path, _ := linksFile(t, 20_000, false)
	g := newTarget()
	g.cutAt = 15
	_, _, _, _ = g.run(t, path, false)
	mark := path + markSuffix
	written, err := os.ReadFile(mark)
	expect.OK(t, err)
	_, _, said, _ := g.run(t, path, false)
	expect.Contains(t, said, "was cut after line 15000; --resume goes on there", "a run without --resume")
	x := &Import{File: path, Stderr: io.Discard, Resume: true, To: "https://other.example", Send: g.importAll}
	_, _, err = x.Run(t.Context())
	expect.That(t, err != nil && strings.Contains(err.Error(), "was being imported to https://sho.rt, not to https://other.example"), "another server: got %v", err)
	expect.OK(t, os.WriteFile(mark, written[:len(written)/2], 0o600))
	_, _, _, err = g.run(t, path, true)
	expect.That(t, err != nil && strings.Contains(err.Error(), "is damaged"), "a damaged mark: got %v", err)
	expect.OK(t, os.WriteFile(mark, written, 0o600))
	expect.OK(t, os.Chtimes(path, time.Now(), time.Now().Add(time.Hour)))
	_, _, _, err = g.run(t, path, true)
	expect.That(t, err != nil && strings.Contains(err.Error(), "has changed since its import was cut"), "another file: got %v", err)
	expect.OK(t, os.Remove(mark))
	g = newTarget()
	if done, _, _, err := g.run(t, path, true); err != nil || done.Created != 20_000 {
		t.Errorf("without a mark: got %v, %v, want the whole import", done, err)
	}
}

// TestAMarkKnowsHowItsFileIsRead: of an import without options it says nothing, as in earlier versions.
func TestAMarkKnowsHowItsFileIsRead(t *testing.T) {
	path, _ := linksFile(t, 20_000, false)
	g := newTarget()
	g.cutAt = 15
	x := &Import{File: path, Stderr: io.Discard, To: "https://sho.rt", Format: source.Options{Zone: time.UTC}, Send: g.importAll}
	_, _, err := x.Run(t.Context())
	expect.Error(t, err, errCut)
	for name, o := range map[string]source.Options{
		"another format": {Format: source.CSV}, "a column": {Columns: map[string]string{"url": "u"}}, "a host": {Hosts: map[string]string{"a": "b"}},
		"a zone": {Zone: time.FixedZone("X", 60)}, "a table": {Table: "t"}, "a log": {Clicks: new(source.ClickLog)}, "a log of a zone": {Clicks: &source.ClickLog{Zone: time.FixedZone("X", 60)}},
	} {
		x := &Import{File: path, Stderr: io.Discard, Resume: true, To: "https://sho.rt", Format: o, Send: g.importAll}
		_, _, err := x.Run(t.Context())
		expect.That(t, err != nil && strings.Contains(err.Error(), "with another --format, --map, --map-domain, --table, --log, --log-tz or --source-tz;"), "%s: got %v", name, err)
	}
	g.cutAt = 0
	done, _, _, err := g.run(t, path, true)
	expect.That(t, err == nil && done.Created == 20_000 && g.sent == 21_000, "got %v, %v after %d links", done, err, g.sent)
}

// maxImporterLines is what the importer may have with what the client does for it. One that had twice as many could do
// less.
const maxImporterLines = 900

func TestTheImporterStaysSmall(t *testing.T) {
	files, err := filepath.Glob("*.go")
	expect.OK(t, err)
	files = slices.DeleteFunc(files, func(name string) bool { return strings.HasSuffix(name, "_test.go") })
	lines := 0
	for _, name := range append(files, "../../../api/client/import.go") {
		text, err := os.ReadFile(name)
		expect.OK(t, err)
		lines += bytes.Count(text, []byte{'\n'})
	}
	expect.That(t, len(files) > 5 && lines > 500 && lines <= maxImporterLines, "%d files have %d lines, and may have %d", len(files)+1, lines, maxImporterLines)
}

func TestAnErrorOfACopyIsSaidOnce(t *testing.T) {
	f := new(file)
	err := f.spool(func(to io.Writer) error {
		expect.OK(t, f.Close())
		_, err := to.Write(make([]byte, 2<<20))
		return err
	})
	expect.That(t, errors.Is(err, os.ErrClosed) && strings.Count(err.Error(), "already closed") == 1, "got %v", err)
}

func TestNothingIsLeftOfAMarkThatCannotBeWritten(t *testing.T) {
	path, _ := linksFile(t, 12_000, false)
	expect.OK(t, os.Mkdir(path+markSuffix, 0o700)) // so a mark cannot take that name
	g := newTarget()
	if done, resumable, said, err := g.run(t, path, false); err != nil || resumable || done.Created != 12_000 || !strings.Contains(said, "cannot be resumed") {
		t.Errorf("got %v, resumable %v, %v: %s", done, resumable, err, said)
	}
	left, err := filepath.Glob(path + markSuffix + newSuffix)
	expect.That(t, err == nil && left == nil, "%v is left, %v", left, err)
}

func TestTheRestOfAKilledImportGoesWithItsMark(t *testing.T) {
	path, _ := linksFile(t, 20_000, false)
	g := newTarget()
	g.cutAt = 15
	_, _, _, _ = g.run(t, path, false)
	expect.OK(t, os.WriteFile(path+markSuffix+newSuffix, []byte("{"), 0o600))
	g.cutAt = 0
	_, _, _, err := g.run(t, path, true)
	expect.NoError(t, err)
	if left, err := filepath.Glob(path + markSuffix + "*"); err != nil || left != nil {
		t.Errorf("%v is left, %v", left, err)
	}
}

func TestRefusedLinesAreBoundedAndInOrder(t *testing.T) {
	var text strings.Builder
	for i := range 5_000 {
		text.WriteString([]string{"no JSON\n", `{"url":"x"}` + "\n", fmt.Sprintf(`{"code":"c%d"}`+"\n", i), "{\n"}[i%4])
	}
	path := filepath.Join(t.TempDir(), "links.ndjson")
	expect.OK(t, os.WriteFile(path, []byte(text.String()), 0o600))
	g, all := newTarget(), "the file of refused ones"
	var keeps kept
	for _, refused := range []string{"", all} {
		var said strings.Builder
		x := &Import{File: path, Stderr: &said, Refused: refused, Keep: &keeps, To: "https://sho.rt", Send: g.importAll}
		done, _, err := x.Run(t.Context())
		expect.MustThat(t, err == nil && done.Failed == 3_750 && done.Created+done.Existing == 1_250, "got %v, %v", done, err)
		lines := strings.Split(strings.TrimSpace(said.String()), "\n")
		last := lines[len(lines)-1]
		expect.That(t, len(lines) == maxShown+1 && strings.Contains(last, "more lines were refused") && strings.Contains(last, all) == (refused != ""),
			"got %d lines, the last is %s", len(lines), last)
		for i, want := range []string{":1: is not JSON", ":2: D (400 malformed_json)", ":4: is not JSON", ":5: is not JSON"} {
			expect.That(t, strings.HasSuffix(lines[i], want), "got %q, want %s", lines[i], want)
		}
	}
	expect.Equal(t, keeps.begun, 2)
	expect.Equal(t, len(keeps.all), 2*3_750)
	expect.That(t, strings.HasSuffix(keeps.all[0], ":1 no JSON: is not JSON") && strings.HasSuffix(keeps.all[1], `:2 {"url":"x"}: D (400 malformed_json)`), "got %q", keeps.all[:2])
}

// kept is a Keeper.
type kept struct {
	begun int
	all   []string
}

func (k *kept) Begin(bool) error {
	k.begun++
	return nil
}

func (k *kept) Keep(_ context.Context, all []Refusal) error {
	for _, one := range all {
		k.all = append(k.all, fmt.Sprintf("%s %s: %s", one.At, one.Link, one.Why))
	}
	return nil
}

func TestAnInterruptedImportKeepsItsAnswers(t *testing.T) {
	path, codes := linksFile(t, 30_000, false)
	g := newTarget()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	x := &Import{File: path, Stderr: io.Discard, To: "https://sho.rt",
		Send: func(ctx context.Context, batches iter.Seq[[]json.RawMessage]) iter.Seq2[client.ImportResult, error] {
			return func(yield func(client.ImportResult, error) bool) {
				for r, err := range g.importAll(ctx, batches) {
					if !yield(r, err) {
						return
					}
					if len(g.codes) == 12_000 {
						cancel()
					}
				}
			}
		}}
	done, resumable, err := x.Run(ctx)
	expect.That(t, errors.Is(err, ErrInterrupted) && resumable && done.Created == 12_000, "got %v, resumable %v, %v", done, resumable, err)
	done, _, _, err = g.run(t, path, true)
	expect.That(t, err == nil && done.Created == len(codes), "resumed: got %v, %v", done, err)
}

func TestInputThatCanBeReadOnceHasNoMark(t *testing.T) {
	path, codes := linksFile(t, 20_000, true)
	text, err := os.ReadFile(path)
	expect.OK(t, err)
	g := newTarget()
	g.cutAt = 15
	t.Chdir(t.TempDir())
	x := &Import{File: "-", Stdin: bytes.NewReader(text), Stderr: io.Discard, To: "https://sho.rt", Send: g.importAll}
	_, resumable, err := x.Run(t.Context())
	expect.That(t, errors.Is(err, errCut) && !resumable, "got %v, resumable %v", err, resumable)
	left, _ := os.ReadDir(".")
	expect.That(t, len(left) == 0, "left %v", left)
	g.cutAt = 0
	x = &Import{File: "-", Stdin: bytes.NewReader(text), Stderr: io.Discard, To: "https://sho.rt", Send: g.importAll}
	done, _, err := x.Run(t.Context())
	expect.That(t, err == nil && done.Created+done.Existing == len(codes) && slices.Equal(g.codes, codes), "got %v, %v", done, err)
}

// An import reads ahead by what its consumer allows, and uses its batches again.
// texts are files of n links, as systems write them.
var texts = map[string]func(n int) string{
	"our lines": func(n int) string { return lines(n, `{"code":"c%d","url":"https://example.org/"}`, "\n") },
	"a dump of YOURLS": func(n int) string {
		return "CREATE TABLE `yourls_url` (\n`keyword` varchar(100) NOT NULL,\n`url` text NOT NULL,\n`title` text,\n`timestamp` timestamp NOT NULL,\n`ip` varchar(41) NOT NULL,\n`clicks` int(10) NOT NULL\n);\nINSERT INTO `yourls_url` VALUES " +
			lines(n, `('c%d','https://example.org/a/path/of/some/length','It\'s a title','2020-02-03 12:06:17','192.0.2.1',7)`, ",") + ";\n"
	},
	"pages of Bitly": func(n int) string {
		return `{"links":[` + lines(n, `{"created_at":"2020-02-03T12:06:17+0000","id":"bit.ly/c%d","link":"https://bit.ly/c%[1]d","long_url":"https://example.org/a/path"}`, ",") + `]}`
	},
}

// lines returns a line for each of n numbers.
func lines(n int, format, between string) string {
	all := make([]string, n)
	for i := range all {
		all[i] = fmt.Sprintf(format, i)
	}
	return strings.Join(all, between)
}

func TestAnImportOfAnyLengthTakesTheSameMemory(t *testing.T) {
	for name, text := range texts {
		t.Run(name, func(t *testing.T) { takesTheSameMemory(t, text) })
	}
}

func takesTheSameMemory(t *testing.T, text func(n int) string) {
	peak := func(n int) (bytes uint64) {
		path := filepath.Join(t.TempDir(), "links")
		expect.OK(t, os.WriteFile(path, []byte(text(n)), 0o600))
		batches := 0
		x := &Import{File: path, Stderr: io.Discard, To: "https://sho.rt",
			Send: func(_ context.Context, all iter.Seq[[]json.RawMessage]) iter.Seq2[client.ImportResult, error] {
				return func(yield func(client.ImportResult, error) bool) {
					for b := range all {
						if batches++; batches%10 == 0 {
							var m runtime.MemStats
							runtime.GC()
							runtime.ReadMemStats(&m)
							bytes = max(bytes, m.HeapAlloc)
						}
						if !yield(client.ImportResult{Created: len(b)}, nil) {
							return
						}
					}
				}
			}}
		done, _, err := x.Run(t.Context())
		expect.MustThat(t, err == nil && done.Created == n, "got %v, %v", done, err)
		return bytes
	}
	short, long := peak(20_000), peak(200_000)
	// The reader has records of a batch or two at the moment, some megabytes. The longer file has 9 to 25 more.
	expect.That(t, long <= short+6<<20, "the heap grew from %d to %d bytes with ten times the links", short, long)
}
