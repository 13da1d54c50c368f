package folders

import (
	"strconv"

	"github.com/valyala/fasthttp"

	"shunt/api/account"
	"shunt/api/exchange"
	"shunt/api/folder"
	"shunt/api/jsonbody"
	"shunt/api/ops"
)

// ListAll is GET /folders: those in which the caller has a right, or, with owner=all, every one. There are at most
// folder.MaxFolders, so the list has one page.
func (c *Calls) ListAll(ctx *fasthttp.RequestCtx, caller account.Caller) error {
	all := false
	for name, value := range ctx.QueryArgs().All() {
		switch {
		case string(name) != "owner":
			return ops.UnknownParameter(name)
		case all:
			return jsonbody.FieldError("owner", "duplicate", "must not be given twice")
		case string(value) != "all":
			return jsonbody.FieldError("owner", "range", "must be all")
		}
		all = true
	}
	found, err := c.List(caller, all)
	if err != nil {
		return err
	}
	return exchange.WriteJSON(ctx, fasthttp.StatusOK, struct {
		Data []Object `json:"data"`
	}{found})
}

// write answers with a folder object.
func write(ctx *fasthttp.RequestCtx, status int, o *Object) error {
	exchange.SetVersion(ctx, o.Version)
	return exchange.WriteJSON(ctx, status, o)
}

// AddOne is POST /folders.
func (c *Calls) AddOne(ctx *fasthttp.RequestCtx, caller account.Caller) error {
	if err := exchange.NoParameters(ctx); err != nil {
		return err
	}
	o, err := c.Add(caller, exchange.BodyOf(ctx))
	if err != nil {
		return err
	}
	ctx.Response.Header.Set("Location", "/api/v1/folders/"+strconv.FormatUint(uint64(o.ID), 10))
	return write(ctx, fasthttp.StatusCreated, &o)
}

// ReadOne is GET /folders/{folder}.
func (c *Calls) ReadOne(ctx *fasthttp.RequestCtx, caller account.Caller) error {
	n, err := folderAsked(ctx)
	if err != nil {
		return err
	}
	o, err := c.Read(caller, n)
	if err != nil {
		return err
	}
	return write(ctx, fasthttp.StatusOK, &o)
}

// EditOne is PATCH /folders/{folder}.
func (c *Calls) EditOne(ctx *fasthttp.RequestCtx, caller account.Caller) error {
	n, err := folderAsked(ctx)
	if err != nil {
		return err
	}
	o, err := c.Edit(caller, n, versionsAsked(ctx), exchange.BodyOf(ctx))
	if err != nil {
		return err
	}
	return write(ctx, fasthttp.StatusOK, &o)
}

// RemoveOne is DELETE /folders/{folder}.
func (c *Calls) RemoveOne(ctx *fasthttp.RequestCtx, caller account.Caller) error {
	n, err := folderAsked(ctx)
	if err != nil {
		return err
	}
	if err := c.Remove(caller, n, versionsAsked(ctx)); err != nil {
		return err
	}
	ctx.SetStatusCode(fasthttp.StatusNoContent)
	return nil
}

// TakeOutOne is DELETE /folders/{folder}/members/{user}.
func (c *Calls) TakeOutOne(ctx *fasthttp.RequestCtx, caller account.Caller) error {
	n, err := folderAsked(ctx)
	if err != nil {
		return err
	}
	text, _ := ctx.UserValue("user").(string)
	user, _ := Number(text) // 0, which is nobody, for what is no number
	if err := c.TakeOut(caller, n, user); err != nil {
		return err
	}
	ctx.SetStatusCode(fasthttp.StatusNoContent)
	return nil
}

// versionsAsked returns the versions that If-Match lists; none if any version will do.
func versionsAsked(ctx *fasthttp.RequestCtx) []uint64 {
	return ops.ParseVersions(ctx.Request.Header.PeekAll("If-Match"))
}

// folderAsked returns the {folder} of the path, of a request without parameters.
func folderAsked(ctx *fasthttp.RequestCtx) (uint32, error) {
	if err := exchange.NoParameters(ctx); err != nil {
		return 0, err
	}
	text, _ := ctx.UserValue("folder").(string)
	return Number(text)
}

// Number returns the number that a part of a path names, or folder.ErrNoFolder.
func Number(text string) (uint32, error) {
	n, err := strconv.ParseUint(text, 10, 32)
	if err != nil || n == 0 || strconv.FormatUint(n, 10) != text {
		return 0, folder.ErrNoFolder
	}
	return uint32(n), nil
}
