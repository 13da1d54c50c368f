package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"shunt/api/client"
	"shunt/cmd/shunt/console"
	"shunt/cmd/shunt/linkflags"
	"shunt/cmd/shunt/settings"
	"shunt/engine"
	"shunt/engine/plural"
)

// The size of one request.
const (
	maxImportLinks = engine.MaxBulk
	maxImportBytes = 4 << 20 // half of what the server takes
	maxImportLine  = 1 << 20 // more than the server takes of one
)

// importDone is the result of an import, as --json prints it.
type importDone struct {
	Created  int `json:"created"`
	Existing int `json:"existing"`
	Failed   int `json:"failed"`
}

func (d importDone) String() string {
	return fmt.Sprintf("%s imported, %d already there, %d refused", plural.Of(d.Created, "link", "links"), d.Existing, d.Failed)
}

func newImport(stdout, stderr io.Writer) *cobra.Command {
	where, owner, asJSON := localTarget{}, []client.Option(nil), false
	cmd := &cobra.Command{
		Use:   "import FILE",
		Short: "Import links made elsewhere",
		Long: `Import links with their codes, times and hits. FILE has one JSON object per line, as 'shunt export'
prints them; - is standard input. A line needs code and url, and may have created_at, updated_at, hits
and the other fields of a link:
` + linkflags.APINames() + `
Exports, and files whose first line is newer than the last, have the newest link first: they are
imported from the last line to the first, so that lists have the same order.

A refused line is reported on standard error with its number, stops no other line, and makes the exit
code 1. A link that already exists with the same fields is not changed, so the command can be run
again after an interruption. A link that was edited since is refused, and one that was deleted is made
again. The links become yours, or another user's with --owner. Hits count in the total; their times
and visitors are not in such a file. Only admins may import.
` + whereTokensAre,
		Example: `  shunt import links.ndjson
  shunt export --server https://old.example > links.ndjson && shunt import links.ndjson --owner 3`,
		Args: exactly("FILE"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return importFile(cmd.Context(), &where, args[0], owner, asJSON, cmd.InOrStdin(), stdout, stderr)
		},
	}
	addLocalSettings(cmd, &where)
	settings.Var(cmd.Flags(), &owner, "owner", "ID", "", "give the links to the user with this ID", func(text string) ([]client.Option, error) {
		id, err := strconv.ParseUint(text, 10, 32)
		if err != nil || id == 0 {
			return nil, errors.New("must be a user's ID, which 'shunt user ls' lists")
		}
		return []client.Option{client.Owner(uint32(id))}, nil
	})
	cmd.Flags().BoolVar(&asJSON, "json", false, "print the result as JSON")
	settings.MarkArguments(cmd.Flags(), "owner", "json")
	return cmd
}

func importFile(
	ctx context.Context, where *localTarget, name string, owner []client.Option, asJSON bool, stdin io.Reader, stdout, stderr io.Writer,
) error {
	x := &importer{name: name, owner: owner, stderr: stderr, progress: console.NewProgress(stderr)}
	defer x.close()
	err := where.with(ctx, stderr, func(c *connection) error {
		x.server = c
		if err := x.open(stdin); err != nil {
			return err
		}
		return x.takeIn(ctx)
	})
	x.progress.End()
	switch {
	case err != nil && x.done == importDone{}:
		return fmt.Errorf("import: %w", err)
	case err != nil:
		return fmt.Errorf("import: %w; before that: %s", err, x.done)
	case asJSON:
		err = console.PrintValue(stdout, x.done)
	default:
		_, err = fmt.Fprintln(stdout, x.done)
	}
	if err == nil && x.done.Failed > 0 {
		err = fmt.Errorf("import: refused: %d of %s", x.done.Failed,
			plural.Of(x.done.Failed+x.done.Created+x.done.Existing, "link", "links"))
	}
	return err
}

// An importer imports the lines of a file.
type importer struct {
	name     string // of the file
	owner    []client.Option
	server   *connection
	stderr   io.Writer
	progress *console.Progress

	file   *os.File
	starts []int64 // of the lines, and the end of the last

	links   []json.RawMessage // to be sent
	numbers []int             // their lines, from 1
	bytes   int
	done    importDone
}

// open opens the file and finds its lines. Input that can be read only once (standard input, a
// pipe) becomes a file first.
func (x *importer) open(stdin io.Reader) (err error) {
	if x.name == "-" {
		x.name = "standard input"
		err = x.spool(stdin)
	} else if x.file, err = os.Open(x.name); err == nil {
		if info, statErr := x.file.Stat(); statErr == nil && !info.Mode().IsRegular() && !info.IsDir() {
			pipe := x.file
			err = x.spool(pipe)
			_ = pipe.Close()
		}
	}
	if err == nil {
		err = x.findLines()
	}
	return err
}

// spool copies the input into a file. The file has no name any more, so nothing stays after a
// crash.
func (x *importer) spool(from io.Reader) (err error) {
	if x.file, err = os.CreateTemp("", "shunt-import-"); err == nil {
		err = os.Remove(x.file.Name())
	}
	if err == nil {
		_, err = io.Copy(x.file, from)
	}
	return err
}

func (x *importer) close() {
	if x.file != nil {
		_ = x.file.Close()
	}
}

func (x *importer) findLines() error {
	if _, err := x.file.Seek(0, io.SeekStart); err != nil {
		return err
	}
	lines := bufio.NewReaderSize(x.file, 1<<16)
	at := int64(0)
	for begins := true; ; {
		part, err := lines.ReadSlice('\n')
		if begins && len(part) > 0 {
			x.starts = append(x.starts, at)
		}
		at += int64(len(part))
		begins = err == nil
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil && !errors.Is(err, bufio.ErrBufferFull) {
			return err
		}
	}
	x.starts = append(x.starts, at)
	return nil
}

// byteOrderMark may begin a file made on Windows.
var byteOrderMark = []byte("\ufeff")

// read returns line i, from 0; false: it is too long.
func (x *importer) read(i int) (text []byte, ok bool, err error) {
	size := x.starts[i+1] - x.starts[i]
	if size > maxImportLine {
		return nil, false, nil
	}
	text = make([]byte, size)
	if _, err := x.file.ReadAt(text, x.starts[i]); err != nil {
		return nil, false, fmt.Errorf("reading line %d: %w", i+1, err)
	}
	if i == 0 {
		text = bytes.TrimPrefix(text, byteOrderMark)
	}
	return bytes.TrimSpace(text), true, nil
}

func (x *importer) takeIn(ctx context.Context) error {
	backwards, err := x.newestFirst()
	if err != nil {
		return err
	}
	lines := len(x.starts) - 1
	for n := range lines {
		i := n
		if backwards {
			i = lines - 1 - n
		}
		if err := x.add(ctx, i); err != nil {
			return err
		}
	}
	return x.send(ctx)
}

// brokenExport begins the type of what ends an export that could not go on.
const brokenExport = "urn:shunt:problem:"

// newestFirst reports whether the file begins with the newest link: if it is an export, or if the
// first line is of a newer link than the last. It is an error if the last line ends an export that
// broke off.
func (x *importer) newestFirst() (bool, error) {
	first, err := x.firstOf(func(n int) int { return n })
	if err != nil {
		return false, err
	}
	last, err := x.firstOf(func(n int) int { return len(x.starts) - 2 - n })
	if err != nil {
		return false, err
	}
	if strings.HasPrefix(last.Type, brokenExport) {
		return false, fmt.Errorf("%s: the last line says that the export broke off here: it is not complete, and nothing was imported", console.Printable(x.name))
	}
	return first.ShortURL != "" || !last.CreatedAt.IsZero() && first.CreatedAt.After(last.CreatedAt), nil
}

// importedEnd has the parts of the first and the last line that decide about the order.
type importedEnd struct {
	Type      string    `json:"type"`
	ShortURL  string    `json:"short_url"` // only exports have it
	CreatedAt time.Time `json:"created_at"`
}

// firstOf returns the first line that is not blank, of those that order names.
func (x *importer) firstOf(order func(n int) int) (end importedEnd, err error) {
	for n := range len(x.starts) - 1 {
		text, _, err := x.read(order(n))
		if err != nil || len(text) == 0 {
			if err != nil {
				return end, err
			}
			continue
		}
		_ = json.Unmarshal(text, &end) // what is wrong will be refused
		return end, nil
	}
	return end, nil
}

// add adds line i to the next request, and first sends that request if it is full.
func (x *importer) add(ctx context.Context, i int) error {
	text, short, err := x.read(i)
	switch {
	case err != nil:
		return err
	case !short:
		x.refuse(i+1, "", fmt.Sprintf("has more than %d bytes", maxImportLine))
		return nil
	case len(text) == 0:
		return nil
	case !json.Valid(text):
		x.refuse(i+1, "", "is not JSON")
		return nil
	}
	if len(x.links) == maxImportLinks || x.bytes+len(text) > maxImportBytes {
		if err := x.send(ctx); err != nil {
			return err
		}
	}
	x.links, x.numbers, x.bytes = append(x.links, text), append(x.numbers, i+1), x.bytes+len(text)
	return nil
}

// send sends the gathered lines.
func (x *importer) send(ctx context.Context) error {
	if len(x.links) == 0 {
		return nil
	}
	answer, err := x.server.Import(ctx, x.links, x.owner...)
	if err != nil {
		return err
	}
	if len(answer.Results) != len(x.links) {
		return errors.New("the server's answer does not have a result for each link")
	}
	x.done.Created += answer.Created
	x.done.Existing += answer.Existing
	for i, r := range answer.Results {
		if r.Problem != nil {
			x.refuse(x.numbers[i], codeIn(x.links[i]), r.Problem.Error())
		}
	}
	x.links, x.numbers, x.bytes = nil, nil, 0
	x.progress.Say(fmt.Sprintf("%s, of %s", x.done, plural.Of(len(x.starts)-1, "line", "lines")))
	return nil
}

// codeIn returns the error prefix for a link: its code, if it has one.
func codeIn(link []byte) string {
	var object struct {
		Code string `json:"code"`
	}
	if json.Unmarshal(link, &object) != nil || object.Code == "" {
		return ""
	}
	return console.Printable(object.Code) + ": "
}

func (x *importer) refuse(line int, code, why string) {
	x.done.Failed++
	x.progress.End()
	fmt.Fprintf(x.stderr, "shunt: %s:%d: %s%s\n", console.Printable(x.name), line, code, why)
}
