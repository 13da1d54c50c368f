package replicate

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"

	"github.com/cockroachdb/pebble/v2"

	"shunt/storage"
	"shunt/storage/clusterlog"
	"shunt/storage/kv"
	"shunt/storage/row"
)

// SharedState is what two nodes of a cluster compare: at equal sequences, their hashes are equal.
type SharedState struct {
	Cluster  string `json:"cluster"`
	Sequence uint64 `json:"sequence"` // of the last entry of the log that is applied
	Epoch    uint64 `json:"epoch"`    // of that entry
	Hash     string `json:"hash"`     // SHA-256 of all shared rows but tallies, in hexadecimal; of an edge: of those that it keeps
	Links    string `json:"links"`    // SHA-256 of what an edge keeps of them: equal on all nodes
	Edge     bool   `json:"edge,omitempty"`
}

// SharedHash returns a hash of all shared rows but tallies. It is equal on all nodes that have applied
// the same entries. It reads all of them.
func (s *Rows) SharedHash() (sum [sha256.Size]byte, err error) {
	snapshot := s.db.NewSnapshot()
	defer func() { err = errors.Join(err, snapshot.Close()) }()
	return sharedHash(snapshot, false)
}

// State returns the state of the shared rows; nil if the store is of no cluster.
func State(v *storage.Inspection) (*SharedState, error) {
	r := v.Reader()
	value, err := kv.Read(r, row.MetaKey(row.MetaLog))
	if err != nil || value == nil {
		return nil, err
	}
	p, err := row.DecodeLogPosition(value)
	if err != nil {
		return nil, err
	}
	sum, err := sharedHash(r, false)
	if err != nil {
		return nil, err
	}
	links, err := sharedHash(r, true)
	if err != nil {
		return nil, err
	}
	edge, err := kv.Read(r, row.MetaKey(row.MetaEdge))
	return &SharedState{
		Cluster: clusterlog.ID(p.Cluster).String(), Sequence: p.Sequence, Epoch: p.Epoch,
		Hash: hex.EncodeToString(sum[:]), Links: hex.EncodeToString(links[:]), Edge: edge != nil,
	}, err
}

// sharedHash returns a hash of all shared rows but tallies, or of what an edge keeps of them.
func sharedHash(r pebble.Reader, ofEdge bool) (sum [sha256.Size]byte, err error) {
	h, length := sha256.New(), make([]byte, 0, 8)
	err = kv.Each(r, row.Range{}, func(key, value []byte) (_ bool, err error) {
		if !row.Shared(key) || ofEdge && !row.KeptByEdge(key) || key[0] == row.TableLinkLives || key[0] == row.TableLinkDays || key[0] == row.TableOwnerDays || key[0] == row.TableSummaries {
			return true, nil
		}
		if ofEdge && key[0] == row.TableCold {
			if value, err = row.ColdOfEdge(value); err != nil {
				return false, fmt.Errorf("row %x: %w", key, err)
			}
		}
		length = binary.BigEndian.AppendUint32(length[:0], uint32(len(key)))
		length = binary.BigEndian.AppendUint32(length, uint32(len(value)))
		h.Write(length)
		h.Write(key)
		h.Write(value)
		return true, nil
	})
	if err != nil {
		return sum, fmt.Errorf("storage: %w", err)
	}
	return [sha256.Size]byte(h.Sum(nil)), nil
}
