package client

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"
	"unicode"
)

// Options are the settings of a Client. A zero field has its default.
type Options struct {
	// Transport makes the connections. Default: http.DefaultTransport, which uses the proxy that
	// the environment names. It is not an http.Client, because cookies, redirects and time limits
	// are not configurable.
	Transport http.RoundTripper
	// UserAgent names the program. Default: "shunt-client".
	UserAgent string
	// Header is sent with every request. It must not have fields that the package sets itself.
	Header http.Header
	// Timeout limits one attempt of a call, from its beginning to the last byte of the answer. Each
	// 16 KiB of the body and of the answer add a second, so that a slow line of 128 kbit/s is not cut.
	// For Export and Lines it limits how long the server may be silent. Default: 30 s. The context
	// limits all attempts together.
	Timeout time.Duration
	// Retry says how calls are repeated.
	Retry Retry
}

const (
	defaultUserAgent = "shunt-client"
	defaultTimeout   = 30 * time.Second

	// maxAnswerBytes is the limit of an answer that is read whole. The longest have 1,000 links
	// with targets of 8 KiB, quoted.
	maxAnswerBytes = 32 << 20

	// maxProblemBytes is the limit of a problem; of a larger one only the status is used.
	maxProblemBytes = 1 << 20

	apiRoot = "/api/v1"
)

// A Client talks to one server. It is safe for concurrent use.
type Client struct {
	http    http.Client
	origin  string // scheme://host[:port]
	header  http.Header
	timeout time.Duration
	retry   Retry
}

// New returns a client of the server at baseURL, an origin such as "https://sho.rt". It sends
// nothing. The token is sent to this origin only; over plain HTTP others can read it on its way,
// and servers accept it only from their own machine. With an empty token no Authorization is sent.
// o may be nil.
func New(baseURL, token string, o *Options) (*Client, error) {
	options := Options{}
	if o != nil {
		options = *o
	}
	origin, err := parseOrigin(baseURL)
	if err != nil {
		return nil, err
	}
	header, err := options.headerWith(token)
	if err != nil {
		return nil, err
	}
	retry, err := options.Retry.complete()
	if err != nil {
		return nil, err
	}
	if options.Timeout < 0 {
		return nil, errors.New("client: Timeout is negative")
	}
	return &Client{
		http: http.Client{
			Transport:     options.Transport,
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		},
		origin: origin, header: header, retry: retry,
		timeout: cmp.Or(options.Timeout, defaultTimeout),
	}, nil
}

func parseOrigin(baseURL string) (string, error) {
	u, err := url.Parse(baseURL)
	switch {
	case err != nil:
		return "", fmt.Errorf("client: the base URL: %w", err)
	case u.Scheme != "https" && u.Scheme != "http", u.Host == "":
		return "", fmt.Errorf("client: the base URL %q must be like https://sho.rt", u.Redacted())
	case u.User != nil || u.Path != "" && u.Path != "/" || u.RawQuery != "" || u.Fragment != "":
		return "", fmt.Errorf("client: the base URL %q must be an origin, without user, path, query and fragment", u.Redacted())
	}
	return u.Scheme + "://" + u.Host, nil
}

// headerWith returns the fields of every request.
func (o *Options) headerWith(token string) (http.Header, error) {
	if strings.ContainsFunc(token, invisible) {
		return nil, errors.New("client: the token has characters that no token has")
	}
	header := make(http.Header)
	if token != "" {
		header.Set("Authorization", "Bearer "+token)
	}
	header.Set("User-Agent", cmp.Or(o.UserAgent, defaultUserAgent))
	for name, values := range o.Header {
		switch name = http.CanonicalHeaderKey(name); name {
		case "Authorization", "User-Agent", "Content-Type", keyHeader, versionHeader:
			return nil, fmt.Errorf("client: %s is not for Options.Header", name)
		}
		header[name] = append(header[name], values...)
	}
	for name, values := range header {
		if slices.ContainsFunc(values, hasControls) {
			return nil, fmt.Errorf("client: the field %q has control characters", name)
		}
	}
	return header, nil
}

func hasControls(value string) bool { return strings.ContainsFunc(value, unicode.IsControl) }

// Format never shows the token, whatever the verb.
func (c *Client) Format(f fmt.State, _ rune) { _, _ = io.WriteString(f, "client of "+c.origin) }

// A call is the request that a method makes, before its options.
type call struct {
	method string
	path   string // after apiRoot, escaped
	query  url.Values
	body   any // as JSON, ndjson in lines; nil: none
	takes  optionKind
	accept string // media type; empty: any

	repeatable bool // also as a POST without a key
}

// Do makes a call that this package has no method for. path follows /api/v1, is escaped, and has
// the query. body is sent as JSON; nil: no body. The answer is decoded into answer, unless that is
// nil; a *json.RawMessage gets it as it came, and a *Link also gets its Version. A POST without an
// IdempotencyKey is not repeated when its outcome is unknown.
func (c *Client) Do(ctx context.Context, method, path string, body, answer any, options ...Option) error {
	_, err := c.do(ctx, call{method: method, path: path, body: body, takes: allOptions}, options, answer)
	return err
}

func (c *Client) do(ctx context.Context, asked call, options []Option, answer any) (http.Header, error) {
	r, err := newRequest(asked, options)
	if err != nil {
		return nil, err
	}
	return retry(ctx, &c.retry, r, func() (http.Header, error) { return c.attempt(ctx, r, answer) })
}

// attempt sends r once and reads the answer.
func (c *Client) attempt(ctx context.Context, r *request, answer any) (http.Header, error) {
	reply, err := c.open(ctx, r)
	if err != nil {
		return nil, err
	}
	defer reply.Close()
	text, err := reply.readAll(maxAnswerBytes)
	if err != nil {
		return nil, err
	}
	if answer == nil || len(text) == 0 && reply.status == http.StatusNoContent {
		return reply.header, nil
	}
	switch answer := answer.(type) {
	case *importAnswer:
		err = answer.read(text)
	case *picture:
		*answer = text
	default:
		err = json.Unmarshal(text, answer)
	}
	if err != nil {
		return nil, fmt.Errorf("the server's answer: %w", err)
	}
	if link, ok := answer.(*Link); ok {
		link.Version = versionOf(reply.header)
	}
	return reply.header, nil
}
