package importer

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"shunt/api/client"
	"shunt/api/source"
	"shunt/cmd/shunt/console"
	"shunt/engine/plural"
)

// maxShown is how many refused lines are shown. A person reads no more, and a wrong file of a
// million lines would fill a log.
const maxShown = 100

// A report says how an import goes: its progress to a person at a terminal, and refused lines.
type report struct {
	stderr   io.Writer
	progress *console.Progress
	size     int64 // of the imported file
	begun    time.Time
	begunAt  int64 // bytes that were imported before this run
	links    int   // imported, found or refused by this run, with the batch that was sent again: it took time, too

	shown   int      // refused lines
	refused *os.File // nil: none
	rules   *os.File // nil: none
	failed  error    // of writing rules
}

// keep has all refused lines and the rules of refused links written into files, after those of an earlier run if
// resumed.
func (r *report) keep(refused, rules string, resumed bool) (err error) {
	if r.refused, err = kept(refused, resumed); err == nil {
		r.rules, err = kept(rules, resumed)
	}
	if err == nil && r.rules != nil && !resumed {
		_, err = r.rules.WriteString(source.RulesHead)
	}
	return err
}

// kept opens a file for what is written in all runs of an import; nil: path is empty.
func kept(path string, resumed bool) (*os.File, error) {
	mode := os.O_TRUNC
	if resumed {
		mode = os.O_APPEND
	}
	if path == "" {
		return nil, nil
	}
	return os.OpenFile(path, os.O_CREATE|os.O_WRONLY|mode, 0o600)
}

func (r *report) close() (err error) {
	r.progress.End()
	for _, file := range []*os.File{r.refused, r.rules} {
		if file != nil {
			err = errors.Join(err, file.Close())
		}
	}
	return errors.Join(err, r.failed)
}

// say shows that the first done bytes have been imported.
func (r *report) say(done int64) {
	if !r.progress.Person() {
		return
	}
	took := time.Since(r.begun)
	text := fmt.Sprintf("%d%%, %s, %.0f/s", 100*done/max(r.size, 1), plural.Of(r.links, "line", "lines"), float64(r.links)/max(took.Seconds(), 1e-3))
	if moved := done - r.begunAt; moved > 0 {
		left := time.Duration(float64(took) / float64(moved) * float64(r.size-done))
		text += fmt.Sprintf(", %v left", left.Round(time.Second))
	}
	r.progress.Say(text)
}

// end says to a person how fast it went.
func (r *report) end() {
	took := time.Since(r.begun)
	r.progress.End()
	if r.progress.Person() && took > time.Second {
		fmt.Fprintf(r.stderr, "%s in %v, %.0f/s\n", plural.Of(r.links, "line", "lines"), took.Round(100*time.Millisecond), float64(r.links)/took.Seconds())
	}
}

// refuse reports refused lines.
func (r *report) refuse(lines []string) (err error) {
	for _, text := range lines {
		if r.shown++; r.shown <= maxShown+1 {
			r.progress.End()
		}
		switch {
		case r.shown <= maxShown:
			fmt.Fprintf(r.stderr, "shunt: %s", text)
		case r.shown == maxShown+1 && r.refused == nil:
			fmt.Fprintf(r.stderr, "shunt: more lines were refused; --rejects FILE keeps all of them\n")
		case r.shown == maxShown+1:
			fmt.Fprintf(r.stderr, "shunt: more lines were refused; all are in %s\n", console.Printable(r.refused.Name()))
		}
	}
	if r.refused != nil && len(lines) > 0 {
		_, err = r.refused.WriteString(strings.Join(lines, ""))
	}
	return err
}

// rule writes what redirects a refused link. Nothing redirects a code that has another link here.
func (r *report) rule(link []byte, why *client.Problem) {
	if r.rules == nil || why.Kind == client.ErrAliasTaken {
		return
	}
	if line, ok := source.RuleOf(link); ok && r.failed == nil {
		_, r.failed = r.rules.WriteString(line)
	}
}

// reason returns why the server refused a link.
func reason(link []byte, p *client.Problem) string {
	if p.Kind == client.ErrMalformedJSON && !json.Valid(link) {
		return "is not JSON"
	}
	var object struct {
		Code string `json:"code"`
	}
	if json.Unmarshal(link, &object) != nil || object.Code == "" {
		return p.Error()
	}
	return console.Printable(object.Code) + ": " + p.Error()
}
