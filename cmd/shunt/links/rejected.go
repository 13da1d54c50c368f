package links

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"shunt/api/client"
	"shunt/api/source"
	"shunt/cmd/shunt/importer"
)

// rejected writes the files about refused records of an import: the records themselves, and rules of a proxy for those
// that are links all the same.
type rejected struct {
	imported           string // path of the file that is imported; - or empty: none
	records, rules     string // paths; empty: no such file
	toRecords, toRules *os.File
	allows             func(ctx context.Context, targets []string) ([]bool, error) // asks the server
}

// Begin implements importer.Keeper.
func (r *rejected) Begin(resumed bool) (err error) {
	if err := r.apart(); err != nil {
		return err
	}
	if r.toRecords, err = openKept(r.records, resumed); err == nil {
		r.toRules, err = openKept(r.rules, resumed)
	}
	if err == nil && r.toRules != nil && !resumed {
		_, err = r.toRules.WriteString(source.RulesHead)
	}
	return err
}

// apart returns an error if a file that would be written is the one that is imported, or if both are one: what was in
// it would be lost.
func (r *rejected) apart() error {
	switch {
	case isSameFile(r.records, r.imported):
		return fmt.Errorf("--rejects: %s is the file that is imported; name another one", r.records)
	case isSameFile(r.rules, r.imported):
		return fmt.Errorf("--redirects: %s is the file that is imported; name another one", r.rules)
	case isSameFile(r.records, r.rules):
		return fmt.Errorf("--rejects and --redirects: %s is one file; name two", r.rules)
	}
	return nil
}

// isSameFile reports whether two paths lead to one file, which need not be there.
func isSameFile(a, b string) bool {
	if a == "" || b == "" {
		return false
	}
	first, err := os.Stat(a)
	second, other := os.Stat(b)
	return err == nil && other == nil && os.SameFile(first, second) || filepath.Clean(a) == filepath.Clean(b)
}

// openKept opens a file for what is written in all runs of an import; nil: path is empty.
func openKept(path string, resumed bool) (*os.File, error) {
	mode := os.O_TRUNC
	if resumed {
		mode = os.O_APPEND
	}
	if path == "" {
		return nil, nil
	}
	return os.OpenFile(path, os.O_CREATE|os.O_WRONLY|mode, 0o600)
}

// Keep implements importer.Keeper.
func (r *rejected) Keep(ctx context.Context, all []importer.Refusal) (err error) {
	if r.toRecords != nil {
		var lines []byte
		for i := range all {
			lines = append(lines, source.Rejected(all[i].At, all[i].Why, all[i].Link)...)
		}
		_, err = r.toRecords.Write(lines)
	}
	if r.toRules == nil || err != nil {
		return err
	}
	rules, err := r.rulesOf(ctx, all)
	if err == nil {
		_, err = r.toRules.WriteString(rules)
	}
	return err
}

// rulesOf returns the rules for refused records. A rule must not lead back to the server or where links may not lead.
// So the server is asked about the targets: it has not seen those of records that the source refuses. A code that has
// another link here gets no rule, and neither does a record that is no link.
func (r *rejected) rulesOf(ctx context.Context, all []importer.Refusal) (string, error) {
	var rules, targets []string
	for i := range all {
		rule, target, ok := source.RuleOf(all[i].Link)
		if why := all[i].Problem; ok && (why == nil || why.Kind == client.ErrInvalid) {
			rules, targets = append(rules, rule), append(targets, target)
		}
	}
	allowed, err := r.allows(ctx, targets)
	for i := range allowed {
		if !allowed[i] {
			rules[i] = ""
		}
	}
	return strings.Join(rules, ""), err
}

// close closes the files.
func (r *rejected) close() (err error) {
	for _, file := range []*os.File{r.toRecords, r.toRules} {
		if file != nil {
			err = errors.Join(err, file.Close())
		}
	}
	return err
}

// allowedBy returns what asks a server about targets: it checks links to them, with codes that nobody has.
func allowedBy(c *client.Client, options []client.Option) func(context.Context, []string) ([]bool, error) {
	return func(ctx context.Context, targets []string) (allowed []bool, err error) {
		for some := range slices.Chunk(targets, client.MaxImportLinks) {
			links := make([]json.RawMessage, len(some))
			for i, target := range some {
				link, err := json.Marshal(map[string]string{"code": rand.Text(), "url": target})
				if err != nil {
					return nil, err
				}
				links[i] = link
			}
			answer, err := c.Import(ctx, links, options...)
			if err != nil {
				return nil, err
			}
			for i := range answer.Results {
				allowed = append(allowed, answer.Results[i].Problem == nil)
			}
		}
		return allowed, nil
	}
}
