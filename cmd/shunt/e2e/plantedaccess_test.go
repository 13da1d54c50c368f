package e2e

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"shunt/engine/expect"
)

// TestTheAccessLogNamesClientsOnlyIfAsked sends the requests of planted clients to a server with an
// access log, in both formats. Without --access-log-clients no address, User-Agent or referrer of
// any of them is in it; with it, the address of each is.
func TestTheAccessLogNamesClientsOnlyIfAsked(t *testing.T) {
	t.Parallel()
	for _, format := range []string{"json", "combined"} {
		t.Run("format="+format, func(t *testing.T) {
			t.Parallel()
			root := t.TempDir()
			p := &plantation{
				t: t, dir: filepath.Join(root, "data"), journal: filepath.Join(root, "journal"), stdout: filepath.Join(root, "stdout"),
				blocks: filepath.Join(root, "blocks"), clients: plantedClients(plantedNumber), needles: newNeedles(),
			}
			for _, c := range p.clients {
				p.needles.addAddress(c.what, c.address)
				p.needles.addAddress(c.what, c.direct)
				p.needles.addText(c.what, c.agent)
				p.needles.addText(c.what, c.referrer)
			}
			p.needles.addText("control", "/api/v1/shorten")
			log := p.accessLog(format)
			if p.needles.search("log", log); len(p.needles.found) != 1 || len(p.needles.found["control"]) == 0 {
				t.Errorf("without --access-log-clients, values of %d clients are in the log", len(p.needles.found)-1)
			}
			lines := bytes.Count(log, []byte{'\n'})
			expect.That(t, lines >= plantedNumber*8/10, "the log has only %d lines", lines)
			log = p.accessLog(format, "--access-log-clients")
			for i, c := range p.clients {
				way, address := wayOf(i), c.address
				if way.direct {
					address = c.direct
				}
				expect.That(t, !way.inAccessLog() || bytes.Contains(log, []byte(address.String())),
					"%s: the address of %s is not in the log", way.name, c.what)
			}
		})
	}
}

// inAccessLog reports whether requests of this way have a line with the client's address: they were
// read, at the public address.
func (w *plantedWay) inAccessLog() bool {
	unread := w.status == 0 || w.status == 400 || w.status >= 413 && w.status <= 414 || w.status == 431 || w.status >= 500
	return !w.admin && !unread
}

// accessLog starts the server with an access log, sends the requests of every client, and returns
// the log.
func (p *plantation) accessLog(format string, args ...string) []byte {
	p.t.Helper()
	p.put(p.blocks, "")
	path := filepath.Join(p.t.TempDir(), "access")
	p.start(append(args, "--access-log", path, "--access-log-format", format)...)
	p.plant()
	for i, c := range p.clients {
		p.words["unique"] = fmt.Sprint(1_000_000 + len(p.said)*plantedNumber + i)
		wayOf(i).send(p.t, p.server, c, p.words)
	}
	p.server.terminate()
	log, err := os.ReadFile(path)
	expect.OK(p.t, err)
	return log
}
