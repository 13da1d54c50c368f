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
	all = append(without(all, c.Name), c)
	if len(all) > MaxCampaigns {
		return nil, fieldError("name", "too_many", fmt.Sprintf("must be one of the %d that there are: delete some first", MaxCampaigns))
	}
	slices.SortFunc(all, func(x, y Campaign) int {
		return cmp.Or(strings.Compare(strings.ToLower(x.Name), strings.ToLower(y.Name)), strings.Compare(x.Name, y.Name))
	})
	return all, nil
}

// DropCampaign forgets the campaign of that name, if there is one.
func (a *Accounts) DropCampaign(user uint32, name string) error {
	return a.changeCampaigns(user, func(all []Campaign) ([]Campaign, error) { return without(all, name), nil })
}

func without(all []Campaign, name string) []Campaign {
	return slices.DeleteFunc(all, func(c Campaign) bool { return strings.EqualFold(c.Name, name) })
}

func (a *Accounts) changeCampaigns(user uint32, change func([]Campaign) ([]Campaign, error)) error {
	lock, err := a.lockWrites()
	if err != nil {
		return err
	}
	defer lock.unlock()
	_, err = a.readUser(user) // so that no row is left of a user who is deleted meanwhile
	before, readErr := a.Campaigns(user)
	if err = errors.Join(err, readErr); err != nil {
		return err
	}
	after, err := change(slices.Clone(before))
	if err != nil || slices.Equal(after, before) {
		return err
	}
	if len(after) == 0 {
		return lock.write(nil, [][]byte{campaignsKey(user)})
	}
	return lock.write([][2][]byte{{campaignsKey(user), encodeCampaigns(user, after)}}, nil)
}
