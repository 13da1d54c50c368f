package console

import (
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"
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
		if got := out.String(); strings.Count(got, "\n") != 1 || strings.Count(got, "\r") != 11 ||
			!strings.HasSuffix(got, "\rloading links: 1000000\rloading links: 1000000 in 3s\n") {
			t.Errorf("got %q, want one line that is drawn ten times and then ended", got)
		}
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
		if strings.Contains(got, "\r") || strings.Count(got, "msg=loading") != 2 || !strings.Contains(got, "msg=loaded links=1000000 took=3s") {
			t.Errorf("got\n%s\nwant a line every 5 s and one at the end", got)
		}
	})
}

func TestAShortLoadShowsNoProgress(t *testing.T) {
	var out strings.Builder
	c := New(&out, "text", slog.LevelInfo)
	c.person = true
	c.Loading(time.Now(), 100_000)
	c.Loaded(100_000, time.Millisecond)
	if out.Len() > 0 {
		t.Errorf("got %q, want nothing", out.String())
	}
}

func TestNextCommandsCanBePastedIntoAShell(t *testing.T) {
	var out strings.Builder
	c := New(&out, "text", slog.LevelInfo)
	c.person = true
	c.Next("Nobody can sign in yet", "http://127.0.0.1:8080/_/", "./shunt", "user", "setup-link", "--data", "/tmp/it's here")
	if want := `  ./shunt user setup-link --data '/tmp/it'\''s here'` + "\n"; !strings.Contains(out.String(), want) {
		t.Errorf("got %q, want %q in it", out.String(), want)
	}
}

func TestALogNamesTheAddressBesideTheNextCommand(t *testing.T) {
	var out strings.Builder
	c := New(&out, "text", slog.LevelInfo)
	c.Next("Nobody can sign in yet", "http://127.0.0.1:8080/_/", "./shunt", "user", "setup-link")
	if want := `msg="Nobody can sign in yet" run="./shunt user setup-link" address=http://127.0.0.1:8080/_/`; !strings.Contains(out.String(), want) {
		t.Errorf("got %q, want %q in it", out.String(), want)
	}
}

func TestTheAddressToOpenIsALineOfItsOwn(t *testing.T) {
	var out strings.Builder
	c := New(&out, "text", slog.LevelInfo)
	if c.Person() {
		t.Error("a buffer is taken for a terminal")
	}
	c.Open("http://127.0.0.1:8080/_/setup?code=x")
	if want := "open http://127.0.0.1:8080/_/setup?code=x\n\n"; out.String() != want {
		t.Errorf("got %q, want %q", out.String(), want)
	}
}

func TestDurationsInLogsHaveUnits(t *testing.T) {
	for format, want := range map[string]string{"text": "after=1.5s in=2m0s", "json": `"after":"1.5s","in":"2m0s"`} {
		var out strings.Builder
		c := New(&out, format, slog.LevelInfo)
		c.Log.Info("a", "after", 1500*time.Millisecond, slog.Duration("in", 2*time.Minute))
		if !strings.Contains(out.String(), want) {
			t.Errorf("%s: got %s, want %s in it", format, out.String(), want)
		}
	}
}
