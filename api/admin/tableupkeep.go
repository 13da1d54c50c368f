package admin

import "time"

// certificateMetrics are absent if the public address does not speak TLS.
var certificateMetrics = []metric{
	{
		name: "shunt_certificate_expiry_timestamp_seconds", help: "Time at which the certificate of the public address expires, in Unix seconds; 0: there is none yet.",
		words: "Certificate expires", unit: Moment,
		send: certificateSender(func(c Certificate, out sender) { out.gauge(unixSeconds(c.NotAfter)) }),
	},
	{
		name: "shunt_acme_state", help: "1 for the present state of the certificate from an ACME authority, 0 for the others.",
		labels: []string{"state"}, words: "Automatic certificate (ACME)", unit: YesNo,
		values: []wording{{"waiting", "waiting for the first one"}, {"valid", "valid"}, {"failing", "the last attempt failed"}},
		send: certificateSender(func(c Certificate, out sender) {
			for state, name := range acmeStates {
				if c.ACME {
					out.gauge(oneIf(c.State == ACMEState(state)), name)
				}
			}
		}),
	},
	{
		name: "shunt_acme_failures_total", help: "Attempts to get or renew the certificate from the ACME authority that failed.",
		words: "Failed attempts to get it",
		send: certificateSender(func(c Certificate, out sender) {
			if c.ACME {
				out.counter(c.Failures)
			}
		}),
	},
	{
		name: "shunt_domain_certificate_expiry_timestamp_seconds", labels: []string{"domain"},
		help:  "Time at which the certificate of a domain expires, in Unix seconds; 0: there is none yet. The 101st domain and later ones are other, which has the first end of theirs.",
		words: "Certificate expires", unit: Moment,
		send: domainsSender(func(all []DomainCertificate, out sender) {
			for _, d := range firstDomains(all) {
				out.gauge(unixSeconds(d.NotAfter), d.Host)
			}
		}),
	},
	{
		name: "shunt_domain_certificate_failures", labels: []string{"domain"},
		help:  "Attempts to get the certificate of a domain that failed since the last one that did not. The 101st domain and later ones are other, which has the most of theirs.",
		words: "Failed attempts in a row",
		send: domainsSender(func(all []DomainCertificate, out sender) {
			for _, d := range firstDomains(all) {
				out.gauge(float64(d.Failures), d.Host)
			}
		}),
	},
}

// maxDomainLabels is how many domains have values of their own. The others are otherDomains.
const (
	maxDomainLabels = 100
	otherDomains    = "other"
)

// firstDomains returns the first domains, and for all others the worst of each figure.
func firstDomains(all []DomainCertificate) []DomainCertificate {
	if len(all) <= maxDomainLabels {
		return all
	}
	other, first := DomainCertificate{Host: otherDomains, NotAfter: all[len(all)-1].NotAfter}, make([]DomainCertificate, 0, maxDomainLabels+1)
	for _, d := range all {
		if len(first) < maxDomainLabels && d.Host != other.Host {
			first = append(first, d)
			continue
		}
		other.Failures = max(other.Failures, d.Failures)
		if d.NotAfter.Before(other.NotAfter) {
			other.NotAfter = d.NotAfter
		}
	}
	return append(first, other)
}

// acmeStates are the labels of ACMEState.
var acmeStates = [...]string{ACMEWaiting: "waiting", ACMEValid: "valid", ACMEFailing: "failing"}

// upkeepMetrics are about what an operator does: backups, the block list, the file of countries and the settings.
var upkeepMetrics = []metric{
	{
		name: "shunt_last_backup_timestamp_seconds", help: "Time of the end of the last whole backup, in Unix seconds; 0: never. It is kept over restarts.",
		words: "Last backup", unit: Moment,
		send: backupSender(func(b Backup, out sender) { out.gauge(unixSeconds(b.At)) }),
	},
	{
		name: "shunt_last_backup_duration_seconds", help: "Duration of the last whole backup; 0 if there was none since the start.",
		words: "How long it took", unit: Seconds,
		send: backupSender(func(b Backup, out sender) { out.gauge(b.Took.Seconds()) }),
	},
	{
		name: "shunt_last_backup_size_bytes", help: "Size of the last whole backup, files shared with the data included; 0 if there was none since the start.",
		words: "Its size", unit: Bytes,
		send: backupSender(func(b Backup, out sender) { out.gauge(float64(b.Bytes)) }),
	},
	{
		name: "shunt_offsite_backup_timestamp_seconds", help: "Time of the state that the newest backup in the bucket of --backup-to has, in Unix seconds; 0: none is known.",
		words: "Last backup off this machine", unit: Moment,
		send: offsiteSender(func(b Offsite, out sender) { out.gauge(unixSeconds(b.LastAt)) }),
	},
	{
		name: "shunt_offsite_backup_interval_seconds", help: "How often a backup is to be sent to the bucket (--backup-every).",
		words: "How often one is made", unit: Seconds,
		send: offsiteSender(func(b Offsite, out sender) { out.gauge(b.Every.Seconds()) }),
	},
	{
		name: "shunt_offsite_backup_duration_seconds", help: "Duration of the last good backup to the bucket; 0 if there was none since the start.",
		words: "How long it took", unit: Seconds,
		send: offsiteSender(func(b Offsite, out sender) { out.gauge(b.Took.Seconds()) }),
	},
	{
		name: "shunt_offsite_backup_sent_bytes_total", help: "Bytes of files that backups have sent to the bucket.",
		words: "Sent", unit: Bytes,
		send: offsiteSender(func(b Offsite, out sender) { out.counter(b.SentBytes) }),
	},
	{
		name: "shunt_offsite_backup_failures_total", help: "Backups to the bucket that failed.",
		words: "Failed backups",
		send:  offsiteSender(func(b Offsite, out sender) { out.counter(b.Failures) }),
	},
	{
		name: "shunt_block_list_entries", help: "Hosts and targets of the block list in force.",
		words: "Entries of the block list",
		send:  blocksSender(func(b Blocks, out sender) { out.gauge(float64(b.Entries)) }),
	},
	{
		name: "shunt_block_list_loaded_timestamp_seconds", help: "Time at which the block list in force was read, in Unix seconds.",
		words: "Block list read", unit: Moment,
		send: blocksSender(func(b Blocks, out sender) { out.gauge(unixSeconds(b.LoadedAt)) }),
	},
	{
		name: "shunt_block_list_load_duration_seconds", help: "Time that it took to read the block list in force.",
		words: "How long this took", unit: Seconds,
		send: blocksSender(func(b Blocks, out sender) { out.gauge(b.Took.Seconds()) }),
	},
	{
		name: "shunt_block_list_failing", help: "1 while the file of the block list cannot be read, so that an older list is in force.",
		words: "Its file cannot be read", unit: YesNo,
		send: blocksSender(func(b Blocks, out sender) { out.gauge(oneIf(b.Failing)) }),
	},
	{
		name: "shunt_geoip_loaded_timestamp_seconds", help: "Time at which the countries in force were read (--geoip), in Unix seconds; 0: no country is known.",
		words: "File of countries read", unit: Moment,
		send: countriesSender(func(c CountryFile, out sender) { out.gauge(unixSeconds(c.LoadedAt)) }),
	},
	{
		name: "shunt_geoip_failing", help: "1 while the file of countries (--geoip) cannot be read, so that older countries are in force, or none.",
		words: "It cannot be read", unit: YesNo,
		send: countriesSender(func(c CountryFile, out sender) { out.gauge(oneIf(c.Failing)) }),
	},
	{
		name: "shunt_last_reload_timestamp_seconds", help: "Time of the last reload of the settings that took effect, in Unix seconds; 0: none since the start.",
		words: "Settings reloaded", unit: Moment,
		send: reloadSender(func(r Reloads, out sender) { out.gauge(unixSeconds(r.LastAt)) }),
	},
	{
		name: "shunt_reload_failures_total", help: "Reloads of the settings that failed and changed nothing.",
		words: "Failed reloads of the settings",
		send:  reloadSender(func(r Reloads, out sender) { out.counter(r.Failures) }),
	},
	{
		name: "shunt_access_log_dropped_total", help: "Lines of the access log that were dropped because its file was too slow or failed.",
		words: "Dropped lines of the access log",
		send:  droppedSender(func(n uint64, out sender) { out.counter(n) }),
	},
}

// unixSeconds returns t in Unix seconds, to the millisecond; the zero time is 0.
func unixSeconds(t time.Time) float64 {
	if t.IsZero() {
		return 0
	}
	return float64(t.UnixMilli()) / 1000
}
