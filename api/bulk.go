package api

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"unicode/utf8"

	"github.com/valyala/fasthttp"

	"shunt/api/account"
	"shunt/api/problem"
	"shunt/api/wire"
	"shunt/engine"
)

// Limits of POST /shorten/bulk and POST /import beside engine.MaxBulk.
const (
	maxBulkBytes     = 8 << 20
	maxBulkItemBytes = wire.MaxBodyBytes // as much as the body of POST /shorten
)

// ndjsonTypes are the media types of lines of JSON.
var ndjsonTypes = []string{"application/x-ndjson", "application/ndjson"}

// createBulk is POST /shorten/bulk. Items that are refused keep no other from being made; but a request that is answered with
// a problem as a whole has made nothing, outcome_unknown excepted.
func (s *Server) createBulk(ctx *fasthttp.RequestCtx, caller account.Caller) error {
	if err := noParameters(ctx); err != nil {
		return err
	}
	return s.createMany(ctx, caller, func() (*engine.Request, error) {
		return requestAsked(ctx, caller, "/shorten/bulk")
	}, func(item []byte) (engine.Draft, error) {
		return s.parseDraft(item, caller.User.ID, s.timeOf(ctx))
	})
}

// createMany makes links of the items of a body, each as parse reads it. key says what its sender may repeat.
func (s *Server) createMany(
	ctx *fasthttp.RequestCtx, caller account.Caller, key func() (*engine.Request, error), parse func([]byte) (engine.Draft, error),
) error {
	var request *engine.Request
	var items []engine.BulkItem
	err := s.cores.Do(keyOf(caller), func() (err error) { // 8 MiB of JSON take half a second of a core
		if request, err = key(); err == nil {
			items, err = s.bulkItems(ctx, caller, parse)
		}
		return err
	})
	if err != nil {
		return err
	}
	results, err := s.createItems(request, items)
	if err != nil {
		return err
	}
	return writeEncoded(ctx, fasthttp.StatusOK, s.appendBulk(nil, results))
}

// bulkItems reads the items of a request, and counts them as so many creates.
func (s *Server) bulkItems(
	ctx *fasthttp.RequestCtx, caller account.Caller, parse func([]byte) (engine.Draft, error),
) ([]engine.BulkItem, error) {
	texts, err := readBulk(ctx.Request.Header.ContentType(), ctx.PostBody())
	if err != nil {
		return nil, err
	}
	if err := s.limiter.mayCreateMore(ctx, caller, len(texts)-1); err != nil {
		return nil, err
	}
	items := make([]engine.BulkItem, len(texts))
	for i, text := range texts {
		items[i].Draft, items[i].Refused = bulkDraft(text, parse)
	}
	return items, nil
}

// bulkDraft is the draft of one item.
func bulkDraft(text []byte, parse func([]byte) (engine.Draft, error)) (engine.Draft, error) {
	if len(text) > maxBulkItemBytes {
		return engine.Draft{}, problem.New(problem.BodyTooLarge, "an item must be at most %d bytes", maxBulkItemBytes)
	}
	draft, err := parse(text)
	var invalid engine.InvalidError
	if errors.As(err, &invalid) && len(invalid) > problem.MaxErrors {
		err = invalid[:problem.MaxErrors]
	}
	return draft, err
}

func (s *Server) createItems(request *engine.Request, items []engine.BulkItem) (results []engine.BulkResult, err error) {
	if request == nil {
		results, err = s.engine.CreateBulk(context.Background(), items)
	} else {
		results, err = s.engine.CreateBulkOnce(context.Background(), *request, items)
	}
	if err != nil {
		s.metrics.Wrote("create", err)
		return nil, err
	}
	for i := range results {
		if items[i].Refused == nil {
			s.metrics.Wrote("create", results[i].Err)
		}
	}
	return results, nil
}

// appendBulk appends the answer of POST /shorten/bulk: for each item a link or a problem, with the status that POST
// /shorten would have answered.
func (s *Server) appendBulk(dst []byte, results []engine.BulkResult) []byte {
	created, existing, failed := 0, 0, 0
	var items []byte
	for i := range results {
		r := &results[i]
		if i > 0 {
			items = append(items, ',')
		}
		switch {
		case r.Err != nil:
			failed++
			refused, _ := problem.Of(r.Err)
			items = append(appendItem(items, i, refused.Kind.Status), `"problem":`...)
			items = append(items, bytes.TrimSuffix(encodeJSON(refused.Body()), []byte{'\n'})...)
		case r.Existed:
			existing++
			items = s.appendMade(appendItem(items, i, fasthttp.StatusOK), r)
		default:
			created++
			items = s.appendMade(appendItem(items, i, fasthttp.StatusCreated), r)
		}
		items = append(items, '}')
	}
	dst = fmt.Appendf(dst, `{"created":%d,"existing":%d,"failed":%d,"results":[`, created, existing, failed)
	return append(append(dst, items...), "]}\n"...)
}

// appendItem begins item i of the answer.
func appendItem(dst []byte, i, status int) []byte {
	return fmt.Appendf(dst, `{"index":%d,"status":%d,`, i, status)
}

func (s *Server) appendMade(dst []byte, r *engine.BulkResult) []byte {
	l := s.shown(r.Detail)
	return l.AppendJSON(append(dst, `"link":`...))
}

// readBulk takes a body apart into the texts of its items: the elements of one JSON array, or, if its media type is that of
// NDJSON, its lines that are not blank. A line that is no JSON is an item that comes to nothing; an array is read whole or
// not at all. The texts alias nothing that is written later.
func readBulk(contentType, body []byte) (items [][]byte, err error) {
	switch {
	case isJSON(contentType, ndjsonTypes...):
		items, err = splitLines(body)
	case isJSON(contentType, "application/json"):
		items, err = splitArray(body)
	default:
		return nil, problem.New(problem.MediaType, "Content-Type must be application/json or %s", ndjsonTypes[0])
	}
	if err == nil && len(items) == 0 {
		err = fieldError("", "required", "the body must have at least one item")
	}
	return items, err
}

var errTooManyItems = fieldError("", "too_many", "the body must have at most "+strconv.Itoa(engine.MaxBulk)+" items")

func splitLines(body []byte) (items [][]byte, err error) {
	for line := range bytes.SplitSeq(body, []byte{'\n'}) {
		if line = bytes.Trim(line, " \t\r"); len(line) == 0 {
			continue
		}
		if len(items) == engine.MaxBulk {
			return nil, errTooManyItems
		}
		items = append(items, line)
	}
	return items, nil
}

var errMalformedArray = problem.New(problem.MalformedJSON, "the body must be one JSON array in UTF-8")

func splitArray(body []byte) (items [][]byte, err error) {
	if !json.Valid(body) || !utf8.Valid(body) {
		return nil, errMalformedArray
	}
	dec := json.NewDecoder(bytes.NewReader(body))
	if open, err := dec.Token(); err != nil || open != json.Delim('[') {
		return nil, fieldError("", "type", "the body must be a JSON array")
	}
	for dec.More() {
		if len(items) == engine.MaxBulk {
			return nil, errTooManyItems
		}
		var item json.RawMessage
		if err := dec.Decode(&item); err != nil {
			return nil, errMalformedArray
		}
		items = append(items, item)
	}
	return items, nil
}
