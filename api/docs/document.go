package docs

import (
	"bytes"
	"crypto/sha256"
	_ "embed"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"strings"

	"shunt/api/page"
)

// documentText describes the API for programs (OpenAPI 3.1). It is written by hand; tests check
// every answer that they get against it, and the reference page is made from it (page.go).
//
//go:embed openapi.json
var documentText []byte

// A Document is an answer that is the same for everybody, with its entity tag. It is read-only.
type Document struct {
	page.Text
	ETag string
}

// NewDocument returns the document whose bytes are body, which it keeps.
func NewDocument(body []byte) Document {
	hash := sha256.Sum256(body)
	return Document{page.NewText(body), `"` + base64.RawURLEncoding.EncodeToString(hash[:12]) + `"`}
}

// OpenAPI is the OpenAPI document without white space, which is half of its bytes.
var OpenAPI = func() Document {
	var compact bytes.Buffer
	if err := json.Compact(&compact, documentText); err != nil {
		panic(fmt.Sprintf("docs: openapi.json: %v", err)) // it is part of the program
	}
	return NewDocument(compact.Bytes())
}()

// IsIn reports whether lines of If-None-Match name d. A weak tag matches like a strong one (RFC
// 9110, 13.1.2).
func (d *Document) IsIn(lines [][]byte) bool {
	for _, line := range lines {
		for tag := range strings.SplitSeq(string(line), ",") {
			tag = strings.TrimPrefix(strings.TrimSpace(tag), "W/")
			if tag == "*" || tag == d.ETag {
				return true
			}
		}
	}
	return false
}
