//go:build !386 && !arm

// mmdbwriter is not for 32-bit machines.

package visitor

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/maxmind/mmdbwriter"
	"github.com/maxmind/mmdbwriter/mmdbtype"
	"github.com/oschwald/maxminddb-golang/v2"

	"shunt/engine"
	"shunt/engine/expect"
)

// countriesIn returns the bytes of a file in which one network is in a country.
func countriesIn(t *testing.T, country string) []byte {
	t.Helper()
	text, err := os.ReadFile(geoIPFile(t, mmdbwriter.Options{}, map[string]mmdbtype.DataType{"91.0.0.0/10": countryRecord(country, "")}))
	expect.OK(t, err)
	return text
}

// A watched is a CountryFile whose file a test changes.
type watched struct {
	*CountryFile
	t   *testing.T
	log bytes.Buffer
	age time.Duration // of the file, rises with each change
}

func watch(t *testing.T, path string) *watched {
	w := &watched{t: t, age: 24 * time.Hour}
	w.CountryFile = OpenCountryFile(path, slog.New(slog.NewTextHandler(&w.log, nil)))
	return w
}

// put replaces the file by one with text, by a rename, or in place. The file is old at once, so that one
// read of it is enough.
func (w *watched) put(text []byte, inPlace bool) {
	w.t.Helper()
	path := w.path
	if !inPlace {
		path = filepath.Join(w.t.TempDir(), "new")
	}
	w.age -= time.Minute
	then := time.Now().Add(-w.age)
	err := errors.Join(os.WriteFile(path, text, 0o600), os.Chtimes(path, then, then))
	if !inPlace {
		err = errors.Join(err, os.Rename(path, w.path))
	}
	expect.OK(w.t, err)
}

// is checks the country in force, and how many warnings and readings are logged in all.
func (w *watched) is(when, country string, failing bool, warnings, readings int) {
	w.t.Helper()
	got := w.Countries.Of(netip.MustParseAddr("91.1.2.3"))
	w.mu.Lock()
	log := w.log.String() // written while the file is looked at
	w.mu.Unlock()
	warned, read := strings.Count(log, "level=WARN"), strings.Count(log, "has been read again")
	state := w.State()
	expect.That(w.t, got == engine.CountryOf(country) && state.Failing == failing && state.LoadedAt.IsZero() == (country == "unknown") && warned == warnings &&
		read == readings,
		"%s: got country %v, %+v, %d warnings, %d readings; want %s, failing %v, %d, %d:\n%s", when, got, state, warned, read, country, failing, warnings, readings, log)
}

func (w *watched) looks(n int) {
	for range n {
		w.look(false)
	}
}

func TestTheFileOfCountriesIsReadAgainWhenItChanges(t *testing.T) {
	w := watch(t, writeTo(t, "countries.mmdb", countriesIn(t, "DE")))
	w.is("at the start", "DE", false, 0, 0)
	w.put(countriesIn(t, "FR"), false)
	w.is("before a look", "DE", false, 0, 0)
	w.looks(3)
	w.is("replaced by rename", "FR", false, 0, 1)
	w.put(countriesIn(t, "NO"), true)
	w.looks(3)
	w.is("written in place", "NO", false, 0, 2)
	w.put(countriesIn(t, "NO"), false)
	w.looks(3)
	w.is("the same again", "NO", false, 0, 2)
	stat, err := os.Stat(w.path)
	expect.OK(t, err)
	expect.OK(t, errors.Join(os.WriteFile(w.path, countriesIn(t, "SE"), 0o600), os.Chtimes(w.path, stat.ModTime(), stat.ModTime())))
	w.looks(3)
	w.is("another that looks the same", "NO", false, 0, 2)
	commit, err := w.Prepare()
	expect.OK(t, err)
	commit()
	w.is("it was asked for", "SE", false, 0, 3)
}

func TestABadFileOfCountriesLeavesTheLastInForce(t *testing.T) {
	good := countriesIn(t, "DE")
	w := watch(t, writeTo(t, "countries.mmdb", good))
	for i, bad := range [][]byte{nil, []byte("91.0.0.0/10 DE\n"), good[:len(good)/2]} {
		w.put(bad, i%2 == 0)
		w.looks(3)
		w.is("a bad file", "DE", true, 2*i+1, i)
		w.look(true)
		w.is("asked about a bad file", "DE", true, 2*i+2, i)
		w.put(good, i%2 == 0)
		w.looks(3)
		w.is("good again", "DE", false, 2*i+2, i+1)
	}
	expect.OK(t, os.Remove(w.path))
	w.looks(3)
	w.is("no file", "DE", true, 7, 3)
	expect.OK(t, os.Mkdir(w.path, 0o700))
	w.looks(3)
	w.is("a folder", "DE", true, 8, 3)
}

func TestWithoutAGoodFileNoCountryIsKnownUntilOneComes(t *testing.T) {
	good := countriesIn(t, "DE")
	for name, bad := range map[string][]byte{"missing": nil, "empty": {}, "text": []byte("DE\n"), "truncated": good[:len(good)/2]} {
		path := filepath.Join(t.TempDir(), "countries.mmdb")
		if bad != nil {
			expect.OK(t, os.WriteFile(path, bad, 0o600))
		}
		w := watch(t, path)
		w.looks(3)
		w.is(name, "unknown", true, 1, 0)
		w.put(good, false)
		w.looks(3)
		w.is("after "+name, "DE", false, 1, 1)
	}
}

// A file that is cut short while it is read is mapped: without care, reading on would end the process.
func TestAFileOfCountriesThatIsCutShortWhileItIsReadIsAnError(t *testing.T) {
	path := writeTo(t, "countries.mmdb", countriesIn(t, "DE"))
	c, err := tableOf(func() (*maxminddb.Reader, error) {
		db, err := maxminddb.Open(path)
		return db, errors.Join(err, os.Truncate(path, 0))
	})
	expect.That(t, err != nil && c == nil, "got %v, %v, want an error", c, err)
}

// The file is looked at once a minute, so that an idle machine sleeps.
func TestTheFileOfCountriesIsLookedAtOnceAMinute(t *testing.T) {
	path := writeTo(t, "countries.mmdb", countriesIn(t, "DE"))
	france := countriesIn(t, "FR")
	synctest.Test(t, func(t *testing.T) {
		w := watch(t, path)
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- w.Run(ctx) }()
		w.put(france, false)
		time.Sleep(59 * time.Second)
		synctest.Wait()
		w.is("before a minute is over", "DE", false, 0, 0)
		time.Sleep(time.Second)
		synctest.Wait()
		w.is("after a minute", "FR", false, 0, 1)
		stop()
		expect.Error(t, <-ended, context.Canceled)
	})
}
