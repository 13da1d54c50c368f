package client

import (
	"encoding/json"
	"errors"
	"fmt"
)

// An importAnswer is what the answer to an import says, without the links: the server sends each of
// them back, and nobody reads them here.
type importAnswer struct {
	Created  int          `json:"created"`
	Existing int          `json:"existing"`
	Results  []importItem `json:"results"`
}

type importItem struct {
	Status  int      `json:"status"`
	Problem *Problem `json:"problem"`
}

var errResults = errors.New("the server's answer does not have a result for each link")

// readImportAnswer reads the answer to an import of n links. If none was refused, the head of the answer says
// everything: encoding/json would take three times as long as the rest of an import does here.
func readImportAnswer(text []byte, n int) (ImportResult, error) {
	var made, found uint32
	const head = `{"created":%d,"existing":%d,"failed":0,"results":[`
	_, err := fmt.Sscanf(string(text[:min(len(text), len(head)+20)]), head, &made, &found)
	if err == nil && uint64(made)+uint64(found) == uint64(n) {
		return ImportResult{Created: int(made), Existing: int(found)}, nil
	}
	var answer importAnswer
	if err := json.Unmarshal(text, &answer); err != nil {
		return ImportResult{}, fmt.Errorf("the server's answer: %w", err)
	}
	if len(answer.Results) != n {
		return ImportResult{}, errResults
	}
	r := ImportResult{Created: answer.Created, Existing: answer.Existing}
	for i, item := range answer.Results {
		if item.Problem != nil {
			r.Refused = append(r.Refused, BulkItem{Index: i, Status: item.Status, Problem: item.Problem})
		}
	}
	return r, nil
}
