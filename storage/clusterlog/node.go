package clusterlog

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/url"
	"strconv"
)

// MaxNodeBytes is the size of the largest encoded node or claimed node.
const MaxNodeBytes = 4 << 10

const (
	nodeVersion  = 1
	maxNameBytes = 63
	maxAdvertise = 512
	maxNodeReads = 1<<15 - 1
	maxNodeMs    = 1<<53 - 1 // what every reader of JSON reads exactly
)

// nodeJSON is a node's encoding. There is one for each node: no spaces, and fields in this order.
type nodeJSON struct {
	Version int    `json:"version"`
	Claim   string `json:"claim,omitempty"` // only of a claimed node
	*Node
}

// EncodeNode returns n as JSON. The error is ErrInvalidNode.
func EncodeNode(n *Node) ([]byte, error) { return encodeNode(n, "") }

// EncodeClaim returns n as JSON, together with the claim on its name. The error is ErrInvalidNode.
func EncodeClaim(n *Node, c Claim) ([]byte, error) { return encodeNode(n, hex.EncodeToString(c[:])) }

// DecodeNode is the inverse of EncodeNode. The error is ErrCorrupt or ErrNewerVersion.
func DecodeNode(v []byte) (Node, error) {
	n, claim, err := decodeNode(v)
	if err == nil && claim != "" {
		err = fmt.Errorf("%w: a node with a claim", ErrCorrupt)
	}
	if err != nil {
		return Node{}, err
	}
	return n, nil
}

// DecodeClaim is the inverse of EncodeClaim. The error is ErrCorrupt or ErrNewerVersion.
func DecodeClaim(v []byte) (n Node, c Claim, err error) {
	n, claim, err := decodeNode(v)
	if err == nil {
		if err = fromHex(c[:], []byte(claim)); err != nil {
			err = fmt.Errorf("%w: claim: %w", ErrCorrupt, err)
		}
	}
	if err != nil {
		return Node{}, Claim{}, err
	}
	return n, c, nil
}

func encodeNode(n *Node, claim string) ([]byte, error) {
	if err := n.check(); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrInvalidNode, err)
	}
	return json.Marshal(&nodeJSON{nodeVersion, claim, n})
}

func decodeNode(v []byte) (n Node, claim string, err error) {
	if len(v) > MaxNodeBytes {
		return Node{}, "", fmt.Errorf("%w: a node of %d bytes, at most %d", ErrCorrupt, len(v), MaxNodeBytes)
	}
	var version struct {
		Version int `json:"version"`
	}
	if err := json.Unmarshal(v, &version); err != nil {
		return Node{}, "", fmt.Errorf("%w: node: %w", ErrCorrupt, err)
	}
	if version.Version > nodeVersion {
		return Node{}, "", fmt.Errorf("%w: node of version %d; this program knows version %d", ErrNewerVersion, version.Version, nodeVersion)
	}
	j := nodeJSON{Node: &n}
	if err = json.Unmarshal(v, &j); err == nil {
		err = n.check()
	}
	if err != nil {
		return Node{}, "", fmt.Errorf("%w: node: %w", ErrCorrupt, err)
	}
	// It finds unknown fields, fields that come twice, and a version below the first, too.
	if again, err := encodeNode(&n, j.Claim); err != nil || !bytes.Equal(again, v) {
		return Node{}, "", fmt.Errorf("%w: a node in another form than this program writes", ErrCorrupt)
	}
	return n, j.Claim, nil
}

// check returns what is wrong with a node.
func (n *Node) check() error {
	if err := CheckNodeName(n.Name); err != nil {
		return err
	}
	if err := checkAdvertise(n.Advertise); err != nil {
		return err
	}
	switch {
	case n.Role != Full && n.Role != Edge:
		return fmt.Errorf("role %q, want %s or %s", n.Role, Full, Edge)
	case n.Reads < 1 || n.Reads > maxNodeReads:
		return fmt.Errorf("version of entries %d", n.Reads)
	case n.SinceMs < 0 || n.SinceMs > maxNodeMs:
		return fmt.Errorf("start %d ms", n.SinceMs)
	case n.ClockMs < 0 || n.ClockMs > maxNodeMs:
		return fmt.Errorf("clock %d ms", n.ClockMs)
	}
	return nil
}

// rootName is the user of etcd who may do everything. A node's name is that of its user.
const rootName = "root"

// CheckNodeName returns what is wrong with a node's name: it has 1 to 63 of a–z, 0–9 and -, and is not one
// that etcd gives a meaning.
func CheckNodeName(name string) error {
	if len(name) == 0 || len(name) > maxNameBytes {
		return fmt.Errorf("the name of a node has 1 to %d bytes, not %d", maxNameBytes, len(name))
	}
	for _, c := range []byte(name) {
		if (c < 'a' || c > 'z') && (c < '0' || c > '9') && c != '-' {
			return fmt.Errorf("the name of a node has only a–z, 0–9 and -, not %q", name)
		}
	}
	if name == rootName {
		return fmt.Errorf("no node can be named %s: that is the user of etcd who may do everything", name)
	}
	return nil
}

// checkAdvertise returns what is wrong with a node's address: it is https://host:port, and no more.
func checkAdvertise(address string) error {
	u, err := url.Parse(address)
	if err != nil || len(address) > maxAdvertise || address != "https://"+u.Host || u.Hostname() == "" {
		return fmt.Errorf("address %.100q, want https://host:port", address)
	}
	if port, err := strconv.ParseUint(u.Port(), 10, 16); err != nil || port == 0 {
		return fmt.Errorf("address %q has the port %q", address, u.Port())
	}
	return nil
}
