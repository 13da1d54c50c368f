package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
	"time"
	"unicode"
)

const (
	callTimeout = 30 * time.Second
	// maxAnswerBytes bounds what is read of an answer. The longest is a list of 10,000 users of at most 400 bytes.
	maxAnswerBytes = 8 << 20
	// loadPatience is enough for 20 million links: a server loads over two million a second.
	loadPatience = 10 * time.Second
)

// client talks to the API of a server, wherever that is.
type client struct {
	http    *http.Client
	origin  string
	token   string // of a remote server
	local   bool   // the server knows that we may open its folder, and asks for no token
	user    string // whom to act as there; empty: the oldest admin
	onClose func() error
}

// newClient returns a client whose connections are made by dial; nil dials origin itself.
func newClient(origin string, dial func(ctx context.Context) (net.Conn, error)) *client {
	transport := http.DefaultTransport.(*http.Transport).Clone()
	if dial != nil {
		transport.Proxy = nil
		transport.DialContext = func(ctx context.Context, _, _ string) (net.Conn, error) { return dial(ctx) }
	}
	return &client{
		http: &http.Client{
			Transport:     transport,
			Timeout:       callTimeout,
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		},
		origin:  origin,
		onClose: func() error { return nil },
	}
}

// close ends the client, and the server behind it if that was started for it.
func (c *client) close() error {
	c.http.CloseIdleConnections()
	return c.onClose()
}

// callInto is call, with the answer decoded into answer.
func (c *client) callInto(ctx context.Context, method, path string, body, answer any) error {
	text, err := c.call(ctx, method, path, body)
	if err != nil {
		return err
	}
	if err := json.Unmarshal(text, answer); err != nil {
		return fmt.Errorf("the server's answer: %w", err)
	}
	return nil
}

// call sends body as JSON, if it is not nil, and returns the answer's JSON as it came.
// An answer that is no success is a problem. While the server loads its links, it tries again for up to loadPatience.
func (c *client) call(ctx context.Context, method, path string, body any) (json.RawMessage, error) {
	patience, cancel := context.WithTimeout(ctx, loadPatience)
	defer cancel()
	for {
		answer, err := c.callOnce(ctx, method, path, body)
		if p := (problem{}); !errors.As(err, &p) || p.Code != "loading" {
			return answer, err
		}
		select {
		case <-patience.Done():
			return nil, err
		case <-time.After(retryInterval):
		}
	}
}

func (c *client) callOnce(ctx context.Context, method, path string, body any) (json.RawMessage, error) {
	request, err := c.request(ctx, method, path, body)
	if err != nil {
		return nil, err
	}
	response, err := c.http.Do(request)
	if err != nil {
		return nil, fmt.Errorf("no answer: %w", err)
	}
	defer response.Body.Close()
	answer, err := io.ReadAll(io.LimitReader(response.Body, maxAnswerBytes))
	if err != nil {
		return nil, fmt.Errorf("reading the answer: %w", err)
	}
	if response.StatusCode/100 != 2 {
		return nil, readProblem(response.StatusCode, answer)
	}
	return answer, nil
}

func (c *client) request(ctx context.Context, method, path string, body any) (*http.Request, error) {
	var content io.Reader
	if body != nil {
		text, err := json.Marshal(body)
		if err != nil {
			return nil, err
		}
		content = bytes.NewReader(text)
	}
	request, err := http.NewRequestWithContext(ctx, method, c.origin+"/api/v1"+path, content)
	if err != nil {
		return nil, err
	}
	if body != nil {
		request.Header.Set("Content-Type", "application/json")
	}
	if c.token != "" {
		request.Header.Set("Authorization", "Bearer "+c.token)
	}
	request.Header.Set("User-Agent", "shunt/"+versionText())
	if c.user != "" {
		request.Header.Set("Shunt-User", c.user)
	}
	return request, nil
}

// problem is an RFC 9457 answer.
type problem struct {
	Status int    `json:"status"`
	Title  string `json:"title"`
	Detail string `json:"detail"`
	Code   string `json:"code"`
	Errors []struct {
		Field   string `json:"field"`
		Message string `json:"message"`
	} `json:"errors"`
}

func readProblem(status int, answer []byte) error {
	p := problem{}
	if json.Unmarshal(answer, &p) != nil || p.Code == "" {
		return fmt.Errorf("the server answered %d %s; is that address a shunt server?", status, http.StatusText(status))
	}
	p.Status = status
	return p
}

// Error is one line: the fields that are wrong, else what went wrong.
func (p problem) Error() string {
	var parts []string
	for _, e := range p.Errors {
		parts = append(parts, strings.TrimPrefix(e.Field+": "+e.Message, ": "))
	}
	if len(parts) == 0 && p.Detail != "" {
		parts = append(parts, p.Detail)
	}
	if len(parts) == 0 {
		parts = append(parts, p.Title)
	}
	return fmt.Sprintf("%s (%d %s)", printable(strings.Join(parts, "; ")), p.Status, p.Code)
}

// printable shows a server's text as one line that does nothing to a terminal.
func printable(text string) string {
	if strings.ContainsFunc(text, unicode.IsControl) {
		text = strings.Trim(strconv.Quote(text), `"`)
	}
	return text
}
