package node

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"shunt/api/cluster"
	"shunt/engine"
	"shunt/storage/etcdlog"
)

// Gate implements cluster.State.
func (n *Node) Gate() *cluster.Gate { return n.gate }

// followRefusals keeps the gate up to date until ctx is done.
func (n *Node) followRefusals(ctx context.Context) {
	_ = n.clusterLog.FollowRefusals(ctx, func(all []etcdlog.Refusal) {
		n.gate.Tell(namesAndSerials(all))
		if own := n.identity.certificate().Leaf; n.gate.Check(own) != nil {
			n.log.Error("the certificate of this node is refused by its cluster: other nodes no longer talk to it. If it is to be one of them, run 'shunt cluster admit' with its name at another node", "serial", cluster.Serial(own))
		}
	})
}

func namesAndSerials(all []etcdlog.Refusal) (names, serials []string) {
	for _, r := range all {
		if r.Name != "" {
			names = append(names, r.Name)
		} else {
			serials = append(serials, r.Serial)
		}
	}
	return names, serials
}

// GiveCopy is called before a node takes a copy of the data. The node must have an admission, which this uses up,
// or be back, and the audit log gets an entry. The leader does both.
func (n *Node) GiveCopy(ctx context.Context, c cluster.Copy) error {
	if n.Leads() {
		return n.NoteCopy(ctx, c)
	}
	s := sender{node: n}
	defer s.close()
	_, err := s.post(ctx, cluster.CopiesPath, cluster.AppendCopy(nil, c), http.StatusNoContent, maxProblemBytes)
	var said *answerError
	if errors.As(err, &said) && said.status == cluster.StatusNotAdmitted {
		return fmt.Errorf("%w: %s", cluster.ErrNotAdmitted, c.Node)
	}
	if err != nil {
		return fmt.Errorf("%w: the node that leads cannot be asked whether %s may have a copy: %w", engine.ErrNotLeader, c.Node, err)
	}
	return nil
}

// NoteCopy is GiveCopy at the node that leads. That a node is back is what another full node has found.
func (n *Node) NoteCopy(ctx context.Context, c cluster.Copy) error {
	if c.Back {
		return n.accounts.NoteCopy(c.Node, c.Edge)
	}
	ctx, cancel := context.WithTimeout(ctx, memberTimeout)
	defer cancel()
	admitted, err := n.clusterLog.TakeAdmission(ctx, c.Node)
	if err != nil {
		return fmt.Errorf("%w: whether %s is admitted: %w", engine.ErrNotLeader, c.Node, err)
	}
	if !admitted {
		return fmt.Errorf("%w: %s", cluster.ErrNotAdmitted, c.Node)
	}
	return n.accounts.NoteCopy(c.Node, c.Edge)
}

// ParseRefusal reads what is refused: the name of a node, or a serial number as tools print it. The latter has a
// capital letter, a colon, serial= or 0x before it, or at least 16 hexadecimal digits.
func ParseRefusal(text string) (etcdlog.Refusal, error) {
	digits, marked := strings.ToLower(text), text != strings.ToLower(text) || strings.Contains(text, ":")
	for _, prefix := range []string{"serial=", "0x"} {
		if rest, found := strings.CutPrefix(digits, prefix); found {
			digits, marked = rest, true
		}
	}
	digits = strings.ReplaceAll(digits, ":", "")
	even := strings.Repeat("0", len(digits)%2) + digits
	_, err := hex.DecodeString(even)
	isSerial := err == nil && digits != "" && len(digits) <= 40
	switch {
	case isSerial && (marked || len(digits) >= 16):
		if digits = strings.TrimLeft(digits, "0"); digits == "" {
			digits = "0"
		}
		return etcdlog.Refusal{Serial: digits}, nil
	case !marked && names.MatchString(text):
		return etcdlog.Refusal{Name: text}, nil
	}
	return etcdlog.Refusal{}, fmt.Errorf("%q is neither the name of a node nor a serial number such as serial=0A1B (openssl x509 -noout -serial)", text)
}

// Refuse makes all nodes refuse certificates, or trust them again.
func Refuse(ctx context.Context, s *Settings, r etcdlog.Refusal, refused bool) error {
	return withLog(ctx, s, func(log *etcdlog.Log) error {
		if refused {
			return log.Refuse(ctx, r)
		}
		return log.Trust(ctx, r)
	})
}

// Admit lets a node of that name take one copy of another node's data, soon.
func Admit(ctx context.Context, s *Settings, name string) error {
	if !names.MatchString(name) {
		return fmt.Errorf("%q is not the name of a node: 1 to 63 of a-z, 0-9 and -", name)
	}
	return withLog(ctx, s, func(log *etcdlog.Log) error { return log.Admit(ctx, name) })
}
