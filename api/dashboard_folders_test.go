package api

import (
	"fmt"
	"strings"
	"testing"

	"shunt/api/account"
	"shunt/engine/expect"
)

// TestFoldersOnThePages makes a folder, puts links there, shares it, and takes it away again, as people do it.
func TestFoldersOnThePages(t *testing.T) {
	st := newSite(t, nil)
	ann := st.browseAs("ann@example.com", account.RoleMember)
	bob := st.browseAs("bob@example.com", account.RoleMember)

	list := ann.open("/_/folders")
	list.want("There is no folder yet.")
	again := ann.fill(list, "/_/folders", "name", " ", "read", "nobody@example.com")
	expect.Equal(t, again.status, 422, "a folder without a name")
	again = ann.fill(list, "/_/folders", "name", "Spring", "read", "nobody@example.com, bob@example.com")
	expect.Equal(t, again.status, 422, "somebody who has no account")
	again.want("“nobody@example.com” is nobody who has an account here.")
	made := ann.follow(ann.open("/_/folders").form("/_/folders").with("name", "Spring", "read", "bob@example.com"))
	made.want("The folder “Spring” is made.", "Spring", "manage", "1 user")

	// A new link goes there from the list of the folder, or by the choice.
	shared := made.link("Spring")
	expect.Equal(t, shared, "/_/links?folder=1")
	empty := ann.open(shared)
	expect.Equal(t, empty.form("/_/links").values.Get("folder"), "1", "the folder of a new link")
	ann.follow(empty.form("/_/links").with("url", "https://example.org/x", "alias", "x")).want("The link is ready.")
	ann.follow(ann.open("/_/links/new").form("/_/links/new").with("url", "https://example.org/y", "alias", "y")).want("The link is ready.")
	page := ann.open("/_/link/x")
	page.want("Spring")
	expect.Equal(t, page.link("Spring"), shared)

	// A reader sees the link, and no button that changes it.
	theirs := bob.open("/_/folders")
	theirs.want("Spring", "user 2", "read")
	expect.Equal(t, theirs.link("Open Spring"), "/_/folders/1")
	about := bob.open("/_/folders/1")
	about.want("Owner user 2", "You may read", "Leave this folder …")
	expect.That(t, len(about.forms("/_/folders/1")) == 0 && len(about.linksTo("/_/folders/1/delete")) == 0 && !strings.Contains(about.body, "ann@example.com"), "a reader is shown %s", about.body)
	bob.post("/_/folders/1", formType, "name=n&version=1").expect(t, "the form of a reader", 404)
	for _, path := range []string{"/_/folders/1/delete", "/_/link/x/edit", "/_/link/x/delete", "/_/link/x/reset", "/_/link/y"} {
		expect.Equal(t, bob.get(path).status, 404, "%s of a reader", path)
	}
	listed := bob.open(theirs.link("Spring"))
	listed.want("/x", "folder: Spring")
	expect.That(t, !strings.Contains(listed.body, "/_/link/x/edit") && !strings.Contains(listed.body, "/_/link/x/delete"), "a reader is shown a change")
	read := bob.open("/_/link/x")
	for _, page := range []string{"edit", "delete", "disabled", "reset", "owner"} {
		expect.That(t, !strings.Contains(read.body, "/_/link/x/"+page), "a reader is shown %s", page)
	}
	expect.Equal(t, len(bob.open("/_/links").linksTo("/_/link/x")), 0, "the list without a folder")

	// Nobody need be a member.
	ann.follow(ann.open("/_/folders").form("/_/folders").with("name", "Mine")).want("The folder “Mine” is made.", "0 users")
	ann.follow(ann.open("/_/folders/2").form("/_/folders/2").with("name", "Mine alone")).want("The folder is saved.", "Mine alone")
	ann.follow(ann.open("/_/folders/2/delete").form("/_/folders/2/delete"))

	// An editor sees the buttons that change it.
	ann.follow(ann.open("/_/folders/1").form("/_/folders/1").with("read", "", "edit", "BOB@example.com")).want("The folder is saved.")
	read = bob.open("/_/link/x")
	expect.That(t, strings.Contains(read.body, "/_/link/x/edit") && !strings.Contains(read.body, "/_/link/x/reset"), "an editor: %s", read.body)
	bob.follow(bob.open("/_/link/x/edit").form("/_/link/x/edit").with("title", "By Bob")).want("The link is saved.", "By Bob", "Spring")
	bob.follow(bob.open("/_/link/x").form("/_/link/x/disabled")).want("The link is disabled")

	// It is not deleted before it is empty.
	asked := ann.open(ann.open("/_/folders/1").link("Delete this folder …"))
	refused := ann.submit(asked.form("/_/folders/1/delete"))
	expect.Equal(t, refused.status, 409)
	refused.want("1 link is in the folder: take it out first.")
	out := ann.chosen(ann.open(shared), "folder", "x")
	out.want("1 link will be in the folder that you choose, and in no other.")
	ann.submit(out.form(changePath).with("into", "9")).want("Is not the number of a folder into which you may put links.")
	ann.submit(out.form(changePath).with("into", "")).want("1 link was changed.")
	expect.Equal(t, bob.get("/_/link/x").status, 404, "the link of a reader that was taken out")
	expect.Equal(t, bob.open(shared).status, 200)
	ann.follow(ann.open("/_/folders/1/delete").form("/_/folders/1/delete")).want("The folder “Spring” is deleted.", "There is no folder yet.")
	gone := bob.get(shared)
	expect.Equal(t, gone.status, 422)
	gone.want("The folder: is not there, or not for you.")
}

// TestAFormOfAFolderThatWasOvertaken saves a folder that somebody else has saved since the form was shown.
func TestAFormOfAFolderThatWasOvertaken(t *testing.T) {
	st := newSharing(t)
	ann, admin := st.browse("ann@example.com"), st.browseAs("admin@example.com", account.RoleAdmin)
	const path, crossed = "/_/folders/1", "This folder was saved elsewhere while you edited it."
	whoMay := func() string {
		f := st.folders.Numbered(1)
		return fmt.Sprint(f.Name, f.Members)
	}
	mine, theirs := ann.open(path).form(path), admin.open(path).form(path)
	old := ann.open(path + "/delete").form(path + "/delete")
	admin.follow(theirs.with("edit", "ed@example.com\r\nsam@example.com")).want("The folder is saved.")
	now := whoMay()
	again := ann.submit(mine.with("name", "Summer", "read", ""))
	expect.Equal(t, again.status, 412)
	expect.Equal(t, whoMay(), now, "after a form that was overtaken")
	again.want(crossed, "Nothing of yours is saved yet.", "Now: Spring", "Now: red@example.com", "Changed by the other edit.")
	form := again.form(path)
	expect.Slices(t, strings.Fields(form.values.Get("edit")), []string{"ed@example.com", "sam@example.com"}, "the field that only the other has changed")
	expect.That(t, form.values.Get("name") == "Summer" && form.values.Get("read") == "", "what was typed: %v", form.values)

	// Another save comes between, and then none.
	admin.follow(admin.open(path).form(path).with("read", "")).want("The folder is saved.")
	again = ann.submit(form)
	again.want(crossed, "Now: Spring")
	expect.That(t, !strings.Contains(again.body, "Now: nobody."), "both have taken out the readers")
	ann.follow(again.form(path)).want("The folder is saved.", "Summer")
	expect.Equal(t, whoMay(), "Summer[{4 edit} {5 edit}]")

	// The order of members is no change, and neither is a field that the form lacks. A damaged version is refused.
	form = ann.open(path).form(path)
	ann.follow(form.with("edit", "SAM@example.com, ed@example.com")).want("The folder is saved.")
	expect.Equal(t, st.folders.Numbered(1).Version, uint64(4))
	expect.Equal(t, ann.submit(ann.open(path).form(path).with("version", "")).status, 412, "a form without a version")
	expect.Equal(t, ann.submit(ann.open(path).form(path).with("version", "x")).status, 412, "a damaged version")
	admin.follow(admin.open(path).form(path).with("edit", "")).want("The folder is saved.")
	refused := ann.submit(form.with("edit", "sam@example.com"))
	refused.want(crossed, "Now: nobody.")

	// A folder is not deleted as it was.
	st.as1("ann", "PATCH", "/links/x", `{"folder":null}`).need(t, "its link is taken out", 200)
	asked := ann.submit(old)
	expect.Equal(t, asked.status, 412)
	asked.want("The folder was changed meanwhile. It is not deleted. Look at it again first.")
	ann.follow(asked.form(path + "/delete")).want("The folder “Summer” is deleted.")
}

// TestAnEditKeepsTheFolder edits a link whose owner may not put links into its folder any more.
func TestAnEditKeepsTheFolder(t *testing.T) {
	st := newSharing(t)
	st.as1("ed", "POST", "/shorten", `{"url":"https://z.example/","alias":"z","folder":1}`).need(t, "z", 201)
	st.as1("ann", "PATCH", "/folders/1", `{"members":[]}`).need(t, "nobody", 200)
	ed := st.browse("ed@example.com")
	form := ed.open("/_/link/z/edit").form("/_/link/z/edit")
	expect.Equal(t, form.values.Get("folder"), "1")
	ed.follow(form.with("title", "T")).want("The link is saved.")
	l := st.as1("ed", "GET", "/links/z", "").body
	expect.That(t, strings.Contains(l, `"folder":1`) && strings.Contains(l, `"title":"T"`), "%s", l)
	st.as1("ann", "PATCH", "/folders/1", `{"members":[{"email":"ed@example.com","may":"edit"}]}`).need(t, "a member again", 200)
	gone := ed.follow(ed.open("/_/link/x/delete").form("/_/link/x/delete"))
	gone.want("For 30 days its owner has it in the trash.")
	expect.That(t, !strings.Contains(gone.body, "/trash/restore"), "undo is offered to somebody who cannot restore the link")
	st.as1("ann", "POST", "/links/x/restore", "").need(t, "x again", 200)
	expect.Contains(t, st.as1("ed", "GET", "/links?folder=1", "").body, `"code":"x"`)
	st.as1("ann", "PATCH", "/folders/1", `{"members":[]}`).need(t, "nobody", 200)
	like := ed.open("/_/links/new?like=z").form("/_/links/new")
	expect.Equal(t, like.values.Get("folder"), "", "the folder of a copy")
}

// TestAMemberLeavesAFolderOnItsPage asks for the page as everybody, and leaves.
func TestAMemberLeavesAFolderOnItsPage(t *testing.T) {
	st := newSharing(t)
	const page, leave = "/_/folders/1", "/_/folders/1/leave"
	red, ann, sam := st.browse("red@example.com"), st.browse("ann@example.com"), st.browse("sam@example.com")
	viewer := st.browseAs("viewer@example.com", account.RoleViewer)
	st.call("PATCH", "/folders/1", `{"members":[{"user":3,"may":"read"},{"user":4,"may":"edit"},{"email":"viewer@example.com","may":"edit"}]}`).need(t, "a viewer is a member", 200)
	for who, b := range map[string]*plainBrowser{"the owner": ann, "a stranger": sam, "a viewer": viewer} {
		b.get(leave).expect(t, who, 404)
		b.post(leave, formType, "").expect(t, who, 404)
	}
	expect.Equal(t, len(ann.open(page).linksTo(leave))+len(viewer.open(page).linksTo(leave)), 0, "links of those who cannot leave")
	viewer.open(page).want("You may read")
	sam.get(page).expect(t, "the page of a stranger", 404)
	expect.Equal(t, len(st.folders.Numbered(1).Members), 3)

	asked := red.open(red.open(page).link("Leave this folder …"))
	asked.want("Leave Spring?", "Only its owner or an admin can let you in again.")
	red.follow(asked.form(leave)).want("You have left the folder “Spring”.", "There is no folder yet.")
	expect.Equal(t, fmt.Sprint(st.folders.Numbered(1).Members), "[{4 edit} {6 edit}]")
	for _, path := range []string{page, leave, "/_/link/x"} {
		red.get(path).expect(t, path+" of who has left", 404)
	}

	// An admin who is a member may leave, and still manages the folder.
	admin := st.browseAs("admin@example.com", account.RoleAdmin)
	expect.Equal(t, len(admin.open(page).linksTo(leave)), 0, "an admin who is no member")
	admin.get(leave).expect(t, "an admin who is no member", 404)
	st.call("PATCH", "/folders/1", `{"members":[{"email":"admin@example.com","may":"read"}]}`).need(t, "a member", 200)
	admin.follow(admin.open(admin.open(page).link("Leave this folder …")).form(leave)).want("You have left the folder “Spring”.")
	admin.open(page).want("Delete this folder …")
}

// TestAnAdminSeesAllFolders opens a folder of somebody else, and its links.
func TestAnAdminSeesAllFolders(t *testing.T) {
	st := newSharing(t)
	admin := st.browseAs("admin@example.com", account.RoleAdmin)
	list := admin.open("/_/folders")
	list.want("Spring", "ann@example.com", "2 users")
	links := admin.open(list.link("Spring"))
	links.want("shared", "folder: Spring")
	admin.open(links.link("shared")).want("Spring", "Reset figures")
	admin.follow(admin.open("/_/folders/1").form("/_/folders/1").with("name", "Summer")).want("The folder is saved.", "Summer")

	viewer := st.browseAs("viewer@example.com", account.RoleViewer)
	list = viewer.open("/_/folders")
	list.want("Summer", "read")
	viewer.open(viewer.open(list.link("Summer")).link("shared")).want("Summer")
}
