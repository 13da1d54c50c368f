package importer

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"time"

	"shunt/api/client"
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
	Stderr  io.Writer
	Refused string // the file for all refused lines; empty: none
	Resume  bool   // go on where an earlier import of the file was cut
	To      string // names the server and the owner, to know an earlier import
	// Send is ImportAll of a client.
	Send func(context.Context, iter.Seq[*client.ImportBatch]) iter.Seq2[client.ImportResult, error]

	source    *source
	report    *report
	marks     markFile
	batches   int  // with results, of this run
	resumable bool // the mark is written
	done      Done
}

// ErrInterrupted is the error of an import whose context has ended.
var ErrInterrupted = errors.New("interrupted")

// errMissing is the error of a server that lacks what it had imported before.
var errMissing = errors.New("the server does not have what was imported before")

// answerPatience is how long an import that is interrupted waits for answers.
const answerPatience = 5 * time.Second

// Run imports the file. After the end of ctx it waits some seconds for the answers to what it has
// sent, and returns ErrInterrupted. It returns what has been done also with an error; if
// resumable, a later run with Resume goes on there.
func (x *Import) Run(ctx context.Context) (done Done, resumable bool, err error) {
	if x.source, err = openSource(x.File, x.Stdin); err != nil {
		return Done{}, false, err
	}
	defer x.source.close()
	x.marks = markFile{path: x.source.name + markSuffix, unfit: x.source.spooled}
	defer x.marks.close()
	from, err := x.begin()
	if err != nil {
		return Done{}, false, err
	}
	defer func() { err = errors.Join(err, x.report.close()) }()
	if err = x.importFrom(ctx, from); errors.Is(err, errMissing) {
		fmt.Fprintf(x.Stderr, "shunt: the server does not have the lines before %d: %s is imported from the beginning\n",
			from.Next.Line, console.Printable(x.source.name))
		err = x.importFrom(ctx, nil)
	}
	if err == nil {
		x.report.end()
		x.marks.remove()
	}
	return x.done, err != nil && x.resumable, err
}

// begin returns the mark from which to go on; nil: from the beginning.
func (x *Import) begin() (from *mark, err error) {
	name := console.Printable(x.source.name)
	switch {
	case x.Resume && x.source.spooled:
		return nil, fmt.Errorf("%s can be read only once, so its import cannot be resumed", name)
	case x.Resume:
		if from, err = resumed(x.source, x.marks.path, x.To); err != nil {
			return nil, err
		}
		x.marks.own = from != nil
	case !x.source.spooled:
		if left, err := readMark(x.marks.path); err == nil && left != nil && left.of(x.source, x.To) {
			x.marks.own = true
			fmt.Fprintf(x.Stderr, "shunt: an earlier import of %s was cut at line %d; --resume goes on there, this one begins at the beginning\n", name, left.Next.Line)
		}
	}
	x.report = &report{name: x.source.name, stderr: x.Stderr, progress: console.NewProgress(x.Stderr), size: x.source.size}
	return from, x.report.keepRefused(x.Refused, from != nil)
}

// importFrom imports what follows a mark, or the whole file. It first sends the last batch of the
// mark again; errMissing: the server did not have it.
func (x *Import) importFrom(ctx context.Context, from *mark) error {
	var at position
	var known *position // the end of the batch that is sent again
	var err error
	if from != nil {
		at, known, x.done, x.resumable = from.From, &from.Next, from.Done, true
	} else if at, err = x.source.start(); err != nil {
		return err
	} else {
		x.done, x.resumable, x.batches = Done{}, false, 0
	}
	x.report.begun, x.report.begunAt = time.Now(), x.source.passed(at)
	hard, cancel := context.WithCancel(context.WithoutCancel(ctx))
	defer cancel()
	defer context.AfterFunc(ctx, func() { time.AfterFunc(answerPatience, cancel) })()
	read := newBatches(ctx, x.source, at, known)
	for result, err := range x.Send(hard, read.all) {
		if err == nil {
			err = x.take(result, known != nil)
		}
		if err != nil {
			return interruptedOr(ctx, err)
		}
		known = nil
		read.recycle(result.Batch.Note.(*batch))
	}
	switch {
	case read.err != nil:
		return read.err
	case !read.ended:
		return ErrInterrupted
	}
	return nil
}

// interruptedOr returns err, unless it comes from the end of ctx.
func interruptedOr(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return ErrInterrupted
	}
	return err
}

// take counts and reports a result. again: the batch was counted before, and only has to be there.
func (x *Import) take(result client.ImportResult, again bool) error {
	b := result.Batch.Note.(*batch)
	if again && result.Created > 0 {
		return errMissing
	}
	x.report.links += len(b.lines)
	if again {
		return nil
	}
	x.done.Created += result.Created
	x.done.Existing += result.Existing
	x.refuse(b, result.Refused)
	x.report.say(x.source.passed(b.to))
	return x.mark(b)
}

// refuse reports the refused lines of b, in their order.
func (x *Import) refuse(b *batch, refused []client.BulkItem) {
	sent := 0
	for _, l := range b.lines {
		why := l.refused
		if why == "" {
			if len(refused) > 0 && refused[0].Index == sent {
				why, refused = reason(b.Link(sent), refused[0].Problem), refused[1:]
			}
			sent++
		}
		if why != "" {
			x.done.Failed++
			x.report.refuse(l.number, why)
		}
	}
}

// mark writes the mark after b. If it cannot, the import goes on without one.
func (x *Import) mark(b *batch) error {
	x.batches++
	if x.marks.unfit || x.batches < markedBatches && !x.resumable {
		return nil
	}
	if err := x.report.flush(); err != nil {
		return err
	}
	err := x.marks.write(&mark{
		Bytes: x.source.size, Modified: x.source.modified, To: x.To, From: b.from, Next: b.to, Done: x.done,
	})
	if x.resumable = err == nil; err != nil {
		x.marks.unfit = true
		x.report.progress.End()
		fmt.Fprintf(x.Stderr, "shunt: this import cannot be resumed if it is cut: %s\n", console.PlainText(err))
	}
	return nil
}
