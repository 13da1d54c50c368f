package client_test

import (
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"shunt/api/client"
	"shunt/engine/expect"
)

// drips is an answer of pieces, each after a pause; then nothing comes, and the connection stays.
func drips(pause time.Duration, pieces ...string) answer {
	return func(request *http.Request) (*http.Response, error) {
		r, w := io.Pipe()
		go func() {
			for _, piece := range pieces {
				time.Sleep(pause) // of a bubble
				_, _ = io.WriteString(w, piece)
			}
			<-request.Context().Done()
			_ = w.CloseWithError(request.Context().Err())
		}()
		return &http.Response{StatusCode: 200, Body: r}, nil
	}
}

func TestASilentStreamIsGivenUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, _ := scripted(t, client.Retry{}, drips(29*time.Second, someLink+"\n", someLink+"\n", "\n", someLink+"\n"))
		begun, links := time.Now(), 0
		for _, err := range c.Export(t.Context(), client.ExportQuery{}) {
			if err == nil {
				links++
				continue
			}
			late := net.Error(nil)
			expect.That(t, errors.As(err, &late) && late.Timeout(), "got %v, want a timeout", err)
		}
		took := time.Since(begun)
		expect.That(t, links == 3 && took == (4*29+30)*time.Second, "got %d links in %v, want 3, and 30 s of silence", links, took)
	})
}

func TestASlowConsumerIsNotASilentServer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, _ := scripted(t, client.Retry{}, drips(0, someLink+"\n", someLink+"\n"))
		begun, links := time.Now(), 0
		for _, err := range c.Export(t.Context(), client.ExportQuery{}) {
			if err == nil {
				links++
				time.Sleep(time.Hour) // of the bubble
			}
		}
		took := time.Since(begun)
		expect.That(t, links == 2 && took == 2*time.Hour+30*time.Second, "got %d links in %v, want 2, and then 30 s of silence", links, took)
	})
}

func TestCommentsKeepALiveStreamOpen(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const figures, comment = "data: {\"hits\":1}\n\n", ":\n\n"
		pieces := []string{figures}
		for range 10 {
			pieces = append(pieces, comment)
		}
		c, _ := scripted(t, client.Retry{}, drips(40*time.Second, append(pieces, figures)...))
		begun, seen, ended := time.Now(), 0, error(nil)
		for _, err := range c.Live(t.Context(), "a") {
			if ended = err; err == nil {
				seen++
			}
		}
		late := net.Error(nil)
		if took := time.Since(begun); seen != 2 || !errors.As(ended, &late) || took != (12*40+45)*time.Second {
			t.Errorf("got %d figures in %v and %v, want 2, and 45 s of silence", seen, took, ended)
		}
	})
}

// takes is a transport that reads the body of a request a piece at a time, each after a pause, and answers.
type takes time.Duration

func (pause takes) RoundTrip(request *http.Request) (*http.Response, error) {
	for {
		select {
		case <-time.After(time.Duration(pause)): // of a bubble
		case <-request.Context().Done():
			return nil, request.Context().Err()
		}
		switch _, err := io.CopyN(io.Discard, request.Body, 16<<10); err {
		case nil:
		case io.EOF:
			return says(200, `{"created":1,"existing":0,"failed":0,"results":[]}`)(request)
		default:
			return nil, err
		}
	}
}

func TestASlowLineThatMovesIsNotCut(t *testing.T) {
	link := json.RawMessage(`"` + strings.Repeat("x", 1<<20) + `"`) // 64 pieces, and one more for its end
	for name, c := range map[string]struct {
		pause, took time.Duration
		late        bool
	}{
		"128 kbit/s": {time.Second, 65 * time.Second, false},
		"64 kbit/s":  {2001 * time.Millisecond, 58 * time.Second, true}, // 28 of them are for what has moved
		"nothing":    {time.Hour, 30 * time.Second, true},
	} {
		synctest.Test(t, func(t *testing.T) {
			to, err := client.New("https://sho.rt", "shunt_secret", &client.Options{Transport: takes(c.pause), Retry: client.Retry{Attempts: 1}})
			expect.OK(t, err)
			begun := time.Now()
			_, err = to.Import(t.Context(), []json.RawMessage{link})
			late := net.Error(nil)
			expect.That(t, (err == nil) == !c.late && errors.As(err, &late) == c.late, "%s: got %v, want a timeout: %v", name, err, c.late)
			expect.Equal(t, time.Since(begun), c.took, name)
		})
	}
}
