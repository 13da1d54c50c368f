package importer

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"shunt/api/client"
	"shunt/api/source"
	"shunt/cmd/shunt/console"
	"shunt/engine/plural"
)

// A Summary is what an import tells at its end, of this run.
type Summary struct {
	Done
	DryRun bool `json:"dry_run,omitempty"` // nothing was changed
	source.Summary
	Domains map[string]string `json:"domains,omitempty"` // of the links by the host they were at, "" the default one, if there is a choice
	Reasons map[string]int    `json:"reasons,omitempty"` // of refusals
}

// maxReasons bounds the kinds of refusals that are told apart.
const maxReasons = 50

func (x *Import) count(reason string) {
	if _, known := x.reasons[reason]; !known && len(x.reasons) >= maxReasons {
		reason = "other reasons"
	}
	x.reasons[reason]++
}

// kindOf names a refusal of the server, whatever the link.
func kindOf(p *client.Problem) string {
	if len(p.Errors) == 0 {
		return string(p.Kind)
	}
	return strings.TrimSpace(p.Errors[0].Field + " " + p.Errors[0].Message)
}

// Summary returns what is to be told after Run.
func (x *Import) Summary() Summary {
	s := Summary{Done: x.mark.Done, DryRun: x.DryRun, Reasons: x.reasons}
	if x.met != nil {
		s.Summary = x.met.Summary()
	}
	if len(s.Hosts) > 1 || len(x.Format.Hosts) > 0 || x.Domain != "" {
		s.Domains = x.domainsOf(&s.Summary)
	}
	return s
}

// domainsOf returns where the links of each host went. Those of a host that is not in it were refused.
func (x *Import) domainsOf(s *source.Summary) map[string]string {
	domains := make(map[string]string)
	for host := range s.Hosts {
		if domain, mapped := x.Format.Hosts[host]; mapped || host == s.Main || host == "" {
			domains[host] = cmp.Or(domain, x.Domain)
		}
	}
	return domains
}

// String returns the summary for a person, in one line or several.
func (s *Summary) String() string {
	text := s.Done.String()
	if s.DryRun {
		text = fmt.Sprintf("%s would be imported, %d are already there, %d would be refused; nothing was changed", plural.Of(s.Created, "link", "links"), s.Existing, s.Failed)
	}
	lines := []string{text}
	add := func(what string, n int, list func() string) {
		if n > 0 {
			lines = append(lines, what+": "+list())
		}
	}
	if s.Format != "" && s.Format != source.Shunt {
		lines = append(lines, "format: "+s.Format)
		if s.Status != 0 {
			lines[1] += fmt.Sprintf(", whose links redirect with %d", s.Status)
		}
	}
	add("refused", len(s.Reasons), func() string { return counted(s.Reasons, nil) })
	delete(s.Hosts, "")
	add("hosts", len(s.Hosts), func() string { return counted(s.Hosts, s.Domains) })
	add("no place for", len(s.Lost), func() string { return counted(s.Lost, nil) })
	twins := s.TwinsShown()
	add("differ only by case", len(twins), func() string { return console.Printable(twins) })
	if s.Mended > 0 {
		lines = append(lines, plural.Of(int(s.Mended), "title was", "titles were")+" encoded in UTF-8 twice, and came in as meant")
	}
	if s.Clicks != nil {
		lines = append(lines, s.Clicks.Lines()...)
	}
	return strings.Join(lines, "\n")
}

// counted lists names with their numbers, the most frequent first, and the domains that are known of them.
func counted[N int | int64](numbers map[string]N, domains map[string]string) string {
	names := slices.SortedFunc(maps.Keys(numbers), func(a, b string) int {
		return cmp.Or(cmp.Compare(numbers[b], numbers[a]), strings.Compare(a, b))
	})
	for i, name := range names {
		names[i] = fmt.Sprintf("%s (%d)", console.Printable(name), numbers[name])
		if domain, known := domains[name]; known {
			names[i] += " → " + cmp.Or(domain, "the default domain")
		}
	}
	return strings.Join(names, ", ")
}
