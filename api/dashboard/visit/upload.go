package visit

import (
	"bytes"
	"errors"
	"io"
	"mime"
	"mime/multipart"

	"shunt/api/problem"
)

var errNotForm = problem.New(problem.BadRequest, "the form is not whole; send it again")

// Uploads reports whether the form has files, so that its fields are not separated by &.
func (r *Request) Uploads() bool {
	return bytes.HasPrefix(r.Ctx.Request.Header.ContentType(), []byte("multipart/form-data"))
}

// readParts reads a form with files: its fields become those of any form, and the field "file" is kept for File.
func (r *Request) readParts() error {
	_, parameters, err := mime.ParseMediaType(string(r.Ctx.Request.Header.ContentType()))
	if err != nil {
		return errNotForm
	}
	fields := r.Ctx.PostArgs()
	form := multipart.NewReader(bytes.NewReader(r.Ctx.PostBody()), parameters["boundary"])
	for range maxFields {
		part, err := form.NextRawPart()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return errNotForm
		}
		text, err := io.ReadAll(part)
		switch {
		case err != nil:
			return errNotForm
		case part.FormName() == "file":
			r.file = text
		default:
			fields.AddBytesV(part.FormName(), text)
		}
	}
	return errTooManyFields
}

// File returns the file of the form, empty if it has none.
func (r *Request) File() []byte { return r.file }
