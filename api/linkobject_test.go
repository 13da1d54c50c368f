package api

import (
	"fmt"
	"testing"
	"time"

	"shunt/api/problem"
	"shunt/engine"
	"shunt/engine/expect"
)

// linkObject is a link as a client reads it.
type linkObject struct {
	Code           string       `json:"code"`
	ShortURL       string       `json:"short_url"`
	URL            string       `json:"url"`
	RedirectStatus int          `json:"redirect_status"`
	State          engine.State `json:"state"`
	Owner          uint32       `json:"owner"`
	CreatedAt      time.Time    `json:"created_at"`
	UpdatedAt      time.Time    `json:"updated_at"`
	ExpiresAt      *time.Time   `json:"expires_at"`
	MaxHits        *uint64      `json:"max_hits"`
	Title          string       `json:"title"`
	Note           string       `json:"note"`
	Tags           []string     `json:"tags"`
	Folder         uint32       `json:"folder,omitempty"`
	ForwardQuery   bool         `json:"forward_query"`
	Query          string       `json:"query"`
	StartsAt       *time.Time   `json:"starts_at"`
	ExpiredURL     *string      `json:"expired_url"`
	HasPassword    bool         `json:"has_password"`
	Hits           uint64       `json:"hits"`
	Unique         *uint64      `json:"unique,omitempty"`
}

// bulkAnswer is the answer of POST /shorten/bulk.
type bulkAnswer struct {
	Created  int        `json:"created"`
	Existing int        `json:"existing"`
	Failed   int        `json:"failed"`
	Results  []bulkItem `json:"results"`
}

// listAnswer is the answer of GET /links.
type listAnswer struct {
	Data       []linkObject `json:"data"`
	NextCursor *string      `json:"next_cursor"`
}

type bulkItem struct {
	Index   int           `json:"index"`
	Status  int           `json:"status"`
	Link    *linkObject   `json:"link,omitempty"`
	Problem *problem.Body `json:"problem,omitempty"`
}

func TestAnExpiryBeyondTheYear9999IsRefused(t *testing.T) {
	st := newSite(t, nil)
	const body = `{"url":"http://a/","expires_at":"9999-12-31T23:59:59%s"}`
	for zone, want := range map[string]string{"Z": "201 ", "-00:01": "422 expires_at:format", "+00:01": "201 "} {
		r := st.call("POST", "/shorten", fmt.Sprintf(body, zone))
		expect.Equal(t, fmt.Sprint(r.status, " ", r.fields()), want, zone)
	}
}
