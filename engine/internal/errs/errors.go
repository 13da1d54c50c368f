// Package errs has the errors that callers of the engine tell apart.
package errs

import "errors"

// Everything else is internal.
var (
	// ErrNotFound: no live link has this code, or it is another owner's.
	ErrNotFound = errors.New("link not found")
	// ErrTaken: the alias is taken, differs from a taken code only by case, or was deleted by
	// somebody else less than TombstoneDays ago. It may be a TakenError.
	ErrTaken = errors.New("alias is taken")
	// ErrVersion: the link is not at the version that the Guard names.
	ErrVersion = errors.New("link has another version")
	// ErrLoading: links are still being loaded.
	ErrLoading = errors.New("loading")
	// ErrOutcomeUnknown: the store did not answer within CommitTimeout. The write may yet happen.
	ErrOutcomeUnknown = errors.New("the store did not answer in time; the outcome is unknown")
	// ErrClosed: the engine is shutting down.
	ErrClosed = errors.New("engine is closed")
	// ErrBehind: the store has to catch up first. Try later.
	ErrBehind = errors.New("store is behind")
	// ErrFlushTooLarge: the batch is larger than the store can take at once.
	ErrFlushTooLarge = errors.New("flush is too large")
	// ErrStalled: the store did not answer before the engine had to close. End the process without
	// closing the store.
	ErrStalled = errors.New("the store hangs")
	// ErrReadOnly: the store takes no writes until there is more space. Nothing was changed.
	ErrReadOnly = errors.New("no space: nothing can be written at present")
	// ErrMismatch: the sender has used this request key for another request.
	ErrMismatch = errors.New("the key was used for another request")
	// ErrTooManyReceipts: the sender has the most request keys in use that a sender may have.
	ErrTooManyReceipts = errors.New("too many keys are in use")
	// ErrDeleted: the link that the request made or found was deleted since.
	ErrDeleted = errors.New("the link was deleted since the request was first answered")
	// ErrRefused: this part of the request was refused when it was first answered; the reason was
	// not kept.
	ErrRefused = errors.New("refused when the request was first answered")
	// ErrOwnerGone: the owner of the requested link was deleted.
	ErrOwnerGone = errors.New("the owner was deleted")
	// ErrDomainGone: the domain of the requested link was removed.
	ErrDomainGone = errors.New("the domain was removed")
	// ErrOwnsLinks: the user, or the domain, has links.
	ErrOwnsLinks = errors.New("there are links")
	// ErrNotLeader: another node of the cluster leads, or none does at present. Nothing was changed.
	ErrNotLeader = errors.New("this node does not lead the cluster")
	// ErrOverloaded: a bounded queue is full. Nothing was changed; try again.
	ErrOverloaded = errors.New("overloaded")
	// ErrFull: there is no memory for another link (Options.Full). Links that exist can be changed
	// and deleted.
	ErrFull = errors.New("the memory limit is reached (--memory-limit): links can be changed and deleted, but none can be added")
)
