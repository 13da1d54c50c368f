package client

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"net/http"
)

// MaxImportLinks is how many links one request may import.
const MaxImportLinks = 1000

// Import imports up to MaxImportLinks links that were made elsewhere, each a link object as Export returns it
// (Link.Raw), in one durable commit, with their codes, times and hits. Only admins may import; with Owner the links
// become another user's, with InDomain those without a domain are of that one. A link that already exists with the same
// fields stays as it is and counts as existing, so an import may be repeated. A refused link does not affect the
// others, and is not an error.
func (c *Client) Import(ctx context.Context, links []json.RawMessage, options ...Option) (BulkResult, error) {
	return ask[BulkResult](ctx, c, importOf(links), options)
}

// An ImportResult is the result of one batch of ImportAll.
type ImportResult struct {
	Created  int
	Existing int
	Refused  []BulkItem // only those, in the order of their links; Index counts within the batch
}

// ImportAll imports any number of links: it is Import for batch after batch, and yields their results
// without the links, which takes a tenth of the client's time. It reads a batch when the result of the
// one before has been used, so a batch may be filled again then. An empty batch is not sent, but has a
// result. Each request is repeated as Import is. An error ends the loop.
func (c *Client) ImportAll(ctx context.Context, batches iter.Seq[[]json.RawMessage], options ...Option) iter.Seq2[ImportResult, error] {
	return func(yield func(ImportResult, error) bool) {
		for links := range batches {
			answer := importAnswer{links: len(links)}
			var err error
			if len(links) > 0 {
				_, err = c.do(ctx, importOf(links), options, &answer)
			}
			if !yield(answer.ImportResult, err) || err != nil {
				return
			}
		}
	}
}

func importOf(links []json.RawMessage) call {
	return call{method: http.MethodPost, path: "/import", body: ndjson(links), takes: takesOwner | takesDomain | takesDomains | takesDryRun | takesReuse, repeatable: true}
}

// An importAnswer is what the answer to an import of a number of links says, without the links: the
// server sends each of them back, and nobody reads them here.
type importAnswer struct {
	ImportResult
	links int
}

var errResults = errors.New("it does not have a result for each link")

// read reads an answer. If no link was refused, its head says everything: encoding/json would take
// three times as long as the rest of an import does here.
func (a *importAnswer) read(text []byte) error {
	var made, found uint32
	const head = `{"created":%d,"existing":%d,"failed":0,"results":[`
	_, err := fmt.Sscanf(string(text[:min(len(text), len(head)+20)]), head, &made, &found)
	if err == nil && uint64(made)+uint64(found) == uint64(a.links) {
		a.ImportResult = ImportResult{Created: int(made), Existing: int(found)}
		return nil
	}
	var answer struct {
		Created, Existing int
		Results           []struct {
			Status  int
			Problem *Problem
		}
	}
	if err := json.Unmarshal(text, &answer); err != nil {
		return err
	}
	if len(answer.Results) != a.links {
		return errResults
	}
	a.ImportResult = ImportResult{Created: answer.Created, Existing: answer.Existing}
	for i, item := range answer.Results {
		if item.Problem != nil {
			a.Refused = append(a.Refused, BulkItem{Index: i, Status: item.Status, Problem: item.Problem})
		}
	}
	return nil
}
