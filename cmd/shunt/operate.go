package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"time"

	"shunt/cmd/shunt/console"
	"shunt/cmd/shunt/socket"

	"shunt/api/client"
	"shunt/storage"
)

// Shared by backup, restore and check, which work on a whole folder and may take long.

// reach connects to the server that runs on the folder; or returns nil, and what alone has
// returned: it opens the folder, and storage.ErrLocked means that a process without a socket has
// it.
func (t *localTarget) reach(ctx context.Context, alone func() error) (*connection, error) {
	path, tooLong := socket.Path(t.data.dataDir) // too long: no server can run on it, but a backup can be there
	patience, cancel := context.WithTimeout(ctx, t.patience)
	defer cancel()
	for {
		if tooLong == nil {
			if c, err := t.connectSocket(patience, path); c != nil || err != nil {
				return c, err
			}
		}
		err := alone()
		if !errors.Is(err, storage.ErrLocked) {
			return nil, err
		}
		select {
		case <-patience.Done():
			return nil, fmt.Errorf("%w (and nothing has answered at %s for %v)", err, path, t.patience)
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

// operate has the server do something that may take long, and decodes its result into result. It
// closes c.
func (c *connection) operate(ctx context.Context, path string, body any, say func(string), result any) error {
	return errors.Join(c.follow(ctx, path, body, say, result), c.close())
}

func (c *connection) follow(ctx context.Context, path string, body any, say func(string), result any) error {
	for text, err := range c.Lines(ctx, http.MethodPost, path, body) {
		if refused := (*client.Problem)(nil); errors.As(err, &refused) {
			return err
		}
		if err != nil {
			return fmt.Errorf("the server ended, or was stopped, before this was done: %w", err)
		}
		var line operationLine
		if err := json.Unmarshal(text, &line); err != nil {
			return fmt.Errorf("the server's answer: %w", err)
		}
		switch {
		case line.Error != "":
			return errors.New(console.Printable(line.Error))
		case line.Result != nil:
			return json.Unmarshal(line.Result, result)
		}
		say(console.Printable(line.Progress))
	}
	return errors.New("the server was stopped before this was done")
}
