package api

import (
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"shunt/api/account"
	"shunt/engine/expect"
)

// A sickDisk is the file system of this machine, which a test can make full, or make hang.
type sickDisk struct {
	vfs.FS
	full  atomic.Bool  // no space is free
	hangs sync.RWMutex // locked: no sync ends
}

func (d *sickDisk) GetDiskUsage(path string) (vfs.DiskUsage, error) {
	usage, err := d.FS.GetDiskUsage(path)
	if d.full.Load() {
		usage.AvailBytes = 0
	}
	return usage, err
}

func (d *sickDisk) Create(name string, category vfs.DiskWriteCategory) (vfs.File, error) {
	file, err := d.FS.Create(name, category)
	return d.file(file, err)
}

func (d *sickDisk) ReuseForWrite(from, to string, category vfs.DiskWriteCategory) (vfs.File, error) {
	file, err := d.FS.ReuseForWrite(from, to, category)
	return d.file(file, err)
}

func (d *sickDisk) file(file vfs.File, err error) (vfs.File, error) {
	if err != nil {
		return nil, err
	}
	return &sickFile{file, d}, nil
}

type sickFile struct {
	vfs.File
	disk *sickDisk
}

func (f *sickFile) Sync() error {
	f.disk.hangs.RLock()
	defer f.disk.hangs.RUnlock()
	return f.File.Sync()
}

func (f *sickFile) SyncData() error {
	f.disk.hangs.RLock()
	defer f.disk.hangs.RUnlock()
	return f.File.SyncData()
}

// writes are all calls that write to the objects that prepareWrites has made.
var writes = map[string]string{
	"POST /shorten":       `{"url":"http://a/"}`,
	"POST /shorten/bulk":  `[{"url":"http://a/"}]`,
	"POST /import":        `[{"code":"abe","url":"http://a/"}]`,
	"PATCH /links/abc":    `{"title":"t"}`,
	"DELETE /links/abd":   ``,
	"POST /tokens":        `{"name":"n"}`,
	"DELETE /tokens/{id}": ``,
	"POST /users":         `{"email":"new@example.com"}`,
	"PATCH /users/2":      `{"role":"admin"}`,
	"DELETE /users/3":     ``,
	"POST /session":       `{"email":"ann@example.com","password":"` + goodPassword + `"}`,
}

func (st *site) prepareWrites() (tokenID string) {
	st.t.Helper()
	st.shorten(`{"url":"http://a/","alias":"abc"}`)
	st.shorten(`{"url":"http://a/","alias":"abd"}`)
	st.person("ann@example.com", account.RoleMember)
	st.person("bob@example.com", account.RoleMember)
	admin, err := st.accounts.UserByName(account.AdminName)
	expect.NoError(st.t, err)
	token, _, err := st.accounts.IssueToken(account.CallerOf(admin), account.TokenDraft{Name: "t"})
	expect.NoError(st.t, err)
	return token.ID
}

func (st *site) write(request, tokenID string) reply {
	method, path, _ := strings.Cut(request, " ")
	return st.call(method, strings.ReplaceAll(path, "{id}", tokenID), writes[request])
}

// freeing are the writes that a full disk allows, because they remove data. A delete of a link is
// not one: it adds a row.
var freeing = map[string]bool{"DELETE /tokens/{id}": true, "DELETE /users/3": true}

func TestAFullDiskRefusesWritesThatAddData(t *testing.T) {
	t.Parallel()
	disk := &sickDisk{FS: vfs.Default}
	st := newSiteOver(t, disk)
	tokenID := st.prepareWrites()
	disk.full.Store(true)
	for deadline := time.Now().Add(patienceOfTests); st.metric("shunt_read_only") != "1"; time.Sleep(time.Millisecond) {
		expect.MustThat(t, !time.Now().After(deadline), "the full disk is not noticed")
	}
	for request := range writes {
		r := st.write(request, tokenID)
		if freeing[request] {
			r.expect(t, request, 204)
			continue
		}
		r.expect(t, request, problemOf("read_only"), header("Retry-After", "10"))
	}
	r := st.get("/yourls-api.php?action=shorturl&url=https://a.example/&format=json&signature=" + st.token)
	r.expect(t, "at the door of YOURLS", 503, `"code":"error:db"`)
}

func TestADiskThatHangsLeavesTheOutcomeOfWritesUnknown(t *testing.T) {
	t.Parallel()
	disk := &sickDisk{FS: vfs.Default}
	st := newSiteOver(t, disk)
	tokenID := st.prepareWrites()
	disk.hangs.Lock()
	var asked sync.WaitGroup
	for request := range writes {
		asked.Go(func() {
			// accounts are written one after another: all but the first may learn that nothing was started
			r := st.write(request, tokenID)
			if p := r.problem(); p != "outcome_unknown" && p != "overloaded" || r.header.Get("Retry-After") != "1" {
				t.Errorf("%s: got %d %s, want outcome_unknown or overloaded", request, r.status, r.body)
			}
			expect.That(t, r.problem() != "overloaded" || !strings.Contains(request, "shorten"), "%s: got overloaded", request)
		})
	}
	asked.Wait()
	disk.hangs.Unlock()
}
