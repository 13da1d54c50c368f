package account

import (
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"time"
)

// In a cluster only the node that leads writes. A node that does not sends its last uses to that one once a
// minute, instead of writing them: by the thousand, so that it costs a request for each thousand tokens
// in use, and nothing at rest. What is lost on the way is a minute of last uses.

// A Use is the last use of a token or a session, by its hash.
type Use struct {
	Hash [sha256.Size]byte
	At   time.Time // exact to the millisecond
}

const useBytes = sha256.Size + 8

// MaxUsesBytes bounds the uses in one message.
const MaxUsesBytes = usesPerWrite * useBytes

var errUses = errors.New("not a list of last uses")

// AppendUses appends uses to dst: each as its hash and Unix ms in 8 bytes, big-endian.
func AppendUses(dst []byte, uses []Use) []byte {
	for i := range uses {
		dst = append(dst, uses[i].Hash[:]...)
		dst = binary.BigEndian.AppendUint64(dst, uint64(uses[i].At.UnixMilli()))
	}
	return dst
}

// ReadUses is the inverse of AppendUses, for MaxUsesBytes at most.
func ReadUses(b []byte) ([]Use, error) {
	if len(b) > MaxUsesBytes || len(b)%useBytes != 0 {
		return nil, fmt.Errorf("%w: %d bytes", errUses, len(b))
	}
	uses := make([]Use, len(b)/useBytes)
	for i := range uses {
		uses[i].Hash = [sha256.Size]byte(b[i*useBytes:])
		uses[i].At = time.UnixMilli(int64(binary.BigEndian.Uint64(b[i*useBytes+sha256.Size:])))
	}
	return uses, nil
}

// ShareUses has the last uses that this node may not write given to send, which returns nil if the node that
// leads has taken them. It is called before Run.
func (a *Accounts) ShareUses(send func([]Use) error) { a.sendUses = send }

// shareUses sends last uses, and then forgets them.
func (a *Accounts) shareUses(hashes [][sha256.Size]byte, at map[[sha256.Size]byte]time.Time) error {
	uses := make([]Use, 0, len(hashes))
	for _, hash := range hashes {
		uses = append(uses, Use{hash, at[hash]})
	}
	if err := a.sendUses(uses); err != nil {
		return err
	}
	a.uses.forget(hashes, at)
	return nil
}

// TakeUses notes the last uses that another node has seen, which Run writes with this one's. One that is
// earlier than what is known changes nothing, and none is in the future.
func (a *Accounts) TakeUses(uses []Use) error {
	now := a.now()
	for _, u := range uses {
		if u.At.After(now) {
			u.At = now
		}
		known, err := a.lastUse(u.Hash)
		if err != nil {
			return err
		}
		if u.At.After(known) {
			a.uses.note(u.Hash, u.At)
		}
	}
	return nil
}
