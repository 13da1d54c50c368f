package e2e

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"shunt/api/client"
	"shunt/engine/expect"
)

// dumpVariable has the number of links of the dump.
const dumpVariable = "SHUNTTEST_DUMP"

const (
	dumpRows      = 5000        // of a statement
	clicksOfLink  = 5           // in the log of a dump, on average
	hitsOfLink    = 25          // that a dump says a link has; the log need not have them all
	mostAboveIdle = 300_000_000 // bytes of memory that imports and exports may take
)

// writeDump writes a dump of YOURLS as mysqldump does: the clicks, then the links, both in rows of about a megabyte.
func writeDump(t *testing.T, path string, links uint64) {
	t.Helper()
	file, err := os.Create(path)
	expect.OK(t, err)
	w := bufio.NewWriter(file)
	table := func(name, columns string, rows uint64, row func(n uint64)) {
		fmt.Fprintf(w, "DROP TABLE IF EXISTS `%s`;\nCREATE TABLE `%[1]s` (\n%s\n) ENGINE=InnoDB;\n", name, columns)
		for n := range rows {
			before, after := ",", ""
			if n%dumpRows == 0 {
				before = fmt.Sprintf("INSERT INTO `%s` VALUES ", name)
			}
			if n%dumpRows == dumpRows-1 || n == rows-1 {
				after = ";\n"
			}
			_, _ = w.WriteString(before)
			row(n)
			_, _ = w.WriteString(after)
		}
	}
	rng, now := rand.New(rand.NewPCG(1, 2)), time.Now().UTC()
	table("yourls_log", "`click_id` int(11) NOT NULL,\n`click_time` datetime NOT NULL,\n`shorturl` varchar(100) NOT NULL,\n`referrer` varchar(200) NOT NULL,\n`user_agent` varchar(255) NOT NULL,\n`ip_address` varchar(41) NOT NULL,\n`country_code` char(2) NOT NULL",
		links*clicksOfLink, func(n uint64) {
			at := now.AddDate(0, 0, -1-rng.IntN(299)).Format(time.DateTime)
			fmt.Fprintf(w, `(%d,'%s','k%d','https://news.example/%d','Mozilla/5.0 (X11; Linux x86_64)','192.0.2.%d','DE')`, n+1, at, rng.Uint64N(links), n%1000, n%250)
		})
	table("yourls_url", "`keyword` varchar(100) NOT NULL,\n`url` text NOT NULL,\n`title` text,\n`timestamp` timestamp NOT NULL,\n`ip` varchar(41) NOT NULL,\n`clicks` int(10) unsigned NOT NULL",
		links, func(n uint64) {
			at := now.AddDate(0, 0, -300).Add(time.Duration(n) * time.Millisecond).Format(time.DateTime)
			fmt.Fprintf(w, `('k%d','https://shop%d.example/some/path/that/is/long?id=%d','It\'s page %[3]d; "all"','%[4]s','192.0.2.9',%[5]d)`, n, n%5000, n, at, hitsOfLink)
		})
	expect.OK(t, w.Flush())
	expect.OK(t, file.Close())
}

// exportTo writes an export with the hits of days into a file.
func exportTo(t *testing.T, path, data string) {
	t.Helper()
	file, err := os.Create(path)
	expect.OK(t, err)
	defer file.Close()
	cmd := exec.Command(binary, "export", "--daily", "--data", data)
	var stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = file, &stderr
	expect.OK(t, cmd.Run(), &stderr)
}

// importOf runs a command, and returns what it prints and the most memory that it was seen to have. What the system
// says of a process that has ended would not do: it has the memory of this one, which started it.
func importOf(t *testing.T, args ...string) (said string, most uint64) {
	t.Helper()
	cmd := exec.Command(binary, args...)
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	expect.OK(t, cmd.Start())
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	for look := time.NewTicker(10 * time.Millisecond); ; {
		select {
		case err := <-ended:
			look.Stop()
			expect.OK(t, err, "%s", &out)
			return out.String(), most
		case <-look.C:
			text, _ := os.ReadFile(fmt.Sprintf("/proc/%d/statm", cmd.Process.Pid)) // of a process that may have ended
			var size, resident uint64
			_, _ = fmt.Sscan(string(text), &size, &resident)
			most = max(most, resident*uint64(os.Getpagesize()))
		}
	}
}

// wantWholeDump checks that an export has each click of the dump on a day, and a link of it as it was.
func wantWholeDump(t *testing.T, export []byte, links uint64) {
	t.Helper()
	clicks := uint64(0)
	for line := range bytes.Lines(export) {
		var l client.Link
		expect.OK(t, json.Unmarshal(line, &l))
		for _, day := range l.Daily {
			clicks += day.Hits
		}
		if l.Code == "k7" {
			expect.That(t, l.URL == "https://shop7.example/some/path/that/is/long?id=7" && l.Title == `It's page 7; "all"` && l.Hits == hitsOfLink && l.RedirectStatus == 301 &&
				time.Since(l.CreatedAt) > 299*24*time.Hour && time.Since(l.CreatedAt) < 302*24*time.Hour, "k7: %+v", l)
		}
	}
	expect.Equal(t, clicks, links*clicksOfLink, "clicks of days")
}

// TestADumpComesInAndGoesElsewhere imports a dump of YOURLS with its clicks, and its export into another server, whose
// export is equal. It reports times, and the memory of both servers is bounded.
func TestADumpComesInAndGoesElsewhere(t *testing.T) {
	t.Parallel()
	links := numberOf(t, dumpVariable, 2000)
	dir := t.TempDir()
	dump, first, second := filepath.Join(dir, "dump.sql"), filepath.Join(dir, "first.ndjson"), filepath.Join(dir, "second.ndjson")
	writeDump(t, dump, links)
	for _, c := range []struct{ from, to string }{{dump, first}, {first, second}} {
		s := startServer(t, filepath.Join(t.TempDir(), "data"), "--base-url", "https://sho.rt")
		shunt(t, dir, nil, "token", "add", "--name", "n", "--data", s.dir)
		idle, began := residentBytes(t, s), time.Now()
		args := []string{"import", c.from, "--data", s.dir}
		if c.from == dump {
			args = append(args, "--log")
		}
		out, command := importOf(t, args...)
		expect.That(t, strings.HasPrefix(out, fmt.Sprintf("%d links imported, 0 already there, 0 refused\n", links)), "%s", out)
		expect.That(t, command <= mostAboveIdle, "the import took %d bytes", command)
		imported, took := highWater(t, s), time.Since(began)
		began = time.Now()
		exportTo(t, c.to, s.dir)
		most := highWater(t, s)
		t.Logf("%s: %d links in %v, %.0f/s; export in %v; MB of the command: %d; of the server idle, at most in the import, and at all: %d, %d, %d", filepath.Base(c.from), links,
			took.Round(time.Millisecond), float64(links)/took.Seconds(), time.Since(began).Round(time.Millisecond), command/1e6, idle/1e6, imported/1e6, most/1e6)
		expect.That(t, most <= idle+mostAboveIdle, "%d bytes were in memory, %d when idle", most, idle)
		s.terminate()
	}
	one, err := os.ReadFile(first)
	expect.OK(t, err)
	wantWholeDump(t, one, links)
	clicked := bytes.Count(one, fmt.Appendf(nil, `,"hits":%d,"daily":[{"day":"`, hitsOfLink))
	expect.That(t, clicked > int(links)*9/10, "%d of %d links have their hits, and days of them", clicked, links)
	two, err := os.ReadFile(second)
	expect.OK(t, err)
	expect.That(t, bytes.Equal(one, two), "the two exports differ: %d and %d bytes", len(one), len(two))
}
