package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"sync"
	"time"

	"github.com/mattn/go-isatty"
	"github.com/spf13/cobra"

	"shunt/storage"
)

// What backup, restore and check share: they work on a whole folder, and may take long.

// addFolderSettings gives cmd the settings of a command that works on a whole folder.
func addFolderSettings(cmd *cobra.Command, s *dataSettings) {
	addDataSettings(cmd, s)
	for _, name := range []string{"listen", "private-targets", "journal-dir", "base-url"} {
		must(cmd.Flags().MarkHidden(name)) // taken from serve's file or environment; of no interest in the help
	}
}

// reach returns a client of the server that runs on the folder; or nil, and what alone has returned: it opens the folder, and
// storage.ErrLocked means that a process without a socket has it.
func (t *localTarget) reach(ctx context.Context, alone func() error) (*client, error) {
	path, tooLong := socketPath(t.data.dataDir) // too long: no server can run on it, but a backup can be there
	patience, cancel := context.WithTimeout(ctx, t.patience)
	defer cancel()
	for {
		if c := t.connectSocket(patience, path); tooLong == nil && c != nil {
			return c, nil
		}
		err := alone()
		if !errors.Is(err, storage.ErrLocked) {
			return nil, err
		}
		select {
		case <-patience.Done():
			return nil, fmt.Errorf("%w (and for %v nobody has answered at %s)", err, t.patience, path)
		case <-time.After(retryInterval):
		}
	}
}

// operationLine is a line of the answer to an operation.
type operationLine struct {
	Progress string          `json:"progress"`
	Result   json.RawMessage `json:"result"`
	Error    string          `json:"error"`
}

// operate has the server do something that may take long, and decodes its result into result. A server that is silent for
// callTimeout has gone. It closes the client.
func (c *client) operate(ctx context.Context, path string, body any, say func(string), result any) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	silence := time.AfterFunc(callTimeout, cancel)
	defer silence.Stop()
	answer, err := c.openStream(ctx, http.MethodPost, path, body)
	if err != nil {
		return errors.Join(err, c.close())
	}
	lines := bufio.NewReaderSize(io.LimitReader(answer, maxAnswerBytes), 1<<16)
	err = func() error {
		for {
			text, err := lines.ReadBytes('\n')
			if err != nil {
				return fmt.Errorf("the server has gone, or was stopped, before it was done: %w", err)
			}
			silence.Reset(callTimeout)
			var line operationLine
			if err := json.Unmarshal(text, &line); err != nil {
				return fmt.Errorf("the server's answer: %w", err)
			}
			switch {
			case line.Error != "":
				return errors.New(printable(line.Error))
			case line.Result != nil:
				return json.Unmarshal(line.Result, result)
			}
			say(printable(line.Progress))
		}
	}()
	return errors.Join(err, answer.Close(), c.close())
}

// openStream sends a request and returns the body of the answer, which may go on for long. While the server loads its
// links, it tries again.
func (c *client) openStream(ctx context.Context, method, path string, body any) (io.ReadCloser, error) {
	endless := *c.http
	endless.Timeout = 0
	for start := time.Now(); ; {
		request, err := c.request(ctx, method, path, body)
		if err != nil {
			return nil, err
		}
		response, err := endless.Do(request)
		if err != nil {
			return nil, fmt.Errorf("no answer: %w", err)
		}
		if response.StatusCode == http.StatusOK {
			return response.Body, nil
		}
		text, err := io.ReadAll(io.LimitReader(response.Body, maxAnswerBytes))
		if err = errors.Join(err, response.Body.Close()); err != nil {
			return nil, fmt.Errorf("reading the answer: %w", err)
		}
		err = readProblem(response.StatusCode, text)
		if p := (problem{}); !errors.As(err, &p) || p.Code != "loading" || time.Since(start) > loadPatience {
			return nil, err
		}
		time.Sleep(retryInterval)
	}
}

// A progress shows how a long command goes: to a person one line that changes, else a line now and then.
type progress struct {
	w      io.Writer
	person bool

	mu    sync.Mutex
	shown time.Time
	drawn int // bytes of the unfinished line on the terminal
}

// progressDelay is after which time there is something to tell at all.
const progressDelay = time.Second

func newProgress(w io.Writer) *progress {
	f, ok := w.(*os.File)
	return &progress{w: w, person: ok && isatty.IsTerminal(f.Fd()), shown: time.Now()}
}

// say may be called from any goroutine, and as often as one likes.
func (p *progress) say(text string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	interval := logProgressInterval
	if p.person {
		interval = progressDelay
	}
	if text == "" || time.Since(p.shown) < interval {
		return
	}
	p.shown = time.Now()
	if !p.person {
		fmt.Fprintf(p.w, "shunt: %s\n", text)
		return
	}
	fmt.Fprintf(p.w, "\r%-*s", p.drawn, text)
	p.drawn = len(text)
}

// end clears the line.
func (p *progress) end() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.drawn > 0 {
		fmt.Fprintf(p.w, "\r%*s\r", p.drawn, "")
		p.drawn = 0
	}
}
