package account

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// A Campaign is what a user keeps under a name, to mark targets of links with it: the parameters that
// Google Analytics and others read, without utm_ before their names.
type Campaign struct {
	Name     string `json:"name"`
	Source   string `json:"source,omitempty"`
	Medium   string `json:"medium,omitempty"`
	Campaign string `json:"campaign,omitempty"`
	Term     string `json:"term,omitempty"`
	Content  string `json:"content,omitempty"`
}

// Limits of campaigns: a user's row has at most 54 KiB.
const (
	MaxCampaigns     = 50  // of a user
	MaxCampaignName  = 64  // bytes
	maxCampaignParam = 200 // bytes
)

// Params returns the parameters with their whole names, in the usual order.
func (c *Campaign) Params() []Param {
	return []Param{
		{"utm_source", &c.Source}, {"utm_medium", &c.Medium}, {"utm_campaign", &c.Campaign}, {"utm_term", &c.Term}, {"utm_content", &c.Content},
	}
}

// Query returns the parameters that have a value, for people.
func (c *Campaign) Query() string {
	var parts []string
	for _, p := range c.Params() {
		if *p.Value != "" {
			parts = append(parts, p.Name+"="+*p.Value)
		}
	}
	return strings.Join(parts, " & ")
}

// A Param is a parameter of a campaign.
type Param struct {
	Name  string
	Value *string
}

// check returns an engine.FieldError if c cannot be kept.
func (c *Campaign) check() error {
	if problem := nameProblem(c.Name, MaxCampaignName); problem != "" {
		return fieldError("name", "invalid", problem)
	}
	empty := true
	for _, p := range c.Params() {
		if *p.Value == "" {
			continue
		}
		if problem := nameProblem(*p.Value, maxCampaignParam); problem != "" {
			return fieldError(p.Name, "invalid", problem)
		}
		empty = false
	}
	if empty {
		return fieldError("utm_source", "required", "must be given, or another of the parameters")
	}
	return nil
}

// Campaigns returns the campaigns that a user keeps, by name. A user who is gone has none.
func (a *Accounts) Campaigns(user uint32) ([]Campaign, error) {
	value, err := a.table.Get(campaignsKey(user))
	if err != nil || value == nil {
		return nil, err
	}
	campaigns, err := decodeCampaigns(value)
	if err != nil {
		return nil, fmt.Errorf("campaigns of user %d: %w", user, err)
	}
	return campaigns, nil
}

// KeepCampaign keeps c for a user, in place of one of the same name in any case. Errors: engine.FieldError, ErrNoUser,
// those of a write.
func (a *Accounts) KeepCampaign(user uint32, c Campaign) error {
	return a.changeCampaigns(user, func(all []Campaign) ([]Campaign, error) { return with(all, c) })
}

// CheckCampaign returns the engine.FieldError that KeepCampaign would return now.
func (a *Accounts) CheckCampaign(user uint32, c Campaign) error {
	all, err := a.Campaigns(user)
	if err == nil {
		_, err = with(all, c)
	}
	return err
}

func with(all []Campaign, c Campaign) ([]Campaign, error) {
	c.Name = strings.TrimSpace(c.Name)
	for _, p := range c.Params() {
		*p.Value = strings.TrimSpace(*p.Value)
	}
	if err := c.check(); err != nil {
		return nil, err
	}
	return withNamed(all, c, MaxCampaigns)
}

// DropCampaign forgets the campaign of that name, if there is one.
func (a *Accounts) DropCampaign(user uint32, name string) error {
	return a.changeCampaigns(user, func(all []Campaign) ([]Campaign, error) { return without(all, name), nil })
}

// named is what a user keeps under a name.
type named interface {
	comparable
	name() string
}

func (c Campaign) name() string { return c.Name }
func (f Filter) name() string   { return f.Name }

func without[V named](all []V, name string) []V {
	return slices.DeleteFunc(all, func(v V) bool { return strings.EqualFold(v.name(), name) })
}

// withNamed returns all and v, in place of the one of its name in any case, by name. most is how many there may be.
func withNamed[V named](all []V, v V, most int) ([]V, error) {
	all = append(without(all, v.name()), v)
	if len(all) > most {
		return nil, fieldError("name", "too_many", fmt.Sprintf("must be one of the %d that there are: delete some first", most))
	}
	slices.SortFunc(all, func(x, y V) int {
		return cmp.Or(strings.Compare(strings.ToLower(x.name()), strings.ToLower(y.name())), strings.Compare(x.name(), y.name()))
	})
	return all, nil
}

// A Filter is a search of links that a user keeps under a name.
type Filter struct {
	Name  string `json:"name"`
	Query string `json:"query"` // the parameters of a list, as in its address
}

// Limits of filters: a user's row has at most 106 KiB.
const (
	MaxFilters     = 50   // of a user
	maxFilterQuery = 2048 // bytes
)

// Filters returns the filters that a user keeps, by name. A user who is gone has none.
func (a *Accounts) Filters(user uint32) ([]Filter, error) {
	value, err := a.table.Get(filtersKey(user))
	if err != nil || value == nil {
		return nil, err
	}
	filters, err := decodeFilters(value)
	if err != nil {
		return nil, fmt.Errorf("filters of user %d: %w", user, err)
	}
	return filters, nil
}

// KeepFilter keeps f for a user, in place of one of the same name in any case. was, if not empty, is the name that it
// had until now, of which none is left. Errors: engine.FieldError, ErrNoUser, those of a write.
func (a *Accounts) KeepFilter(user uint32, f Filter, was string) error {
	f.Name = strings.TrimSpace(f.Name)
	if problem := nameProblem(f.Name, MaxCampaignName); problem != "" {
		return fieldError("name", "invalid", problem)
	}
	if len(f.Query) > maxFilterQuery {
		return fieldError("query", "too_long", "must be shorter")
	}
	return a.changeFilters(user, func(all []Filter) ([]Filter, error) {
		if was != "" {
			all = without(all, was)
		}
		return withNamed(all, f, MaxFilters)
	})
}

// DropFilter forgets the filter of that name, if there is one.
func (a *Accounts) DropFilter(user uint32, name string) error {
	return a.changeFilters(user, func(all []Filter) ([]Filter, error) { return without(all, name), nil })
}

func (a *Accounts) changeCampaigns(user uint32, change func([]Campaign) ([]Campaign, error)) error {
	return changeKept(a, user, campaignsKey(user), a.Campaigns, encodeCampaigns, change)
}

func (a *Accounts) changeFilters(user uint32, change func([]Filter) ([]Filter, error)) error {
	return changeKept(a, user, filtersKey(user), a.Filters, encodeFilters, change)
}

// changeKept changes what a user keeps under a key.
func changeKept[V named](
	a *Accounts, user uint32, key []byte, read func(uint32) ([]V, error), encode func(uint32, []V) []byte, change func([]V) ([]V, error),
) error {
	lock, err := a.lockWrites()
	if err != nil {
		return err
	}
	defer lock.Unlock()
	_, err = a.readUser(user) // so that no row is left of a user who is deleted meanwhile
	before, readErr := read(user)
	if err = errors.Join(err, readErr); err != nil {
		return err
	}
	after, err := change(slices.Clone(before))
	if err != nil || slices.Equal(after, before) {
		return err
	}
	if len(after) == 0 {
		return lock.write(nil, [][]byte{key})
	}
	return lock.write([][2][]byte{{key, encode(user, after)}}, nil)
}
