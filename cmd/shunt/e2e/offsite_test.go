package e2e

import (
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"filippo.io/age"

	"shunt/cmd/shunt/offsite/s3test"
	"shunt/engine/expect"
)

// bucketArgs are those with which commands reach an S3 server.
func bucketArgs(t *testing.T, server *s3test.Server) []string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "credentials")
	text := "[default]\naws_access_key_id = " + s3test.ID + "\naws_secret_access_key = " + s3test.Secret + "\n"
	expect.OK(t, os.WriteFile(file, []byte(text), 0o600))
	return []string{"--s3-endpoint", server.Endpoint, "--s3-credentials", file}
}

// sentDone is the part of the output of 'shunt backup --to s3://… --json' that the tests read.
type sentDone struct {
	At        time.Time `json:"at"`
	Store     string    `json:"store"`
	Links     uint64    `json:"links"`
	Files     int       `json:"files"`
	SentFiles int       `json:"sent_files"`
	Verified  bool      `json:"verified"`
	Warning   string    `json:"warning"`
}

func TestABackupUnderLoadGoesToABucketAndBack(t *testing.T) {
	t.Parallel()
	server := s3test.Start(t)
	home := t.TempDir()
	dir, bucket := filepath.Join(home, "data"), bucketArgs(t, server)
	p := startServer(t, dir)
	c := startClients(t, p)
	defer c.end()
	backUp := func(args ...string) sentDone {
		t.Helper()
		r := shunt(t, home, nil, append(append([]string{"backup", "--to", "s3://backups/a/b", "--data", dir, "--json"}, bucket...), args...)...)
		done := printed[sentDone](t, r)
		expect.MustThat(t, r.code == exitDone && done.Warning == "", "got %+v, exit code %d: %s", done, r.code, r.stderr)
		return done
	}
	acknowledged, hits := c.acknowledged(50, 50)
	first := backUp()
	expect.That(t, first.Verified && first.SentFiles > 0 && first.SentFiles <= first.Files && first.Links >= uint64(len(acknowledged)), "the first: got %+v", first)
	expect.That(t, p.figure("shunt_last_backup_timestamp_seconds") != "0", "the backup is not in the metrics")
	later, _ := c.acknowledged(len(acknowledged)+50, 0)
	second := backUp("--skip-check")
	expect.That(t, second.Links > first.Links && !second.Verified, "the second: got %+v", second)
	c.end()
	p.terminate()
	shunt(t, home, nil, append([]string{"add", "https://example.org/", "--alias", "alone", "--data", dir}, nil...)...).done(t)
	alone := backUp()
	again := backUp()
	expect.That(t, again.SentFiles < again.Files && alone.Links == again.Links, "without a change: got %+v after %+v", again, alone)

	r := shunt(t, home, nil, append([]string{"backup", "ls", "s3://backups/a/b", "--json"}, bucket...)...)
	listed := printed[struct{ Backups []sentDone }](t, r).Backups
	expect.MustThat(t, len(listed) == 4 && listed[3].At.Equal(first.At) && listed[0].Store == first.Store, "got %+v: %s", listed, r.stderr)
	shunt(t, home, nil, append([]string{"backup", "ls", "s3://backups/a/b", "--limit", "1"}, bucket...)...).want(t, exitDone, "there are more", "")

	restore := func(name string, args ...string) *process {
		t.Helper()
		to := filepath.Join(home, name)
		shunt(t, home, nil, append(append([]string{"restore", "--from", "s3://backups/a/b", "--data", to}, bucket...), args...)...).done(t)
		return startServer(t, to)
	}
	then := restore("then", "--at", second.At.Add(-time.Millisecond).Format("2006-01-02T15:04:05.000Z"))
	wantCodes(t, then, acknowledged, http.StatusFound)
	wantCodes(t, then, []string{"alone", later[len(later)-1]}, http.StatusNotFound)
	expect.That(t, hits > 0, "nobody visited")
	now := restore("now")
	wantCodes(t, now, append(later, "alone"), http.StatusFound)
}

// wantCodes wants that each code is answered with that status.
func wantCodes(t *testing.T, p *process, codes []string, status int) {
	t.Helper()
	client := &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	for _, code := range codes {
		answer, err := client.Get(p.public + "/" + code)
		expect.OK(t, err)
		expect.OK(t, answer.Body.Close())
		expect.MustThat(t, answer.StatusCode == status, "%s: got status %d, want %d", code, answer.StatusCode, status)
	}
}

func TestALostMachineCostsOnlyWhatCameAfterTheLastBackup(t *testing.T) {
	t.Parallel()
	server := s3test.Start(t)
	home := t.TempDir()
	identity, err := age.GenerateX25519Identity()
	expect.OK(t, err)
	to, key := filepath.Join(home, "to.txt"), filepath.Join(home, "key.txt")
	expect.OK(t, os.WriteFile(to, []byte(identity.Recipient().String()+"\n"), 0o600))
	expect.OK(t, os.WriteFile(key, []byte(identity.String()+"\n"), 0o600))
	dir, bucket := filepath.Join(home, "data"), bucketArgs(t, server)
	p := startServer(t, dir, append([]string{"--backup-to", "s3://backups", "--backup-every", "10s", "--encrypt-to", to}, bucket...)...)
	shunt(t, home, nil, "add", "https://example.org/", "--alias", "kept", "--data", dir).done(t)
	made := float64(time.Now().UnixMilli()) / 1000
	for { // the test's own limit of time ends it
		at, err := strconv.ParseFloat(p.figure("shunt_offsite_backup_timestamp_seconds"), 64)
		expect.MustThat(t, err == nil, "got %v", err)
		if at > made {
			break
		}
		time.Sleep(100 * time.Millisecond)
	}
	expect.That(t, p.figure("shunt_offsite_backup_interval_seconds") == "10" && p.figure("shunt_offsite_backup_failures_total") == "0" &&
		p.figure("shunt_offsite_backup_sent_bytes_total") != "0", "the metrics are wrong:\n%s", p.stderr())
	p.kill()
	expect.OK(t, os.RemoveAll(dir))
	restore := append([]string{"restore", "--from", "s3://backups", "--data", dir}, bucket...)
	shunt(t, home, nil, restore...).want(t, exitFailed, "", "the backup is encrypted")
	shunt(t, home, nil, append(restore, "--identity", key)...).done(t)
	wantCodes(t, startServer(t, dir), []string{"kept"}, http.StatusFound)
}

func TestMistakesWithABucketAreSaidInWords(t *testing.T) {
	t.Parallel()
	server := s3test.Start(t)
	home := t.TempDir()
	dir, bucket := filepath.Join(home, "data"), bucketArgs(t, server)
	p := startServer(t, dir)
	run := func(args ...string) (r result) {
		for range 50 { // the server may still end the backup of the command before
			r = shunt(t, home, []string{"AWS_ACCESS_KEY_ID=", "AWS_SECRET_ACCESS_KEY="}, append(args, "--data", dir)...)
			if !strings.Contains(r.stderr, "(409 busy)") {
				break
			}
			time.Sleep(100 * time.Millisecond)
		}
		return r
	}
	run("backup", "--to", "s3://backups/x", "--s3-endpoint", server.Endpoint).want(t, exitFailed, "", "there are no credentials for the S3 server")
	run(append([]string{"backup", "--to", "s3://elsewhere/x"}, bucket...)...).want(t, exitFailed, "", "there is no bucket of that name")
	run("backup", "--to", "s3://Backups").want(t, exitUsage, "", "3 to 63 of a-z")
	run("backup", "--to", "backups", "--keep-for", "3d").want(t, exitUsage, "", "belong to --to s3://BUCKET/PREFIX")
	run("backup", "--to", "s3://backups", "--encrypt-to", "none.txt").want(t, exitUsage, "", "none.txt does not exist")
	run("backup", "--to", "s3://backups", "--s3-endpoint", "http://s3.example").want(t, exitFailed, "", "is plain HTTP")
	run("restore", "--at", "1h", "x").want(t, exitUsage, "", "--at belongs to --from")
	run("restore", "--from", "/backups").want(t, exitUsage, "", "must be the address of a bucket")
	again := shunt(t, home, nil, append([]string{"restore", "--from", "s3://backups/none", "--data", "again"}, bucket...)...)
	again.want(t, exitFailed, "", "s3://backups/none has no backup")
	_, err := os.Stat(filepath.Join(home, "again"))
	expect.That(t, os.IsNotExist(err), "a restore without a backup made a folder: %v", err)
	left := func() string { return strings.Join(backupsIn(t, dir), " ") }
	for deadline := time.Now().Add(10 * time.Second); strings.Contains(left(), "stream") && time.Now().Before(deadline); {
		time.Sleep(50 * time.Millisecond) // until the server has seen that the command has ended
	}
	expect.That(t, !strings.Contains(left(), "stream"), "the data folder has %q", left())
	p.terminate()
}

// TestTheUnitSendsABackupToABucket runs the command of shunt-backup-s3.service as systemd does, with the file of its
// environment filled in.
func TestTheUnitSendsABackupToABucket(t *testing.T) {
	t.Parallel()
	server, home := s3test.Start(t), t.TempDir()
	dir := filepath.Join(home, "data")
	p := startServer(t, dir)
	shunt(t, home, nil, "add", "https://example.org/", "--alias", "kept", "--data", dir).done(t)
	unit, err := os.ReadFile("../../deploy/systemd/shunt-backup-s3.service")
	expect.OK(t, err)
	env, err := os.ReadFile("../../deploy/package/backup-s3.env")
	expect.OK(t, err)
	var variables []string
	for line := range strings.Lines(string(env)) {
		name, value, is := strings.Cut(strings.TrimPrefix(strings.TrimSpace(line), "#"), "=")
		if !is || strings.Contains(name, " ") {
			continue
		}
		if filled := map[string]string{
			"BACKUP_TO": "s3://backups/unit", "SHUNT_S3_ENDPOINT": server.Endpoint, "AWS_ACCESS_KEY_ID": s3test.ID, "AWS_SECRET_ACCESS_KEY": s3test.Secret,
		}[name]; filled != "" {
			value = filled
		}
		variables = append(variables, name+"="+value)
	}
	expect.Equal(t, len(variables), 5, "variables of the file")
	expect.Contains(t, string(unit), "EnvironmentFile=/etc/shunt/backup-s3.env\n")
	_, command, found := strings.Cut(string(unit), "\nExecStart=/usr/bin/shunt ")
	expect.MustThat(t, found, "the unit starts another program")
	command, _, _ = strings.Cut(command, "\n")
	config := writeFile(t, "shunt.toml", "data = '"+dir+"'\n")
	text := ran(t, home, variables, nil, "sh", "-c", binary+" "+strings.Replace(command, "/etc/shunt/shunt.toml", config, 1)).done(t)
	expect.Contains(t, text, "backed up 1 link")
	expect.Contains(t, text, "to s3://backups/unit")
	p.terminate()
	again := filepath.Join(home, "again")
	ran(t, home, variables, nil, binary, "restore", "--from", "s3://backups/unit", "--data", again).done(t)
	wantCodes(t, startServer(t, again), []string{"kept"}, http.StatusFound)
}
