package dashboard

import (
	"errors"
	"strings"

	"github.com/valyala/fasthttp"

	"shunt/api/account"
	"shunt/api/dashboard/mark"
	"shunt/api/dashboard/visit"
	"shunt/api/problem"
	"shunt/api/tagtext"
	"shunt/engine"
)

const campaignsPath = Root + "campaigns"

// A campaignForm is the part of a form of a link that marks its target with the parameters of a campaign. A parameter
// that is empty leaves the target as it is.
type campaignForm struct {
	Fields []*field           // of the parameters
	Chosen string             // the template whose values fields that are empty get
	Keep   *field             // the name under which the values are kept as a template; empty: they are not
	Kept   []account.Campaign // the templates
	Open   bool               // the fields are unfolded
}

// campaignForm returns what was typed.
func (r *request) campaignForm() (f campaignForm, err error) {
	if f.Kept, err = r.Accounts.Campaigns(r.Caller.User.ID); err != nil {
		return f, err
	}
	f.Chosen, _ = r.Typed("utm_template")
	keep, _ := r.Typed("utm_keep")
	f.Keep = &field{Name: "utm_keep", Value: strings.TrimSpace(keep)}
	for _, p := range new(account.Campaign).Params() {
		text, _ := r.Typed(p.Name)
		f.Fields = append(f.Fields, &field{Name: p.Name, Value: strings.TrimSpace(text)})
	}
	for _, c := range f.Kept {
		if c.Name == f.Chosen {
			f.take(c)
		}
	}
	f.unfold()
	return f, nil
}

// take puts the values of a template into fields that are empty.
func (f *campaignForm) take(c account.Campaign) {
	for i, p := range c.Params() {
		if f.Fields[i].Value == "" {
			f.Fields[i].Value = *p.Value
		}
	}
}

// all returns the fields with that of the name.
func (f *campaignForm) all() []*field { return append(f.Fields[:len(f.Fields):len(f.Fields)], f.Keep) }

// unfold opens the fields if one of them has a value or an error.
func (f *campaignForm) unfold() {
	f.Open = f.Open || f.Chosen != ""
	for _, at := range f.all() {
		f.Open = f.Open || at.Value != "" || at.Error != ""
	}
}

// mark returns a target with the parameters.
func (f *campaignForm) mark(target string) string {
	for _, at := range f.Fields {
		if at.Value != "" && target != "" {
			target = mark.Set(target, at.Name, at.Value)
		}
	}
	return target
}

// campaign returns the values of the fields under a name.
func (f *campaignForm) campaign(name string) account.Campaign {
	c := account.Campaign{Name: name}
	for i, p := range c.Params() {
		*p.Value = f.Fields[i].Value
	}
	return c
}

// checkCampaign returns why the values of a form of a link cannot be kept as a template, if that is wanted.
func (r *request) checkCampaign(f *campaignForm) error {
	if f.Keep.Value == "" {
		return nil
	}
	err := r.Accounts.CheckCampaign(r.Caller.User.ID, f.campaign(f.Keep.Value))
	var at engine.FieldError
	if errors.As(err, &at) && at.Field == "name" {
		at.Field = f.Keep.Name
		return at
	}
	return err
}

// keepCampaign keeps the values of the form of a link that was just saved as a template, if that is wanted. The
// message after it is said, and the reason if the template is not kept. back takes the save of the link back.
func (r *request) keepCampaign(f *campaignForm, kind, said string, back visit.Undo) error {
	if f.Keep.Value != "" {
		err := r.Accounts.KeepCampaign(r.Caller.User.ID, f.campaign(f.Keep.Value))
		p, known := problem.Of(err)
		switch {
		case err != nil && !known:
			return err
		case err != nil:
			if kind != warning {
				kind = "info"
			}
			said += " Its template is not saved. " + visit.Sentence(p.Detail)
		}
	}
	r.SayUndo(kind, said, back)
	return nil
}

// campaignsView is what the page of templates shows.
type campaignsView struct {
	Kept   []account.Campaign
	Most   int
	Name   *field
	Fields []*field
	Error  string
}

// campaignsPage is GET /_/campaigns.
func (r *request) campaignsPage() error { return r.showCampaigns(nil) }

// showCampaigns shows the page, with why a template was refused.
func (r *request) showCampaigns(refused error) error {
	form, err := r.campaignForm()
	if err != nil {
		return err
	}
	name, _ := r.Typed("name")
	view := campaignsView{Kept: form.Kept, Most: account.MaxCampaigns, Name: &field{Name: "name", Value: name}, Fields: form.Fields}
	status := fasthttp.StatusOK
	if refused != nil {
		at, general, ok := visit.FieldErrors(refused, "name", "utm_source", "utm_medium", "utm_campaign", "utm_term", "utm_content")
		if !ok {
			return refused
		}
		status, view.Error = visit.StatusOf(refused), visit.Sentence(general)
		for _, f := range append(view.Fields, view.Name) {
			f.Error = visit.Sentence(at[f.Name])
			f.Focus = f.Error != ""
		}
	}
	return r.Show(status, "campaigns", "Campaign templates", view)
}

// makeCampaign is POST /_/campaigns.
func (r *request) makeCampaign() error {
	form, err := r.campaignForm()
	if err == nil {
		err = r.Accounts.KeepCampaign(r.Caller.User.ID, form.campaign(r.Sent("name")))
	}
	if err != nil {
		return r.showCampaigns(err)
	}
	r.Say("done", "The template is saved.")
	return r.SeeOther(campaignsPath)
}

// deleteCampaign is POST /_/campaigns/delete.
func (r *request) deleteCampaign() error {
	if err := r.Accounts.DropCampaign(r.Caller.User.ID, r.Sent("name")); err != nil {
		return err
	}
	r.Say("done", "The template is deleted. Links that were made with it stay as they are.")
	return r.SeeOther(campaignsPath)
}

// usedTags returns what fields of tags suggest, as they are typed there. Without them a form does its work, so it does
// not wait for a busy server.
func (r *request) usedTags() (tags []string, err error) {
	release, err := r.Calls.BeginHeavy(r.Caller)
	if err == nil {
		defer release()
		var names []string
		names, err = r.Calls.UsedTags(r.Caller)
		for _, name := range names {
			tags = append(tags, tagtext.Join([]string{name}))
		}
	}
	if _, known := problem.Of(err); err != nil && known {
		return nil, nil
	}
	return tags, err
}
