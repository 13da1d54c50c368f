package core

import (
	"shunt/api/admin"
	"shunt/storage"
)

// storageMetrics names the store's figures as the table of metrics has them (storeMetrics in
// api/admin), without the prefix shunt_storage_.
func (c *Core) storageMetrics() admin.Storage {
	m := c.Store.Metrics()
	stalled := 0.0
	if m.WriteStalled {
		stalled = 1
	}
	return admin.Storage{
		Values: map[string]float64{
			"disk_bytes":              float64(m.DiskBytes),
			"log_disk_bytes":          float64(m.LogDiskBytes),
			"ballast_bytes":           float64(m.BallastBytes),
			"memtable_bytes":          float64(m.MemTableBytes),
			"memtable_reserved_bytes": float64(m.MemTableReservedBytes),
			"block_cache_bytes":       float64(m.BlockCacheBytes),
			"cache_room_bytes":        float64(m.CacheRoomBytes),
			"cache_hits_total":        float64(m.CacheHits),
			"cache_misses_total":      float64(m.CacheMisses),
			"wal_bytes":               float64(m.WALBytes),
			"compaction_debt_bytes":   float64(m.CompactionDebtBytes),
			"l0_files":                float64(m.L0Files),
			"l0_sublevels":            float64(m.L0Sublevels),
			"memtable_flushes_total":  float64(m.MemTableFlushes),
			"compactions_total":       float64(m.Compactions),
			"compactions_running":     float64(m.RunningCompactions),
			"compacted_bytes_total":   float64(m.CompactedBytes),
			"rolled_up_rows_total":    float64(m.RolledUpRows),
			"free_bytes":              float64(m.FreeBytes),
			"min_free_bytes":          float64(m.MinFreeBytes),
			"commit_queue_length":     float64(m.CommitQueueLength),
			"commit_batches_total":    float64(m.CommitBatches),
			"mutations_total":         float64(m.Mutations),
			"mutations_refused_total": float64(m.MutationsRefused),
			"write_stalls_total":      float64(m.WriteStalls),
			"write_stalled":           stalled,
			"commit_wait_seconds":     m.CommitWait.Seconds(),
		},
		Histograms: map[string]admin.Buckets{
			"commit_duration_seconds": buckets(m.CommitSeconds),
			"commit_mutations":        buckets(m.CommitMutations),
		},
		RollUpWaits: &m.RollUpWaits,
	}
}

func buckets(h storage.Histogram) admin.Buckets { return admin.Buckets(h) }
