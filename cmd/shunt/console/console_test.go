package console

import (
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"shunt/engine/expect"
)

// load reports a million links to c, 100,000 of them every 300 ms.
func load(c *Console) {
	start := time.Now()
	for loaded := uint64(100_000); loaded <= 1_000_000; loaded += 100_000 {
		time.Sleep(300 * time.Millisecond)
		c.Loading(start, loaded)
		c.Loading(start, loaded)
	}
	c.Loaded(1_000_000, time.Since(start))
}

func TestProgressRedrawsOneLineForAPerson(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out strings.Builder
		c := New(&out, "text", slog.LevelInfo)
		c.person = true
		load(c)
		got := out.String()
		expect.That(t, strings.Count(got, "\n") == 1 && strings.Count(got, "\r") == 11 &&
			strings.HasSuffix(got, "\rloading links: 1000000\rloading links: 1000000 in 3s\n"), "got %q, want one line that is drawn ten times and then ended", got)
	})
}

func TestProgressIsAFewLogLinesInAPipe(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out strings.Builder
		c := New(&out, "text", slog.LevelInfo)
		for range 4 {
			load(c) // 3 s each
		}
		got := out.String()
		expect.That(t, !strings.Contains(got, "\r") && strings.Count(got, "msg=loading") == 2 && strings.Contains(got, "msg=loaded links=1000000 took=3s"),
			"got\n%s\nwant a line every 5 s and one at the end", got)
	})
}

func TestAShortLoadShowsNoProgress(t *testing.T) {
	var out strings.Builder
	c := New(&out, "text", slog.LevelInfo)
	c.person = true
	c.Loading(time.Now(), 100_000)
	c.Loaded(100_000, time.Millisecond)
	expect.That(t, out.Len() <= 0, "got %q, want nothing", out.String())
}

func TestNextCommandsCanBePastedIntoAShell(t *testing.T) {
	var out strings.Builder
	c := New(&out, "text", slog.LevelInfo)
	c.person = true
	c.Next("Nobody can sign in yet", "http://127.0.0.1:8080/_/", "./shunt", "user", "setup-link", "--data", "/tmp/it's here")
	expect.Contains(t, out.String(), `  ./shunt user setup-link --data '/tmp/it'\''s here'`+"\n")
}

func TestALogNamesTheAddressBesideTheNextCommand(t *testing.T) {
	var out strings.Builder
	c := New(&out, "text", slog.LevelInfo)
	c.Next("Nobody can sign in yet", "http://127.0.0.1:8080/_/", "./shunt", "user", "setup-link")
	expect.Contains(t, out.String(), `msg="Nobody can sign in yet" run="./shunt user setup-link" address=http://127.0.0.1:8080/_/`)
}

func TestTheAddressToOpenIsALineOfItsOwn(t *testing.T) {
	var out strings.Builder
	c := New(&out, "text", slog.LevelInfo)
	expect.That(t, !c.Person(), "a buffer is taken for a terminal")
	c.Open("http://127.0.0.1:8080/_/setup?code=x")
	expect.Equal(t, out.String(), "open http://127.0.0.1:8080/_/setup?code=x\n\n")
}

func TestDurationsInLogsHaveUnits(t *testing.T) {
	for format, want := range map[string]string{"text": "after=1.5s in=2m0s", "json": `"after":"1.5s","in":"2m0s"`} {
		var out strings.Builder
		c := New(&out, format, slog.LevelInfo)
		c.Log.Info("a", "after", 1500*time.Millisecond, slog.Duration("in", 2*time.Minute))
		expect.Contains(t, out.String(), want, format)
	}
}
