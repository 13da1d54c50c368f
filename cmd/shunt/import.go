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
	"strings"

	"github.com/spf13/cobra"

	"shunt/api/client"
	"shunt/engine"
)

// What goes at once: as many links as the server takes. The bytes may become six times as many in JSON that escapes & and < for
// pages, and the server takes 8 MiB.
const (
	maxImportLinks = engine.MaxBulk
	maxImportBytes = 1 << 20
)

// importDone is the result of an import, as --json prints it.
type importDone struct {
	Created  int `json:"created"`
	Existing int `json:"existing"`
	Failed   int `json:"failed"`
}

func newImport(stdout, stderr io.Writer) *cobra.Command {
	where, owner, asJSON := localTarget{}, []client.Option(nil), false
	cmd := &cobra.Command{
		Use:   "import FILE",
		Short: "Take in links that were made elsewhere",
		Long: `Take in links with their codes, times and hits. FILE has one JSON object a line, as 'shunt export' prints them; - is
standard input. A line needs code and url, and may have redirect_status, created_at, updated_at, expires_at, max_hits, title,
tags, forward_query and hits.

A line that is refused is named on standard error with its number, keeps no other from being taken in, and makes the exit
code 1. A link that is there already with the same fields stays as it is, so that the command can be run again after it was
interrupted. The links become yours, or with --owner another user's. Hits count in the total, but visitors and days are not
in such a file. Only admins may.
` + whereTokensAre,
		Example: `  shunt import links.ndjson
  shunt export --server https://old.example | shunt import - --owner 3`,
		Args: exactly("FILE"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return importFile(cmd.Context(), &where, args[0], owner, asJSON, cmd.InOrStdin(), stdout, stderr)
		},
	}
	addLocalSettings(cmd, &where)
	addOwner(cmd, &owner)
	cmd.Flags().Lookup("owner").Usage = "make them those of the user with this `ID`"
	cmd.Flags().BoolVar(&asJSON, "json", false, "print the result as JSON")
	markArguments(cmd.Flags(), "json")
	return cmd
}

func importFile(
	ctx context.Context, where *localTarget, name string, owner []client.Option, asJSON bool, stdin io.Reader, stdout, stderr io.Writer,
) error {
	file := stdin
	if name == "-" {
		name = "standard input"
	} else {
		f, err := os.Open(name)
		if err != nil {
			return fmt.Errorf("import: %w", err)
		}
		defer f.Close()
		file = f
	}
	x := &importer{name: name, owner: owner, stderr: stderr, progress: newProgress(stderr)}
	err := where.with(ctx, stderr, func(c *connection) error {
		x.server = c
		return x.takeIn(ctx, file)
	})
	x.progress.end()
	if err != nil {
		return fmt.Errorf("import: %w; before that: %s", err, x.done)
	}
	if err := x.tell(stdout, asJSON); err != nil {
		return err
	}
	if x.done.Failed > 0 {
		return fmt.Errorf("import: %d lines were refused", x.done.Failed)
	}
	return nil
}

func (d importDone) String() string {
	return fmt.Sprintf("%d links taken in, %d were there already, %d refused", d.Created, d.Existing, d.Failed)
}

// An importer takes in the lines of a file.
type importer struct {
	name     string // of the file
	owner    []client.Option
	server   *connection
	stderr   io.Writer
	progress *progress

	line    int               // the number of the last that was read
	links   []json.RawMessage // to be sent
	numbers []int             // their lines
	bytes   int
	done    importDone
}

func (x *importer) takeIn(ctx context.Context, file io.Reader) error {
	lines := bufio.NewScanner(file)
	lines.Buffer(nil, maxImportBytes)
	for lines.Scan() {
		x.line++
		text := bytes.TrimSpace(lines.Bytes())
		if x.line == 1 {
			text = bytes.TrimPrefix(text, []byte("\ufeff"))
		}
		if len(text) == 0 {
			continue
		}
		if err := x.add(ctx, text); err != nil {
			return err
		}
	}
	if err := lines.Err(); errors.Is(err, bufio.ErrTooLong) {
		return fmt.Errorf("%s:%d: a line has more than %d bytes", x.name, x.line+1, maxImportBytes)
	} else if err != nil {
		return err
	}
	return x.send(ctx)
}

// brokenExport begins the type of what ends an export that could not go on.
const brokenExport = "urn:shunt:problem:"

func (x *importer) add(ctx context.Context, text []byte) error {
	var object struct {
		Type string `json:"type"`
	}
	if err := json.Unmarshal(text, &object); err != nil && !json.Valid(text) {
		x.refuse(x.line, "", "is no JSON object")
		return nil
	}
	if strings.HasPrefix(object.Type, brokenExport) {
		return fmt.Errorf("%s:%d: the export that this comes from broke off here: it is not whole", x.name, x.line)
	}
	if len(x.links) == maxImportLinks || x.bytes+len(text) > maxImportBytes {
		if err := x.send(ctx); err != nil {
			return err
		}
	}
	x.links, x.numbers, x.bytes = append(x.links, bytes.Clone(text)), append(x.numbers, x.line), x.bytes+len(text)
	return nil
}

// send sends what is gathered.
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
	x.links, x.numbers, x.bytes = x.links[:0], x.numbers[:0], 0
	x.progress.say(x.done.String())
	return nil
}

// codeIn returns what begins the complaint about a link: its code, if it has one.
func codeIn(link []byte) string {
	var object struct {
		Code string `json:"code"`
	}
	if json.Unmarshal(link, &object) != nil || object.Code == "" {
		return ""
	}
	return printable(object.Code) + ": "
}

func (x *importer) refuse(line int, code, why string) {
	x.done.Failed++
	x.progress.end()
	fmt.Fprintf(x.stderr, "shunt: %s:%d: %s%s\n", x.name, line, code, why)
}

func (x *importer) tell(stdout io.Writer, asJSON bool) error {
	if asJSON {
		return printValue(stdout, x.done)
	}
	_, err := fmt.Fprintln(stdout, x.done)
	return err
}
