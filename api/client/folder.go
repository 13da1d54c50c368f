package client

import (
	"bytes"
	"context"
	"encoding/json"
	"net/http"
	"strconv"
	"time"
)

// A FolderRight is what somebody may do with the links in a folder.
type FolderRight string

// The rights. FolderManage is that of the owner of a folder, and of admins; no member has it.
const (
	FolderRead   FolderRight = "read"
	FolderEdit   FolderRight = "edit"
	FolderManage FolderRight = "manage"
)

// A Folder has links that several users may read or edit.
type Folder struct {
	ID        uint32         `json:"id"`
	Name      string         `json:"name"`
	Owner     uint32         `json:"owner"` // a user's id
	May       FolderRight    `json:"may"`   // the caller
	CreatedAt time.Time      `json:"created_at"`
	Version   uint64         `json:"version"` // grows with each change; see IfVersion
	Members   []FolderMember `json:"members"` // nil: the caller does not manage it
	// Raw is the object as it came.
	Raw json.RawMessage `json:"-"`
}

// UnmarshalJSON implements json.Unmarshaler.
func (f *Folder) UnmarshalJSON(text []byte) error {
	type fields Folder
	f.Raw = bytes.Clone(text)
	return json.Unmarshal(text, (*fields)(f))
}

// A FolderMember is a user with a right. To name one, User or Email is enough.
type FolderMember struct {
	User  uint32      `json:"user,omitempty"`
	Email string      `json:"email,omitempty"`
	May   FolderRight `json:"may"` // FolderRead or FolderEdit
}

// A FolderDraft describes a new folder of the caller.
type FolderDraft struct {
	Name    string         `json:"name"`
	Members []FolderMember `json:"members,omitempty"`
}

// A FolderPatch says what EditFolder changes. Nothing of it can be Reset.
type FolderPatch struct {
	Name    Field[string]         `json:"name,omitzero"`
	Members Field[[]FolderMember] `json:"members,omitzero"` // all of them
	Owner   Field[uint32]         `json:"owner,omitzero"`   // another user's id; only admins may set it
}

// Folders lists the folders of which the caller is the owner or a member, by name; with AnyOwner, those of all users.
func (c *Client) Folders(ctx context.Context, options ...Option) ([]Folder, error) {
	folders, err := ask[list[Folder]](ctx, c, call{method: http.MethodGet, path: "/folders", takes: takesOwner}, options)
	return folders.Data, err
}

// Folder returns a folder.
func (c *Client) Folder(ctx context.Context, id uint32) (Folder, error) {
	return ask[Folder](ctx, c, call{method: http.MethodGet, path: folderPath(id)}, nil)
}

// AddFolder makes a folder.
func (c *Client) AddFolder(ctx context.Context, draft FolderDraft) (Folder, error) {
	return ask[Folder](ctx, c, call{method: http.MethodPost, path: "/folders", body: draft}, nil)
}

// EditFolder changes a folder. Whoever is no member any more sees its links no more, at once. Members are replaced as a
// whole: with IfVersion, a change that somebody else has made since they were read is not lost.
func (c *Client) EditFolder(ctx context.Context, id uint32, edit FolderPatch, options ...Option) (Folder, error) {
	return ask[Folder](ctx, c, call{method: http.MethodPatch, path: folderPath(id), body: edit, takes: takesVersion}, options)
}

// RemoveFolder removes a folder that has no links.
func (c *Client) RemoveFolder(ctx context.Context, id uint32, options ...Option) error {
	_, err := c.do(ctx, call{method: http.MethodDelete, path: folderPath(id), takes: takesVersion}, options, nil)
	return err
}

// RemoveFolderMember takes one member out of a folder, and leaves the others as they are. Members may take themselves
// out, the owner of the folder and admins anybody.
func (c *Client) RemoveFolderMember(ctx context.Context, id, user uint32) error {
	path := folderPath(id) + "/members/" + strconv.FormatUint(uint64(user), 10)
	_, err := c.do(ctx, call{method: http.MethodDelete, path: path}, nil, nil)
	return err
}

func folderPath(id uint32) string { return "/folders/" + strconv.FormatUint(uint64(id), 10) }
