package offsite

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"filippo.io/age"

	"shunt/cmd/shunt/offsite/s3test"
	"shunt/engine/expect"
)

var (
	storeA = [16]byte{0xa}
	storeB = [16]byte{0xb}
	noon   = time.Date(2026, 11, 28, 12, 0, 0, 0, time.UTC)
)

func quiet(string) {}

// quickPace has turns for tests. A busy machine must not end a run.
var quickPace = pace{beat: time.Second, timeout: 10 * time.Second, dead: 15 * time.Second, wait: time.Minute, step: 500 * time.Millisecond}

// A contents has the files of a backup.
type contents map[string]string

// with returns c with other files; an empty text removes one.
func (c contents) with(others contents) contents {
	all := maps.Clone(c)
	for name, text := range others {
		if all[name] = text; text == "" {
			delete(all, name)
		}
	}
	return all
}

var first = contents{"format": "shunt backup\n", "db/000004.sst": strings.Repeat("four", 3000), "db/000005.sst": strings.Repeat("five", 70_000), "db/MANIFEST-000001": "m1"}

// inFolder writes the files of a backup.
func (c contents) inFolder(t testing.TB) string {
	t.Helper()
	dir := t.TempDir()
	expect.OK(t, os.Mkdir(filepath.Join(dir, "db"), 0o700))
	for name, text := range c {
		expect.OK(t, os.WriteFile(filepath.Join(dir, filepath.FromSlash(name)), []byte(text), 0o600))
	}
	return dir
}

func settingsOf(t testing.TB, endpoint string) *Settings {
	t.Helper()
	u, err := url.Parse(endpoint)
	expect.OK(t, err)
	for _, entry := range s3test.Credentials() {
		name, value, _ := strings.Cut(entry, "=")
		t.Setenv(name, value)
	}
	return &Settings{Endpoint: u, Addressing: "auto"}
}

// A site is a place at a server of its own.
type site struct {
	*s3test.Server
	t     testing.TB
	order Order
}

func newSite(t testing.TB) *site {
	t.Helper()
	server := s3test.Start(t)
	return &site{server, t, Order{
		Place: Place{s3test.Bucket, "some/where/"}, Settings: settingsOf(t, server.Endpoint), Sweep: true, Say: quiet, pace: quickPace,
	}}
}

func (s *site) push(store [16]byte, at time.Time, c contents) Sent {
	s.t.Helper()
	sent, err := Push(s.t.Context(), Made{Dir: c.inFolder(s.t), Store: store, At: at, Links: uint64(len(c)), Program: "test"}, s.order)
	expect.OK(s.t, err)
	expect.Equal(s.t, sent.Warning, "", "the warning")
	return sent
}

func (s *site) wanted(w Wanted) Wanted {
	w.Place, w.Settings = s.order.Place, s.order.Settings
	return w
}

// fetch returns the files of the backup that is wanted.
func (s *site) fetch(w Wanted) (contents, error) {
	s.t.Helper()
	found, err := Find(s.t.Context(), s.wanted(w))
	if err != nil {
		return nil, err
	}
	dir := s.t.TempDir()
	if err := found.Fetch(s.t.Context(), dir, quiet); err != nil {
		return nil, err
	}
	got := contents{}
	expect.OK(s.t, filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		name, err := filepath.Rel(dir, path)
		expect.OK(s.t, err)
		text, err := os.ReadFile(path)
		got[filepath.ToSlash(name)] = string(text)
		return err
	}))
	return got, nil
}

func (s *site) wantFetched(w Wanted, want contents, what string) {
	s.t.Helper()
	got, err := s.fetch(w)
	expect.OK(s.t, err, what)
	expect.That(s.t, maps.Equal(got, want), "%s: got other files than were sent: %q", what, slices.Sorted(maps.Keys(got)))
}

func (s *site) wantRefused(w Wanted, want string) {
	s.t.Helper()
	_, err := s.fetch(w)
	expect.That(s.t, err != nil && strings.Contains(err.Error(), want), "got %v, want an error with %q", err, want)
}

func (s *site) objects(store [16]byte, folder string) []string {
	s.t.Helper()
	return slices.Sorted(maps.Keys(s.Objects(s.t, s.order.Place.Prefix+storeText(store)+"/"+folder)))
}

func TestALaterBackupSendsOnlyWhatIsNew(t *testing.T) {
	s := newSite(t)
	s.order.Sums = new(Sums)
	sent := s.push(storeA, noon, first)
	expect.That(t, sent.SentFiles == 4 && sent.Files == 4 && sent.SentBytes == sent.Bytes, "the first: got %+v", sent)
	second := first.with(contents{"db/000006.sst": "six", "db/000004.sst": "", "db/MANIFEST-000001": "m2"})
	sent = s.push(storeA, noon.Add(time.Minute), second)
	expect.That(t, sent.SentFiles == 2 && sent.SentBytes == 5 && sent.Files == 4, "the second: got %+v", sent)
	sent = s.push(storeA, noon.Add(2*time.Minute), second)
	expect.That(t, sent.SentFiles == 0 && sent.SentBytes == 0, "without a change: got %+v", sent)
	renamed := second.with(contents{"db/000099.sst": "six", "db/000006.sst": ""}) // as a store that was restored names it
	sent = s.push(storeA, noon.Add(3*time.Minute), renamed)
	expect.That(t, sent.SentFiles == 0, "with another name: got %+v", sent)

	s.wantFetched(Wanted{At: noon}, first, "at the first")
	s.wantFetched(Wanted{At: noon.Add(59 * time.Second)}, first, "before the second")
	s.wantFetched(Wanted{At: noon.Add(time.Minute)}, second, "at the second")
	s.wantFetched(Wanted{}, renamed, "the newest")
	s.wantRefused(Wanted{At: noon.Add(-time.Second)}, "has no backup of 2026-11-28T11:59:59Z or before; the oldest is of 2026-11-28T12:00:00Z")
	if turns := s.objects(storeA, runsFolder); len(turns) != 0 {
		t.Errorf("turns were left: %q", turns)
	}
	entries, more, err := List(t.Context(), s.order.Place, s.order.Settings, "", 3)
	expect.OK(t, err)
	expect.That(t, more && len(entries) == 3 && entries[0].At.Equal(noon.Add(3*time.Minute)) && entries[0].Files == 4 && entries[0].Links == 4 &&
		entries[0].Store == storeText(storeA), "got %+v", entries)
}

func TestAFileOfManyPartsArrivesWhole(t *testing.T) {
	s := newSite(t)
	random := make([]byte, 2*partBytes+12345)
	_, _ = rand.NewChaCha8([32]byte{1}).Read(random)
	large := first.with(contents{"db/000007.sst": string(random), "db/000008.sst": string(random[:partBytes]), "db/000009.log": ""})
	large["db/000009.log"] = "" // an empty file
	s.push(storeA, noon, large)
	s.wantFetched(Wanted{}, large, "plain")
	s.order.Seal, _ = newKey(t)
	sent := s.push(storeA, noon.Add(time.Minute), large)
	expect.Equal(t, sent.SentFiles, len(large)-1, "encrypted: all but the empty one")
}

func TestStoresInOnePlaceAreLeftAlone(t *testing.T) {
	s := newSite(t)
	s.push(storeA, noon, first)
	strange := s.Path(s.order.Place.Prefix + "holidays.jpg")
	expect.OK(t, os.WriteFile(strange, []byte("sea"), 0o600))
	inside := s.Path(s.order.Place.Prefix + storeText(storeB) + "/files/notes.txt")
	expect.OK(t, os.MkdirAll(filepath.Dir(inside), 0o700))
	expect.OK(t, os.WriteFile(inside, []byte("mine"), 0o600))
	before := s.objects(storeA, "")
	s.order.Keep.Least = 1
	for i := range 3 {
		s.push(storeB, noon.Add(time.Duration(i+1)*time.Minute), first.with(contents{"db/000006.sst": fmt.Sprint("six ", i)}))
	}
	expect.Slices(t, s.objects(storeA, ""), before, "the objects of the other store")
	expect.Equal(t, len(s.objects(storeB, backupsFolder)), 1)
	for _, path := range []string{strange, inside} {
		expect.OK(t, expect.Err(os.Stat(path)), "what is not of a backup")
	}
	s.wantRefused(Wanted{}, "has backups of several stores; choose one with --store")
	s.wantFetched(Wanted{Store: storeText(storeA)}, first, "the other store")
	s.wantRefused(Wanted{Store: storeText([16]byte{0xc})}, "has no backup of the store 0c")
}

func TestWhatNoBackupNeedsIsRemoved(t *testing.T) {
	s := newSite(t)
	s.order.Keep.Least = 2
	backup := func(i int) contents {
		return first.with(contents{"db/000006.sst": fmt.Sprint("six ", i)})
	}
	for i := range 4 {
		sent := s.push(storeA, noon.Add(time.Duration(i)*time.Minute), backup(i))
		expect.That(t, len(sent.Removed) == max(0, min(1, i-1)) && sent.RemovedFiles == len(sent.Removed), "run %d: got %+v", i, sent)
	}
	expect.Equal(t, len(s.objects(storeA, filesFolder)), 4+2, "shared files, and one of each backup that stays")
	s.wantFetched(Wanted{At: noon.Add(2 * time.Minute)}, backup(2), "the older one")
	s.wantFetched(Wanted{}, backup(3), "the newer one")

	damaged := s.objects(storeA, backupsFolder)[0] // a list that cannot be read may name anything
	text, err := os.ReadFile(s.Path(damaged))
	expect.OK(t, err)
	expect.OK(t, os.WriteFile(s.Path(damaged), text[:len(text)/2], 0o600))
	s.order.Keep.Least = 0
	objects := s.objects(storeA, filesFolder)
	sent, err := Push(t.Context(), Made{Dir: first.inFolder(t), Store: storeA, At: noon.Add(time.Hour)}, s.order)
	expect.OK(t, err)
	expect.That(t, strings.Contains(sent.Warning, "damaged") && sent.RemovedFiles == 0, "got %+v", sent)
	expect.Slices(t, s.objects(storeA, filesFolder), objects, "with a damaged list")
}

func TestBackupsStayByCountAndAge(t *testing.T) {
	entries := make([]Entry, 10) // one a day, the first nine days ago, beside the one that was just made
	for i := range entries {
		entries[i] = Entry{name: fmt.Sprint(i), written: noon.Add(time.Duration(i-9) * 24 * time.Hour)}
	}
	day := 24 * time.Hour
	for name, c := range map[string]struct {
		keep Keep
		want int // removed
	}{
		"all": {Keep{}, 0}, "all, of any age": {Keep{0, day}, 0}, "one": {Keep{1, 0}, 10}, "three": {Keep{3, 0}, 8}, "more than there are": {Keep{20, 0}, 0},
		"those of three days": {Keep{1, 3*day + 1}, 6}, "the newest, however old": {Keep{4, day}, 7}, "a long time": {Keep{1, 100 * day}, 0},
	} {
		mixed := slices.Clone(entries)
		rand.Shuffle(len(mixed), func(i, j int) { mixed[i], mixed[j] = mixed[j], mixed[i] })
		got := c.keep.expired(mixed, noon)
		expect.Equal(t, len(got), c.want, "%s", name)
		for i, e := range got {
			expect.Equal(t, e.name, fmt.Sprint(i), "%s: the oldest first", name)
		}
	}
}

func TestDamageIsFoundAtRestore(t *testing.T) {
	s := newSite(t)
	s.push(storeA, noon, first)
	var large string
	for name, size := range s.Objects(t, s.order.Place.Prefix+storeText(storeA)+"/"+filesFolder) {
		if size == 280_000 {
			large = s.Path(name)
		}
	}
	text, err := os.ReadFile(large)
	expect.OK(t, err)
	for _, damage := range []struct {
		what string
		do   func() error
	}{
		{"a flipped bit", func() error {
			flipped := bytes.Clone(text)
			flipped[200_000] ^= 1
			return os.WriteFile(large, flipped, 0o600)
		}},
		{"a cut", func() error { return os.WriteFile(large, text[:100_000], 0o600) }},
		{"more than was sent", func() error { return os.WriteFile(large, append(bytes.Clone(text), 'x'), 0o600) }},
		{"nothing", func() error { return os.WriteFile(large, nil, 0o600) }},
		{"no object", func() error { return os.Remove(large) }},
	} {
		expect.OK(t, damage.do(), damage.what)
		s.wantRefused(Wanted{}, "the object of db/000005.sst in the backup of 2026-11-28T12:00:00Z is damaged")
	}
	sent := s.push(storeA, noon.Add(time.Minute), first) // sends again what is missing
	expect.Equal(t, sent.SentFiles, 1)
	s.wantFetched(Wanted{At: noon}, first, "after the next backup")
	expect.OK(t, os.WriteFile(large, text[:100_000], 0o600)) // of another size
	expect.Equal(t, s.push(storeA, noon.Add(2*time.Minute), first).SentFiles, 1, "of another size")
	s.wantFetched(Wanted{}, first, "after that")

	list := s.Path(s.objects(storeA, backupsFolder)[2])
	text, err = os.ReadFile(list)
	expect.OK(t, err)
	expect.OK(t, os.WriteFile(list, bytes.Replace(text, []byte("000004"), []byte("000003"), 1), 0o600))
	s.wantRefused(Wanted{}, "it is damaged; choose another with --at")
	s.wantFetched(Wanted{At: noon.Add(time.Minute)}, first, "the one before")
	entries, _, err := List(t.Context(), s.order.Place, s.order.Settings, "", 10)
	expect.OK(t, err)
	expect.That(t, len(entries) == 3 && entries[0].Problem != "" && entries[1].Problem == "", "got %+v", entries)
}

// newKey returns whom to encrypt to, and the file with the secret key.
func newKey(t testing.TB) (*Seal, string) {
	t.Helper()
	identity, err := age.GenerateX25519Identity()
	expect.OK(t, err)
	dir := t.TempDir()
	to, key := filepath.Join(dir, "to"), filepath.Join(dir, "key")
	expect.OK(t, os.WriteFile(to, []byte("# the office\n"+identity.Recipient().String()+"\n"), 0o600))
	expect.OK(t, os.WriteFile(key, []byte("# created: today\n"+identity.String()+"\n"), 0o600))
	seal, err := ReadSeal(to)
	expect.OK(t, err)
	return seal, key
}

func readKey(t testing.TB, path string) *Key {
	t.Helper()
	key, err := ReadKey(path)
	expect.OK(t, err)
	return key
}

func TestAnEncryptedBackupIsReadWithItsKeyOnly(t *testing.T) {
	s := newSite(t)
	seal, path := newKey(t)
	_, other := newKey(t)
	s.order.Seal = seal
	secret := first.with(contents{"db/000006.sst": "https://secret.example/" + strings.Repeat("x", 3*chunkBytes), "db/000007.sst": strings.Repeat("y", 2*chunkBytes)})
	sent := s.push(storeA, noon, secret)
	expect.Equal(t, sent.EncryptedFor, 1)
	expect.Equal(t, s.push(storeA, noon.Add(time.Minute), secret).SentFiles, 0, "again")
	for name := range s.Objects(t, "") {
		text, err := os.ReadFile(s.Path(name))
		expect.OK(t, err)
		expect.That(t, !bytes.Contains(text, []byte("secret.example")) && !bytes.Contains(text, []byte("fourfour")), "%s can be read", name)
	}
	s.wantFetched(Wanted{Key: readKey(t, path)}, secret, "with the key")
	s.wantRefused(Wanted{}, "the backup is encrypted: name the file with its secret key (--identity)")
	s.wantRefused(Wanted{Key: readKey(t, other)}, "no secret key in the file of --identity opens this backup")

	s.order.Seal, other = newKey(t)
	expect.Equal(t, s.push(storeA, noon.Add(2*time.Minute), secret).SentFiles, len(secret), "to others")
	s.wantFetched(Wanted{Key: readKey(t, other)}, secret, "with the other key")
	s.wantFetched(Wanted{Key: readKey(t, path), At: noon}, secret, "the older one with its key")
	for name, size := range s.Objects(t, s.order.Place.Prefix+storeText(storeA)+"/"+filesFolder) {
		text, err := os.ReadFile(s.Path(name))
		expect.OK(t, err)
		text[size/2] ^= 1
		expect.OK(t, os.WriteFile(s.Path(name), text, 0o600))
	}
	s.wantRefused(Wanted{Key: readKey(t, other)}, "is damaged")
}

func TestWhatIsWrongIsSaidInWords(t *testing.T) {
	s := newSite(t)
	dir := first.inFolder(t)
	wrong := func(what, want string, change func(o *Order)) {
		t.Helper()
		o := s.order
		settings := *o.Settings
		o.Settings = &settings
		change(&o)
		_, err := Push(t.Context(), Made{Dir: dir, Store: storeA, At: noon}, o)
		expect.That(t, err != nil && strings.Contains(err.Error(), want) && !strings.Contains(err.Error(), s3test.Secret), "%s: got %v, want %q", what, err, want)
	}
	wrong("a bucket that is not there", "s3://nothing: there is no bucket of that name", func(o *Order) { o.Place = Place{Bucket: "nothing"} })
	wrong("no server", "the S3 server cannot be reached (--s3-endpoint)", func(o *Order) { o.Settings.Endpoint = &url.URL{Scheme: "http", Host: "127.0.0.1:1"} })
	wrong("HTTPS to a server of HTTP", "write http:// in --s3-endpoint", func(o *Order) {
		o.Settings.Endpoint = &url.URL{Scheme: "https", Host: o.Settings.Endpoint.Host}
	})
	wrong("plain HTTP to elsewhere", "is plain HTTP, so all links", func(o *Order) { o.Settings.Endpoint = &url.URL{Scheme: "http", Host: "s3.example"} })
	t.Setenv(secretVariable, "not it")
	wrong("a wrong secret", "the secret key is not that of the key id", func(*Order) {})
	t.Setenv(idVariable, "nobody")
	wrong("a wrong key", "the server does not know the key id", func(*Order) {})
	t.Setenv(idVariable, "")
	wrong("no credentials", "there are no credentials for the S3 server: set AWS_ACCESS_KEY_ID", func(*Order) {})
	file := filepath.Join(t.TempDir(), "keys")
	expect.OK(t, os.WriteFile(file, []byte("[default]\naws_access_key_id = "+s3test.ID+"\n"), 0o600))
	wrong("half a file of credentials", "lacks a line aws_access_key_id = … or aws_secret_access_key = …", func(o *Order) { o.Settings.Credentials = file })
	expect.OK(t, os.WriteFile(file, []byte("[other]\naws_access_key_id = x\naws_secret_access_key = y\n\n[default]\naws_access_key_id = "+s3test.ID+
		"\naws_secret_access_key = "+s3test.Secret+"\n"), 0o600))
	s.order.Settings.Credentials = file
	s.push(storeA, noon, first)
}

// With a clock that is off, the server refuses each request.
func TestAWrongClockIsSaidInWords(t *testing.T) {
	err := explain(t.Context(), Place{Bucket: "b"}, answerOf("RequestTimeTooSkewed", 403))
	expect.That(t, strings.Contains(err.Error(), "the clock of this machine is more than 15 minutes off"), "got %v", err)
	for code := range advice {
		err := explain(t.Context(), Place{Bucket: "b", Prefix: "p/"}, answerOf(code, 400))
		expect.That(t, strings.HasPrefix(err.Error(), "s3://b/p: ") && strings.Contains(err.Error(), advice[code]), "%s: got %v", code, err)
	}
	full := explain(t.Context(), Place{Bucket: "b"}, answerOf("Strange", 507))
	expect.That(t, strings.Contains(full.Error(), "has no room left"), "got %v", full)
}

func TestARunThatIsCutOffLeavesNoBackup(t *testing.T) {
	s := newSite(t)
	ctx, cancel := context.WithCancelCause(t.Context())
	gone := errors.New("gone")
	o := s.order
	o.Say = func(progress string) {
		if strings.HasPrefix(progress, "sending") {
			cancel(gone)
		}
	}
	_, err := Push(ctx, Made{Dir: first.inFolder(t), Store: storeA, At: noon}, o)
	expect.Error(t, err, gone)
	expect.Equal(t, len(s.objects(storeA, backupsFolder)), 0, "lists of backups")
	expect.Equal(t, len(s.objects(storeA, runsFolder)), 0, "turns")
	s.wantRefused(Wanted{}, "has no backup")
	s.push(storeA, noon, first)
	s.wantFetched(Wanted{}, first, "after that")
}

// childEnv makes this program one that sends a backup: the endpoint and the folder.
const childEnv = "SHUNTTEST_OFFSITE_CHILD"

func child(place string) int {
	endpoint, dir, _ := strings.Cut(place, " ")
	u, err := url.Parse(endpoint)
	if err == nil {
		_, err = Push(context.Background(), Made{Dir: dir, Store: storeA, At: noon.Add(time.Hour)}, Order{
			Place: Place{s3test.Bucket, "some/where/"}, Settings: &Settings{Endpoint: u, Addressing: "auto"}, Say: quiet, pace: quickPace,
		})
	}
	fmt.Println(err)
	return 1
}

func TestARunThatIsKilledLeavesNoBackupAndKeepsNoOneOut(t *testing.T) {
	s := newSite(t)
	s.push(storeA, noon, first)
	narrow := s.Narrow(t, 20<<20)
	random := make([]byte, 3*partBytes)
	_, _ = rand.NewChaCha8([32]byte{2}).Read(random)
	more := first.with(contents{"db/000008.sst": string(random), "db/000009.sst": "nine"})
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(append(os.Environ(), s3test.Credentials()...), childEnv+"="+narrow.Endpoint+" "+more.inFolder(t))
	var said strings.Builder
	cmd.Stdout, cmd.Stderr = &said, &said
	expect.OK(t, cmd.Start())
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	select {
	case <-narrow.Stuck:
	case <-ended:
		t.Fatalf("the run ended by itself: %s", said.String())
	}
	expect.OK(t, cmd.Process.Kill())
	<-ended
	expect.Equal(t, len(s.objects(storeA, runsFolder)), 1, "the turn of the one that was killed")
	s.wantFetched(Wanted{}, first, "the newest")
	sent := s.push(storeA, noon.Add(2*time.Hour), more)
	expect.That(t, sent.SentFiles >= 1 && sent.SentFiles <= 2, "the next run: got %+v", sent)
	s.wantFetched(Wanted{}, more, "the next run")
	expect.Equal(t, len(s.objects(storeA, runsFolder)), 0, "turns: %q", s.objects(storeA, runsFolder))
}

func TestRunsOfAStoreTakeTurns(t *testing.T) {
	s := newSite(t)
	var all sync.WaitGroup
	for i := range 3 {
		all.Go(func() {
			o := s.order
			o.Keep.Least = 1
			c := first.with(contents{"db/000006.sst": fmt.Sprint("six ", i)})
			_, err := Push(t.Context(), Made{Dir: c.inFolder(t), Store: storeA, At: noon.Add(time.Duration(i) * time.Minute)}, o)
			expect.NoError(t, err)
		})
	}
	all.Wait()
	expect.Equal(t, len(s.objects(storeA, backupsFolder)), 1)
	expect.Equal(t, len(s.objects(storeA, filesFolder)), 5)
	_, err := s.fetch(Wanted{})
	expect.NoError(t, err)

	b, err := openBucket(t.Context(), s.order.Place, s.order.Settings)
	expect.OK(t, err)
	other, err := takeTurn(t.Context(), b, storeText(storeA), quickPace, quiet)
	expect.OK(t, err)
	held, end := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() {
		ended <- other.hold(held, func(ctx context.Context) error { <-ctx.Done(); return nil })
	}()
	o := s.order
	o.pace.wait = o.pace.dead + 3*time.Second // longer than a turn that is not renewed
	_, err = Push(t.Context(), Made{Dir: first.inFolder(t), Store: storeA, At: noon}, o)
	expect.Error(t, err, ErrBusy)
	end()
	expect.NoError(t, <-ended)
	expect.OK(t, other.leave(t.Context()))
	s.push(storeA, noon, first)
}

func TestARunWhoseTurnCannotBeRenewedEnds(t *testing.T) {
	s := newSite(t)
	narrow := s.Narrow(t, 100_000)
	o := s.order
	o.Settings = settingsOf(t, narrow.Endpoint)
	_, err := Push(t.Context(), Made{Dir: first.inFolder(t), Store: storeA, At: noon}, o)
	expect.Error(t, err, errBeat)
	narrow.Open()
	expect.Equal(t, len(s.objects(storeA, backupsFolder)), 0)
}

// A server that stops must not wait for the client to clean up after a run.
func TestARunEndsSoonAlsoWithoutAnAnswer(t *testing.T) {
	s := newSite(t)
	narrow := s.Narrow(t, 20<<20)
	o := s.order
	o.Settings = settingsOf(t, narrow.Endpoint)
	large := first.with(contents{"db/000008.sst": strings.Repeat("eight", partBytes)})
	ctx, cancel := context.WithCancelCause(t.Context())
	ended, gone := make(chan error, 1), errors.New("gone")
	go func() {
		_, err := Push(ctx, Made{Dir: large.inFolder(t), Store: storeA, At: noon}, o)
		ended <- err
	}()
	<-narrow.Stuck
	cancel(gone)
	select { // without a bound it takes a minute and more
	case err := <-ended:
		expect.Error(t, err, gone)
	case <-time.After(30 * time.Second):
		t.Error("the run has not ended")
		narrow.Open()
		<-ended
	}
}
