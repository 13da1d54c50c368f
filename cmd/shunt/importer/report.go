package importer

import (
	"encoding/json"
	"fmt"
	"io"
	"time"

	"shunt/api/client"
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

	shown int    // refused lines
	kept  string // the file with all of them; empty: none
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

// refuse reports refused records.
func (r *report) refuse(all []Refusal) {
	for i := range all {
		if r.shown++; r.shown <= maxShown+1 {
			r.progress.End()
		}
		switch {
		case r.shown <= maxShown:
			fmt.Fprintf(r.stderr, "shunt: %s: %s\n", all[i].At, all[i].Why)
		case r.shown == maxShown+1 && r.kept == "":
			fmt.Fprintf(r.stderr, "shunt: more lines were refused; --rejects FILE keeps all of them\n")
		case r.shown == maxShown+1:
			fmt.Fprintf(r.stderr, "shunt: more lines were refused; all are in %s\n", console.Printable(r.kept))
		}
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
