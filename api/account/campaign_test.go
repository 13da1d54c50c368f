package account

import (
	"fmt"
	"strings"
	"testing"

	"shunt/engine"
	"shunt/engine/expect"
)

func (f *folder) wantSound(t *testing.T) {
	t.Helper()
	_, faults := checkTable(t, f)
	expect.That(t, len(faults) == 0, "got faults %+v", faults)
}

func TestAUserKeepsCampaignsUnderNames(t *testing.T) {
	f := newFolder(t)
	user, other := f.admin(t).User.ID, f.add(t, "ben@example.com", RoleMember).ID
	for _, c := range []Campaign{{Name: " b ", Source: " news "}, {Name: "A", Medium: "mail"}, {Name: "B", Source: "print", Content: "ü & x"}} {
		expect.OK(t, f.KeepCampaign(user, c))
	}
	f.reopen(t)
	want := []Campaign{{Name: "A", Medium: "mail"}, {Name: "B", Source: "print", Content: "ü & x"}}
	got, err := f.Campaigns(user)
	expect.OK(t, err)
	expect.Slices(t, got, want, "by name, and one of a name")
	got, err = f.Campaigns(other)
	expect.That(t, got == nil && err == nil, "of another user: got %v, %v", got, err)
	f.wantSound(t)
	expect.OK(t, f.DropCampaign(user, "a"))
	expect.OK(t, f.DropCampaign(user, "none"))
	expect.OK(t, f.DropCampaign(user, "b"))
	got, err = f.Campaigns(user)
	expect.That(t, got == nil && err == nil, "all deleted: got %v, %v", got, err)
	f.wantSound(t)
}

func TestCampaignsAreBounded(t *testing.T) {
	f := newFolder(t)
	user := f.admin(t).User.ID
	for i := range MaxCampaigns {
		expect.OK(t, f.KeepCampaign(user, Campaign{Name: fmt.Sprint("n", i), Source: strings.Repeat("x", maxCampaignParam)}))
	}
	for want, c := range map[string]Campaign{
		"name":         {Name: " ", Source: "x"},
		"name too":     {Name: "one more", Source: "x"},
		"name long":    {Name: strings.Repeat("x", MaxCampaignName+1), Source: "x"},
		"utm_source":   {Name: "n1"},
		"utm_term":     {Name: "n1", Term: "a\nb"},
		"utm_campaign": {Name: "n1", Campaign: strings.Repeat("x", maxCampaignParam+1)},
	} {
		field := strings.Fields(want)[0]
		err, is := f.KeepCampaign(user, c).(engine.FieldError)
		expect.That(t, is && err.Field == field, "%+v: got %v, want an error of %s", c, err, field)
		expect.Equal[error](t, f.CheckCampaign(user, c), err, "%+v: of the check", c)
	}
	expect.OK(t, f.CheckCampaign(user, Campaign{Name: "N1", Source: "again"}))
	expect.OK(t, f.KeepCampaign(user, Campaign{Name: "N1", Source: "again"}))
	expect.Error(t, f.KeepCampaign(99, Campaign{Name: "x", Source: "x"}), ErrNoUser, "a user who is not there")
	f.wantSound(t)
}

func TestCampaignsGoWithTheirUser(t *testing.T) {
	f := newFolder(t)
	f.admin(t)
	user := f.add(t, "ben@example.com", RoleMember)
	expect.OK(t, f.KeepCampaign(user.ID, Campaign{Name: "x", Source: "x"}))
	expect.OK(t, f.RemoveUser(Caller{}, user.ID, mayGo(nil)))
	got, err := f.Campaigns(user.ID)
	expect.That(t, got == nil && err == nil, "got %v, %v", got, err)
	f.wantSound(t)
}

func TestAUserKeepsFiltersUnderNames(t *testing.T) {
	f := newFolder(t)
	user, other := f.admin(t).User.ID, f.add(t, "ben@example.com", RoleMember)
	for _, kept := range []Filter{{"b", "q=x"}, {" A ", "tag=y"}, {"B", "q=z"}} {
		expect.OK(t, f.KeepFilter(user, kept, ""))
	}
	expect.OK(t, f.KeepFilter(other.ID, Filter{"A", "q=other"}, ""))
	got, err := f.Filters(user)
	expect.NoError(t, err)
	expect.Slices(t, got, []Filter{{"A", "tag=y"}, {"B", "q=z"}})
	expect.OK(t, f.KeepFilter(user, Filter{"c", "q=z"}, "b"))
	got, err = f.Filters(user)
	expect.NoError(t, err)
	expect.Slices(t, got, []Filter{{"A", "tag=y"}, {"c", "q=z"}}, "after another name")
	for want, c := range map[string]Filter{"name": {" ", "q=x"}, "query": {"n", strings.Repeat("x", maxFilterQuery+1)}} {
		err, is := f.KeepFilter(user, c, "").(engine.FieldError)
		expect.That(t, is && err.Field == want, "%s: got %v", want, err)
	}
	expect.OK(t, f.DropFilter(user, "a"))
	expect.OK(t, f.DropFilter(user, "C"))
	for i := range MaxFilters {
		expect.OK(t, f.KeepFilter(user, Filter{fmt.Sprint("n", i), "q=x"}, ""))
	}
	_, is := f.KeepFilter(user, Filter{"one more", "q=x"}, "").(engine.FieldError)
	expect.That(t, is, "one more is kept")
	expect.OK(t, f.KeepFilter(user, Filter{"one more", "q=x"}, "n7"))
	expect.OK(t, f.RemoveUser(Caller{}, other.ID, mayGo(nil)))
	got, err = f.Filters(other.ID)
	expect.That(t, got == nil && err == nil, "of a user who is gone: got %v, %v", got, err)
	f.wantSound(t)
}
