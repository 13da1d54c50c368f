package importer

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"time"

	"shunt/api/client"
	"shunt/api/source"
	"shunt/cmd/shunt/console"
	"shunt/engine/plural"
)

// Done is how many links were imported, in all runs of an import that was resumed.
type Done struct {
	Created  int `json:"created"`
	Existing int `json:"existing"`
	Failed   int `json:"failed"`
}

func (d Done) String() string {
	return fmt.Sprintf("%s imported, %d already there, %d refused", plural.Of(d.Created, "link", "links"), d.Existing, d.Failed)
}

// Links returns how many links that is.
func (d Done) Links() int { return d.Created + d.Existing + d.Failed }

// An Import is an import of one file.
type Import struct {
	File    string // - is Stdin
	Stdin   io.Reader
	Fetch   func(ctx context.Context, to io.Writer) error // gets what is imported from elsewhere, which File names; nil: File is read
	Stderr  io.Writer
	Refused string // names the file with all refused records that Keep writes; empty: it writes none
	Keep    Keeper // of refused records; nil: there is none
	Format  source.Options
	Domain  string // of links whose records name none, for the summary; empty: the default one
	DryRun  bool   // Send changes nothing
	Resume  bool   // go on where an earlier import of the file was cut
	To      string // names the server and the owner, to know an earlier import
	// Send is ImportAll of a client. System is set before it is called.
	Send   func(context.Context, iter.Seq[[]json.RawMessage]) iter.Seq2[client.ImportResult, error]
	System string // the name of the format in which the file is

	file      *file
	report    *report
	mark      mark
	met       source.Source
	reasons   map[string]int // of refusals
	markPath  string
	unmarked  bool // no mark can be written, or it would be of no use
	ownMark   bool // the mark at markPath is of this import: an earlier run has left it, or this one has written it
	batches   int  // with results, of this run
	resumable bool // the mark is written
}

// A Refusal is a record that was refused.
type Refusal struct {
	At, Why string
	Link    []byte          // what was sent, or the Rest of the source; valid as long as the call
	Problem *client.Problem // of the server; nil: the source refused it
}

// A Keeper keeps refused records.
type Keeper interface {
	// Begin comes first, and is told whether those of an earlier run stay.
	Begin(resumed bool) error
	// Keep takes the next ones.
	Keep(context.Context, []Refusal) error
}

// ErrInterrupted is the error of an import whose context has ended.
var ErrInterrupted = errors.New("interrupted")

// errMissing is the error of a server that lacks what it had imported before.
var errMissing = errors.New("the server does not have what was imported before")

// answerPatience is how long an import that is interrupted waits for an answer.
const answerPatience = 5 * time.Second

// Run imports the file. After the end of ctx it waits some seconds for the answer to what it has
// sent, and returns ErrInterrupted. It returns what has been done also with an error; if
// resumable, a later run with Resume goes on there.
func (x *Import) Run(ctx context.Context) (done Done, resumable bool, err error) {
	if x.file, err = x.open(ctx); err != nil {
		return Done{}, false, err
	}
	defer x.file.Close()
	x.markPath, x.unmarked = x.File+markSuffix, x.file.spooled || x.DryRun
	from, err := x.begin()
	if err != nil {
		return Done{}, false, err
	}
	defer x.report.progress.End()
	if err = x.importFrom(ctx, from); errors.Is(err, errMissing) {
		fmt.Fprintf(x.Stderr, "shunt: the server does not have what was imported before, up to line %d: %s is imported from the beginning\n", from.Last, x.file.name)
		err = x.importFrom(ctx, nil)
	}
	if err == nil {
		x.report.end()
		if x.ownMark {
			removeMark(x.markPath) // its import cannot be resumed any more: another run finds all links
		}
	}
	return x.mark.Done, err != nil && x.resumable, err
}

// open opens what is imported.
func (x *Import) open(ctx context.Context) (*file, error) {
	switch {
	case x.Fetch != nil:
		return open(x.File, func(to io.Writer) error { return x.Fetch(ctx, to) })
	case x.File == "-":
		return open("standard input", copyOf(x.Stdin))
	}
	return open(x.File, nil)
}

// begin returns the mark from which to go on; nil: from the beginning.
func (x *Import) begin() (from *mark, err error) {
	switch {
	case x.Resume && x.DryRun:
		return nil, errors.New("a dry run imports nothing, so it cannot be resumed")
	case x.Resume && x.file.spooled:
		return nil, fmt.Errorf("%s can be read only once, so its import cannot be resumed", x.file.name)
	case x.Resume:
		if from, err = resumed(x.file, x.markPath, x.To, x.Format.String()); err != nil {
			return nil, err
		}
		x.ownMark = from != nil
	case !x.file.spooled && !x.DryRun:
		if left, err := readMark(x.markPath); err == nil && left != nil && left.of(x.file, x.To, x.Format.String()) {
			x.ownMark = true
			fmt.Fprintf(x.Stderr, "shunt: an earlier import of %s was cut after line %d; --resume goes on there, this one begins at the beginning\n", x.file.name, left.Last)
		}
	}
	x.report = &report{stderr: x.Stderr, progress: console.NewProgress(x.Stderr), size: x.file.size, kept: x.Refused}
	if x.Keep != nil {
		err = x.Keep.Begin(from != nil)
	}
	return from, err
}

// importFrom imports what follows a mark, or the whole file. It first sends the last batch of the
// mark again; errMissing: the server did not have it.
func (x *Import) importFrom(ctx context.Context, from *mark) error {
	records, err := x.file.records(x.Format)
	if err != nil {
		return err
	}
	x.met, x.reasons, x.System = records, make(map[string]int), records.Summary().Format
	x.mark = mark{Bytes: x.file.bytes, Modified: x.file.modified, To: x.To, As: x.Format.String()}
	at, knownTo := 0, 0
	x.resumable, x.batches = from != nil, 0
	if from != nil {
		x.mark, at, knownTo = *from, from.From, from.Next
	}
	for range at {
		if _, err := records.Next(); err != nil {
			return err
		}
	}
	x.report.begun, x.report.begunAt = time.Now(), records.Passed()
	reading, stop := context.WithCancel(ctx)
	ahead, ended := readAhead(reading, records, at, knownTo)
	err = x.send(ctx, ahead, knownTo)
	stop()
	switch failed := ended(); {
	case err == nil:
		return failed
	case ctx.Err() != nil:
		return ErrInterrupted
	}
	return err
}

// send sends the batches, and uses their results. Those up to knownTo were counted before, and only
// have to be there.
func (x *Import) send(ctx context.Context, ahead <-chan *batch, knownTo int) error {
	hard, cancel := context.WithCancel(context.WithoutCancel(ctx))
	defer cancel()
	defer context.AfterFunc(ctx, func() { time.AfterFunc(answerPatience, cancel) })()
	var b *batch
	var interrupted error
	batches := func(yield func([]json.RawMessage) bool) {
		for b = range ahead {
			if ctx.Err() != nil {
				interrupted = ErrInterrupted
				return
			}
			if !yield(b.links) {
				return
			}
		}
	}
	for result, err := range x.Send(hard, batches) {
		if err != nil {
			return err
		}
		x.report.links += len(b.records)
		if b.to > knownTo {
			err = x.take(hard, b, result)
		} else if result.Created > 0 {
			err = errMissing
		}
		if err != nil {
			return err
		}
	}
	return interrupted
}

// take counts and reports the result of a batch, and writes the mark after it.
func (x *Import) take(ctx context.Context, b *batch, result client.ImportResult) error {
	m := &x.mark
	m.From, m.Next, m.Last = m.Next, b.to, b.records[len(b.records)-1].number
	m.Done.Created += result.Created
	m.Done.Existing += result.Existing
	refused := x.refused(b, result.Refused)
	if x.report.refuse(refused); x.Keep != nil && len(refused) > 0 {
		if err := x.Keep.Keep(ctx, refused); err != nil {
			return err
		}
	}
	x.report.say(b.passed)
	x.batches++
	if x.unmarked || x.batches < markedBatches && !x.resumable {
		return nil
	}
	err := m.write(x.markPath)
	if x.resumable = err == nil; err != nil { // the import goes on without one
		x.unmarked = true
		x.report.progress.End()
		fmt.Fprintf(x.Stderr, "shunt: this import cannot be resumed if it is cut: %s\n", console.PlainText(err))
	}
	x.ownMark = x.ownMark || x.resumable
	return nil
}

// refused returns the refused records of b, in their order, and counts them.
func (x *Import) refused(b *batch, refused []client.BulkItem) (all []Refusal) {
	sent := 0
	for _, r := range b.records {
		one := Refusal{At: fmt.Sprintf("%s:%d", x.file.name, r.number), Why: console.Printable(r.refused), Link: r.rest}
		switch {
		case r.refused != "":
			x.count(one.Why)
		case len(refused) > 0 && refused[0].Index == sent:
			one.Link, one.Problem = b.links[sent], refused[0].Problem
			one.Why = reason(one.Link, one.Problem)
			x.count(kindOf(one.Problem))
			refused = refused[1:]
			sent++
		default:
			sent++
			continue
		}
		all = append(all, one)
	}
	x.mark.Done.Failed += len(all)
	return all
}
