package links

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/spf13/cobra"

	"shunt/api/client"
	"shunt/cmd/shunt/console"
	"shunt/cmd/shunt/reach"
	"shunt/cmd/shunt/settings"
	"shunt/cmd/shunt/usage"
	"shunt/engine/plural"
)

// Commands that change links take codes, or a filter: then they first say which links it has, and change them only with
// --yes. The links are those of the moment at which the command begins, so that a link that no longer fits after its
// change does not hide others.

// filter chooses links as ls does.
type filter struct {
	client.LinksQuery
	whose
	tagFlag string // the name of its flag for a tag
	yes     bool
}

// Limits of a change by a filter.
const (
	maxFiltered     = 100_000 // links; a name takes some 100 bytes
	filteredWriters = 8       // links that are changed at once, so that they share commits
	maxNamed        = 20      // links that failed and are named
)

// addQuery gives cmd the flags that choose links by what they are.
func addQuery(cmd *cobra.Command, q *client.LinksQuery, tagFlag string) {
	fs := cmd.Flags()
	fs.StringVar(&q.Tag, tagFlag, "", "only links with the `TAG`")
	settings.WordVar(fs, (*string)(&q.State), "state", "STATE", "",
		"only links in the `STATE`: "+listedWords(linkStates), linkStates...)
	const times = "30d, yesterday, 2026-11-01 or 2026-11-01T12:00:00Z"
	settings.Var(fs, &q.CreatedFrom, "created-from", "TIME", "", "only links created since the `TIME`: "+times, settings.Now(settings.ParseBegin))
	settings.Var(fs, &q.CreatedTo, "created-to", "TIME", "", "only links created before the `TIME`, or until the end of that day", settings.Now(settings.ParseEnd))
	fs.BoolVar(&q.NeverHit, "never-hit", false, "only links without a hit")
	settings.MarkArguments(fs, tagFlag, "state", "created-from", "created-to", "never-hit")
}

// add gives cmd the flags of a filter; verb is what --yes does.
func (f *filter) add(cmd *cobra.Command, tagFlag, verb string) {
	f.tagFlag = tagFlag
	addQuery(cmd, &f.LinksQuery, tagFlag)
	addWords(cmd, &f.LinksQuery)
	fs := cmd.Flags()
	fs.BoolVar(&f.yes, "yes", false, verb+" the links that the filter has; without it the command only lists them")
	settings.MarkArguments(fs, "yes")
}

// addWords gives cmd the flag of words, for commands that have no arguments for them.
func addWords(cmd *cobra.Command, q *client.LinksQuery) {
	cmd.Flags().StringVar(&q.Q, "q", "", "only links that 'shunt ls WORD …' finds by these `WORDS`")
	settings.MarkArguments(cmd.Flags(), "q")
}

// given reports whether the command line has a filter.
func (f *filter) given(cmd *cobra.Command) bool {
	return slices.ContainsFunc([]string{f.tagFlag, "state", "created-from", "created-to", "never-hit", "q"}, cmd.Flags().Changed)
}

// empty returns the name of a flag of the filter that is there and chooses nothing, as that of a variable that is not
// set; "" if there is none. Without it such a flag would be left out, and the filter would have more links.
func (f *filter) empty(cmd *cobra.Command) string {
	for _, flag := range []struct {
		name    string
		chooses bool
	}{
		{f.tagFlag, strings.TrimSpace(f.Tag) != ""}, {"state", f.State != ""}, {"q", strings.TrimSpace(f.Q) != ""},
		{"created-from", !f.CreatedFrom.IsZero()}, {"created-to", !f.CreatedTo.IsZero()}, {"never-hit", f.NeverHit},
	} {
		if cmd.Flags().Changed(flag.name) && !flag.chooses {
			return flag.name
		}
	}
	return ""
}

// check is the check of the arguments of a command that takes codes or a filter.
func (f *filter) check(cmd *cobra.Command, args []string) error {
	switch given, empty := f.given(cmd), f.empty(cmd); {
	case empty != "":
		return settings.UsageErrorf("--%s chooses nothing: every link would fit", empty)
	case len(args) > 0 && len(f.options()) > 0:
		return settings.UsageErrorf("--domain and --owner are for a filter: a link of another domain is named by its short address")
	case given && len(args) > 0:
		return settings.UsageErrorf("give codes or a filter (--%s, --state, --q and so on), and not both", f.tagFlag)
	case given:
		return nil
	case f.yes:
		return settings.UsageErrorf("--yes is for a filter: --%s, --state, --q and so on", f.tagFlag)
	}
	return usage.OneOrMore("CODE")(cmd, args)
}

// each calls fn for each link of the filter, several at once, or with no --yes lists them. verb is what the command
// does, done what became of links for which fn had no error.
func (f *filter) each(
	ctx context.Context, where *reach.Target, verb, done string, stdout, stderr io.Writer, fn func(c *reach.Connection, l namedLink) error,
) error {
	return where.Do(ctx, verb, stderr, func(c *reach.Connection) error {
		links, err := f.links(ctx, c)
		switch {
		case err != nil:
			return err
		case !f.yes:
			for _, l := range links {
				if _, err := fmt.Fprintln(stdout, console.Printable(nameIn(l.domain, l.code))); err != nil {
					return err
				}
			}
			if len(links) == 0 {
				fmt.Fprintf(stderr, "shunt: %s: no link is like that\n", verb)
			} else {
				fmt.Fprintf(stderr, "shunt: %s: %s; nothing was %s, and --yes does it\n", verb, plural.Of(len(links), "link", "links"), done)
			}
			return nil
		}
		changed, gone, failed := changeAll(links, func(l namedLink) error { return errors.Join(ctx.Err(), fn(c, l)) }, func(l namedLink, err error) {
			fmt.Fprintf(stderr, "shunt: %s %s: %s\n", verb, console.Printable(nameIn(l.domain, l.code)), console.PlainText(err))
		})
		text := fmt.Sprintf("%s %s", plural.Of(changed, "link", "links"), done)
		if gone > 0 {
			text += fmt.Sprintf(", %d had gone before", gone)
		}
		fmt.Fprintf(stderr, "shunt: %s: %s\n", verb, text)
		if failed > 0 {
			return fmt.Errorf("%d of %d links failed", failed, len(links))
		}
		return nil
	})
}

// links returns the links of the filter.
func (f *filter) links(ctx context.Context, c *reach.Connection) (all []namedLink, err error) {
	f.PageSize = maxPage
	for l, err := range c.Links(ctx, f.LinksQuery, f.options()...) {
		if err != nil {
			return nil, err
		}
		if len(all) == maxFiltered {
			return nil, fmt.Errorf("the filter has more than %d links, and nothing was changed: choose fewer at a time, with --created-to for example", maxFiltered)
		}
		all = append(all, namedLink{code: l.Code, domain: l.Domain})
	}
	return all, nil
}

// changeAll calls fn for each link, and fails for the first links for which that fails. A link that is not there any
// more is no failure.
func changeAll(links []namedLink, fn func(namedLink) error, fails func(namedLink, error)) (changed, gone, failed int) {
	var next atomic.Int64
	var mu sync.Mutex // of the counts, and of fails
	var working sync.WaitGroup
	for range min(filteredWriters, len(links)) {
		working.Go(func() {
			for i := next.Add(1) - 1; i < int64(len(links)); i = next.Add(1) - 1 {
				err := fn(links[i])
				mu.Lock()
				switch {
				case err == nil:
					changed++
				case errors.Is(err, client.ErrNotFound):
					gone++
				default:
					if failed++; failed <= maxNamed {
						fails(links[i], err)
					}
				}
				mu.Unlock()
			}
		})
	}
	working.Wait()
	return changed, gone, failed
}
