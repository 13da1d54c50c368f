package domain

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"shunt/engine"
)

// formatVersion is "v" in every value. A row of another version is an error, never a guess.
const formatVersion = 1

var errFormat = errors.New("domain row of unknown format")

// lastKey has the highest number that a domain ever had.
var lastKey = []byte{'s'}

// domainKeys begins the keys of domains.
var domainKeys = []byte{'d'}

func domainKey(d engine.Domain) []byte {
	return binary.BigEndian.AppendUint16(bytes.Clone(domainKeys), uint16(d))
}

type domainRow struct {
	V              int           `json:"v"`
	Number         engine.Domain `json:"number"` // repeated, to compare it with the key
	Host           string        `json:"host,omitempty"`
	Aliases        []string      `json:"aliases,omitempty"`
	BaseURL        string        `json:"base_url,omitempty"` // empty: it follows from that of the server
	RootURL        string        `json:"root_url,omitempty"`
	NotFoundURL    string        `json:"not_found_url,omitempty"`
	ExpiredURL     string        `json:"expired_url,omitempty"`
	RedirectStatus int           `json:"redirect_status,omitempty"`
	Robots         string        `json:"robots,omitempty"`
	Folds          bool          `json:"folds,omitempty"`
	KeepsEnds      bool          `json:"keeps_ends,omitempty"`
	UnicodeCodes   bool          `json:"unicode_codes,omitempty"`
	Certificate    string        `json:"certificate,omitempty"`
	AppSite        string        `json:"apple_app_site_association,omitempty"` // the document, as a text
	AssetLinks     string        `json:"assetlinks,omitempty"`
	CreatedMs      int64         `json:"created_ms,omitempty"`
}

func encodeDomain(d *Domain) []byte {
	row := domainRow{
		V: formatVersion, Number: d.Number, RootURL: d.RootURL, NotFoundURL: d.NotFoundURL, ExpiredURL: d.ExpiredURL,
		RedirectStatus: d.RedirectStatus, Robots: d.Robots, Folds: d.Folds, KeepsEnds: d.KeepsEnds, UnicodeCodes: d.UnicodeCodes,
		Certificate: d.Certificate, AppSite: d.AppSiteAssociation, AssetLinks: d.AssetLinks,
	}
	if d.Number != engine.DefaultDomain {
		row.Host, row.Aliases, row.BaseURL, row.CreatedMs = d.Host, d.Aliases, d.BaseURL, d.CreatedAt.UnixMilli()
	}
	b, err := json.Marshal(row)
	if err != nil {
		panic(fmt.Sprintf("domain: encoding a row: %v", err)) // encoding its fields cannot fail
	}
	return b
}

// decodeDomain reads a row. Its base URL is empty if it follows from that of the server.
func decodeDomain(key, value []byte) (Domain, error) {
	var row domainRow
	if json.Unmarshal(value, &row) != nil || row.V != formatVersion {
		return Domain{}, fmt.Errorf("%w (version %d)", errFormat, row.V)
	}
	if !bytes.Equal(key, domainKey(row.Number)) {
		return Domain{}, fmt.Errorf("domain %d is under the key %x", row.Number, key)
	}
	d := Domain{
		Number: row.Number, Host: row.Host, Aliases: row.Aliases, BaseURL: row.BaseURL,
		Settings: Settings{
			RootURL: row.RootURL, NotFoundURL: row.NotFoundURL, ExpiredURL: row.ExpiredURL, RedirectStatus: row.RedirectStatus,
			Robots: row.Robots, Folds: row.Folds, KeepsEnds: row.KeepsEnds, UnicodeCodes: row.UnicodeCodes,
			Certificate: row.Certificate, AppSiteAssociation: row.AppSite, AssetLinks: row.AssetLinks,
		},
	}
	if row.CreatedMs != 0 {
		d.CreatedAt = time.UnixMilli(row.CreatedMs).UTC()
	}
	return d, nil
}
