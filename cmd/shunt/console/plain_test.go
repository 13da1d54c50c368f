package console

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"syscall"
	"testing"

	"shunt/engine/expect"
)

func TestErrorsOfTheSystemAreSaidInWords(t *testing.T) {
	_, missing := os.Open("/does/not/exist")
	dir := t.TempDir()
	_, folder := os.ReadFile(dir)
	made := os.Mkdir("/does/not/exist", 0o700)
	for _, c := range []struct {
		err  error
		want string
	}{
		{fmt.Errorf("storage: opening: %w", missing), "opening: /does/not/exist does not exist"},
		{fmt.Errorf("a: %w", errors.Join(missing, folder)), "a: /does/not/exist does not exist\n" + dir + " is a folder, not a file"},
		{made, "the folder /does/not/exist cannot be made: no such file or directory"},
		{&fs.PathError{Op: "open", Path: "/x", Err: syscall.EACCES}, "this user may not use /x: permission denied"},
		{&fs.PathError{Op: "read", Path: "/x", Err: syscall.EIO}, "/x: input/output error"},
		{&os.LinkError{Op: "rename", Old: "/a", New: "/b", Err: syscall.ENOSPC}, "/b: no space left on device"},
		{os.NewSyscallError("read", syscall.ECONNRESET), "connection reset by peer"},
		{errors.New("as it was"), "as it was"},
	} {
		expect.Equal(t, PlainText(c.err), c.want, "%v", c.err)
	}
	expect.Error(t, (plainError{missing}), fs.ErrNotExist, "the cause of a plain error cannot be asked")
}

func TestRequestsThatFailAreSaidInWords(t *testing.T) {
	plain := httptest.NewServer(http.NotFoundHandler())
	defer plain.Close()
	secret := httptest.NewUnstartedServer(http.NotFoundHandler())
	secret.Config.ErrorLog = log.New(io.Discard, "", 0)
	secret.StartTLS()
	defer secret.Close()
	cut := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { panic(http.ErrAbortHandler) }))
	defer cut.Close()
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	for url, want := range map[string]string{
		strings.Replace(plain.URL, "http:", "https:", 1): "it speaks plain HTTP, not HTTPS: write http:// before the address",
		secret.URL:               "its certificate is not trusted (certificate signed by unknown authority)",
		cut.URL:                  "the connection ended before it",
		"http://127.0.0.1:1":     "nothing listens on 127.0.0.1:1",
		"http://nohost.invalid/": "there is no address for the name nohost.invalid",
	} {
		answer, err := client.Get(url)
		if err == nil {
			_, _ = io.Copy(io.Discard, answer.Body)
			t.Fatalf("%s: got an answer", url)
		}
		expect.Equal(t, PlainText(err), want, url)
	}
}
