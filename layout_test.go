// Package shunt_test holds the direction of the dependencies: cmd → api → engine ← storage, bench →
// all.
package shunt_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"shunt/engine/expect"
)

const module = "shunt/"

// A layer says what the packages of one top-level folder may know. Tests are free: they use the
// real store.
type layer struct {
	// imports are the layers that may be imported beside the package's own.
	imports []string
	// direct must not be imported by the package itself; transitive must not be reached on any way.
	direct, transitive []string
}

const (
	fasthttp   = "github.com/valyala/fasthttp"
	pebble     = "github.com/cockroachdb/pebble/v2"
	prometheus = "github.com/prometheus/client_golang"
	cobra      = "github.com/spf13/cobra"
	minio      = "github.com/minio/minio-go"
	age        = "filippo.io/age"
	etcd       = "go.etcd.io/etcd"
)

var layers = map[string]layer{
	"engine": {transitive: []string{fasthttp, pebble, prometheus, etcd, "net/http"}},
	// Pebble itself reaches Prometheus' client, so storage is held to what it imports itself.
	"storage": {imports: []string{"engine"}, direct: []string{fasthttp, prometheus, "net/http"}},
	"api":     {imports: []string{"engine"}, transitive: []string{pebble, etcd}},
	"cmd":     {imports: []string{"engine", "storage", "api"}, direct: []string{pebble}},
	"bench":   {imports: []string{"engine", "storage", "api"}},
}

// A room is a folder that promises what it knows of ours, and which packages may use it. The rules
// of its layer hold as well. Tests are free here too.
type room struct {
	knows []string // the packages of ours that it may import
	users []string // the packages that may import it, or all below one if it ends in /; nil: those whose layer may
	never []string // packages that it must not reach on any way
}

var (
	noHTTP  = []string{fasthttp, "net/http"}
	nobody  = []string{}
	engines = []string{"engine", "engine/"}
	stores  = []string{"storage", "storage/"}
	// clusters are the rooms of several machines, and what plugs them in.
	clusters = []string{"storage/etcdlog", "storage/etcdlog/", "storage/replica", "storage/replicate", "cmd/shunt/core", "cmd/shunt/edge", "cmd/shunt/node"}

	// commands are the packages that have commands.
	commands = []string{"cmd/shunt", "cmd/shunt/cluster", "cmd/shunt/links", "cmd/shunt/serve", "cmd/shunt/upkeep", "cmd/shunt/users"}
)

// rooms has every package but those at the top of a layer.
var rooms = map[string]room{
	"engine/caps": {knows: []string{"engine/index"}, users: []string{"engine", "engine/hit", "engine/link"}},
	"engine/hit": {
		knows: []string{
			"engine/caps", "engine/index", "engine/internal/clock", "engine/internal/cores", "engine/internal/errs", "engine/internal/seams",
			"engine/internal/settings", "engine/invalid", "engine/journal", "engine/plural", "engine/seen", "engine/tally",
			"engine/zone",
		},
		users: []string{"engine"},
	},
	"engine/link": {
		knows: []string{
			"engine/caps", "engine/daily", "engine/extras", "engine/index", "engine/internal/clock", "engine/internal/cores",
			"engine/internal/errs", "engine/internal/limits", "engine/internal/settings", "engine/invalid", "engine/search", "engine/texts",
		},
		users: []string{"engine"},
	},
	"engine/daily":  {},
	"engine/expect": {users: []string{"storage/storetest"}},
	"engine/extras": {knows: []string{"engine/internal/limits", "engine/tally"}},
	"engine/index": {knows: []string{
		"engine/internal/ascii", "engine/internal/hash", "engine/internal/invariants", "engine/internal/limits", "engine/internal/mmap",
		"engine/internal/symbols", "engine/invalid",
	}},
	"engine/internal/ascii":      {users: engines},
	"engine/internal/clock":      {knows: []string{"engine/internal/settings", "engine/seen"}, users: engines},
	"engine/internal/cores":      {users: []string{"engine", "engine/hit", "engine/link"}},
	"engine/internal/errs":       {users: engines},
	"engine/internal/hash":       {users: engines},
	"engine/internal/invariants": {users: engines},
	"engine/internal/limits":     {users: engines},
	"engine/internal/mmap":       {users: []string{"engine/index", "engine/journal"}},
	"engine/internal/seams":      {knows: []string{"engine/journal"}, users: []string{"engine/hit"}},
	"engine/internal/settings":   {knows: []string{"engine/journal"}, users: engines},
	"engine/internal/symbols":    {users: engines},
	"engine/invalid":             {},
	"engine/journal":             {knows: []string{"engine/internal/hash", "engine/internal/mmap", "engine/plural", "engine/tally"}},
	"engine/plural":              {},
	"engine/search":              {},
	"engine/seen":                {users: []string{"engine", "engine/hit", "engine/internal/clock"}},
	"engine/tally":               {knows: []string{"engine/internal/hash"}},
	"engine/texts":               {},
	"engine/zone":                {},
	"engine/target":              {knows: []string{"engine/internal/ascii", "engine/internal/limits", "engine/invalid"}},

	"storage/clusterlog": {users: clusters, never: []string{pebble, etcd}},
	"storage/disk":       {knows: []string{"storage/row"}, users: stores, never: []string{etcd}},
	"storage/tables":     {knows: []string{"engine", "storage/audit", "storage/check", "storage/kv", "storage/row"}, users: stores, never: []string{etcd}},
	"storage/audit":      {knows: []string{"engine", "storage/check", "storage/kv", "storage/row"}, users: stores, never: []string{etcd}},
	"storage/hits":       {knows: []string{"engine", "engine/daily", "engine/plural", "engine/zone", "storage/check", "storage/kv", "storage/row"}, users: stores, never: []string{etcd}},
	"storage/links":      {knows: []string{"engine", "engine/daily", "engine/extras", "engine/search", "storage/audit", "storage/check", "storage/hits", "storage/kv", "storage/row"}, users: stores, never: []string{etcd}},
	"storage/check":      {knows: []string{"engine", "storage/disk", "storage/kv", "storage/row"}, users: stores, never: []string{etcd}},
	"storage/kv":         {knows: []string{"engine", "storage/disk", "storage/row"}, users: stores, never: []string{etcd}},
	"storage/replica":    {knows: []string{"storage/clusterlog", "storage/replicate"}, users: []string{"cmd/shunt/edge", "cmd/shunt/node"}, never: []string{etcd}},
	"storage/replicate": {
		knows: []string{
			"engine", "storage", "storage/audit", "storage/check", "storage/clusterlog", "storage/disk", "storage/hits", "storage/kv", "storage/links",
			"storage/row",
		},
		users: []string{"storage/replica", "cmd/shunt/core", "cmd/shunt/edge", "cmd/shunt/node"}, never: []string{etcd},
	},
	"storage/crashtest":        {users: nobody},
	"storage/etcdlog":          {knows: []string{"storage/clusterlog"}, users: []string{"cmd/shunt/node"}, never: []string{pebble}},
	"storage/etcdlog/etcdtest": {users: nobody},
	"storage/row":              {knows: []string{"engine", "engine/daily", "engine/extras", "engine/search", "engine/texts"}, users: []string{"storage", "storage/"}, never: []string{pebble}},
	"storage/row/rowtest":      {knows: []string{"engine"}, users: []string{"storage/storetest"}, never: []string{pebble}},
	"storage/storetest":        {knows: []string{"engine", "engine/expect", "storage/row", "storage/row/rowtest"}, users: nobody, never: []string{etcd}},

	"api/absent":    {knows: []string{"api/rate", "engine"}, users: []string{"api", "cmd/shunt/edge", "cmd/shunt/node"}, never: noHTTP},
	"api/accesslog": {knows: []string{"api/jsontext"}, never: noHTTP},
	"api/cluster":   {knows: []string{"api/problem", "api/relay", "engine"}, users: []string{"api", "cmd/shunt/node"}},
	"api/account":   {knows: []string{"engine", "api/password", "api/table", "api/turnstile"}, never: noHTTP},
	"api/admin":     {knows: []string{"engine", "engine/plural", "api/problem"}},
	"api/auth": {
		knows: []string{"api/account", "api/exchange", "api/failures", "api/jsonbody", "api/limit", "api/problem", "api/relay", "api/turnstile", "api/wire/conns", "api/wire/http1"},
		users: []string{"api", "api/links", "api/public", "cmd/shunt/serve"},
	},
	"api/blocklist":   {knows: []string{"engine", "api/admin"}},
	"api/brand":       {never: noHTTP},
	"api/domain":      {knows: []string{"engine", "api/account", "api/table"}, never: noHTTP},
	"api/domains":     {knows: []string{"api/account", "api/domain", "api/exchange", "api/jsonbody", "api/ops", "api/problem", "engine"}, users: []string{"api", "api/dashboard/domains", "api/dashboard/visit", "api/doors/", "cmd/shunt/orders", "cmd/shunt/serve"}},
	"api/folder":      {knows: []string{"api/account", "api/table", "engine"}, never: noHTTP},
	"api/folders":     {knows: []string{"api/account", "api/exchange", "api/folder", "api/jsonbody", "api/ops", "api/problem", "engine"}, users: []string{"api", "api/dashboard/folders", "api/dashboard/visit"}},
	"api/card":        {knows: []string{"api/jsonbody", "api/jsontext", "engine"}, users: []string{"api/ops", "api/public"}, never: noHTTP},
	"api/days":        {knows: []string{"api/jsonbody", "engine", "engine/daily"}, users: []string{"api/ops"}, never: noHTTP},
	"api/certificate": {knows: []string{"engine", "api/table"}, users: []string{"cmd/shunt/core", "cmd/shunt/edge", "cmd/shunt/node", "cmd/shunt/orders", "cmd/shunt/serve"}},
	"api/table":       {knows: []string{"engine"}, users: []string{"api/account", "api/certificate", "api/domain", "api/folder", "api/table/tabletest"}, never: noHTTP},
	"api/changes":     {never: noHTTP},
	"api/choice":      {knows: []string{"engine", "engine/extras"}, users: []string{"api/redirect"}, never: noHTTP},
	"api/chart":       {never: noHTTP},
	"api/client":      {}, // see alone
	"api/dashboard": {
		knows: []string{"api/account", "api/admin", "api/changes", "api/chart", "api/dashboard/apps", "api/dashboard/checks", "api/dashboard/domains", "api/dashboard/fieldtext", "api/dashboard/find", "api/dashboard/folders", "api/dashboard/glance", "api/dashboard/mark", "api/dashboard/palette", "api/dashboard/qr", "api/dashboard/several", "api/dashboard/shares", "api/dashboard/span", "api/dashboard/targets", "api/dashboard/undo", "api/dashboard/visit", "api/edges", "api/folder", "api/jsonbody", "api/ops", "api/page", "api/problem", "api/qrcode", "api/qrorder", "api/sheet", "api/source", "api/tagtext", "api/turnstile", "api/when", "api/words", "engine", "engine/texts", "engine/zone"},
		users: []string{"api"},
	},
	"api/dashboard/shares":  {knows: []string{"engine", "api/chart", "api/naming", "api/ops", "api/worldmap"}, users: []string{"api/dashboard"}, never: noHTTP},
	"api/dashboard/targets": {knows: []string{"api/ops", "api/rules", "api/ruletext"}, users: []string{"api/dashboard"}},
	"api/dashboard/span":    {knows: []string{"engine/zone"}, users: []string{"api/dashboard"}, never: noHTTP},
	"api/dashboard/undo": {
		knows: []string{"api/dashboard/find", "api/dashboard/visit", "api/jsonbody", "api/ops", "api/problem", "engine"}, users: []string{"api/dashboard"},
	},
	"api/dashboard/fieldtext": {knows: []string{"api/ops", "api/tagtext", "engine"}, users: []string{"api/dashboard"}},
	"api/dashboard/several":   {knows: []string{"api/dashboard/find", "api/dashboard/visit", "api/ops", "api/problem", "engine"}, users: []string{"api/dashboard"}},
	"api/dashboard/apps":      {knows: []string{"api/account", "api/dashboard/visit"}, users: []string{"api/dashboard"}},
	"api/dashboard/domains":   {knows: []string{"api/dashboard/visit", "api/domain", "api/domains", "api/jsonbody"}, users: []string{"api/dashboard"}},
	"api/dashboard/folders":   {knows: []string{"api/account", "api/dashboard/visit", "api/folder", "api/folders", "api/jsonbody"}, users: []string{"api/dashboard"}},
	"api/dashboard/palette":   {knows: []string{"api/dashboard/visit", "api/ops"}, users: []string{"api/dashboard"}},
	"api/dashboard/find":      {knows: []string{"api/dashboard/visit"}, users: []string{"api/dashboard", "api/dashboard/checks", "api/dashboard/several", "api/dashboard/undo"}},
	"api/dashboard/checks":    {knows: []string{"api/dashboard/find", "api/dashboard/visit", "api/fetch"}, users: []string{"api/dashboard"}},
	"api/dashboard/qr":        {knows: []string{"api/account", "api/dashboard/visit", "api/jsonbody", "api/ops", "api/qrcode", "api/qrorder", "engine"}, users: []string{"api/dashboard"}},
	"api/dashboard/glance":    {knows: nobody, users: []string{"api/dashboard"}, never: noHTTP},
	"api/dashboard/mark":      {users: []string{"api/dashboard"}, never: noHTTP},
	"api/dashboard/visit": {
		knows: []string{"api/account", "api/admin", "api/chart", "api/dashboard/icon", "api/domains", "api/edges", "api/fetch", "api/folder", "api/folders", "api/ops", "api/page", "api/problem", "api/words", "api/worldmap", "engine", "engine/texts", "engine/zone"},
		users: []string{"api/dashboard", "api/dashboard/apps", "api/dashboard/checks", "api/dashboard/domains", "api/dashboard/find", "api/dashboard/folders", "api/dashboard/palette", "api/dashboard/qr", "api/dashboard/several", "api/dashboard/undo"},
	},
	"api/dashboard/icon": {knows: nobody, users: []string{"api/dashboard/visit"}, never: noHTTP},
	"api/edges":          {knows: nobody, users: []string{"api", "api/dashboard", "api/dashboard/visit", "cmd/shunt/edge"}, never: noHTTP},
	"api/docs":           {knows: []string{"api/page", "api/problem", "api/visitor", "api/words"}, never: noHTTP},
	"api/doors":          {knows: []string{"api/doors/door", "api/doors/kutt", "api/doors/polr", "api/doors/shlink", "api/doors/yourls"}, users: []string{"api", "cmd/shunt/serve"}},
	"api/doors/door": {
		knows: []string{"api/account", "api/domains", "api/exchange", "api/form", "api/jsonbody", "api/jsontext", "api/ops", "api/problem", "engine"},
		users: []string{"api", "api/doors", "api/doors/"},
	},
	"api/doors/shlink": {
		knows: []string{
			"api/account", "api/domain", "api/doors/door", "api/exchange", "api/jsonbody", "api/jsontext", "api/ops", "api/problem", "api/rules", "api/when",
			"engine", "engine/extras",
		},
		users: []string{"api/doors"},
	},
	"api/doors/kutt":     {knows: []string{"api/account", "api/doors/door", "api/exchange", "api/form", "api/jsonbody", "api/jsontext", "api/ops", "api/problem", "engine"}, users: []string{"api/doors"}},
	"api/doors/polr":     {knows: []string{"api/account", "api/doors/door", "api/exchange", "api/ops", "api/problem"}, users: []string{"api/doors"}},
	"api/doors/yourls":   {knows: []string{"api/account", "api/doors/door", "api/exchange", "api/jsontext", "api/ops", "api/problem", "engine"}, users: []string{"api/doors"}},
	"api/exchange":       {knows: []string{"engine", "api/account", "api/admin", "api/jsonbody", "api/ops", "api/problem"}, users: []string{"api", "api/auth", "api/domains", "api/doors/", "api/fetch", "api/folders", "api/links", "api/public"}},
	"api/fetch":          {knows: []string{"api/account", "api/exchange", "api/jsonbody", "api/ops", "api/picture", "api/problem", "api/rate", "engine", "engine/texts"}, users: []string{"api", "api/dashboard/checks", "api/dashboard/visit", "cmd/shunt/serve"}},
	"api/form":           {knows: []string{"api/jsonbody", "api/jsontext", "api/problem", "api/tagtext"}, users: []string{"api/doors/", "api/links"}, never: noHTTP},
	"api/failures":       {knows: []string{"api/rate"}, never: noHTTP},
	"api/jsonbody":       {knows: []string{"engine", "api/problem", "api/when"}, never: noHTTP},
	"api/internal/seams": {users: []string{"api/password"}, never: noHTTP},
	"api/jsontext":       {never: noHTTP},
	"api/limit":          {knows: []string{"api/rate"}, never: noHTTP},
	"api/links": {
		knows: []string{"engine", "api/account", "api/auth", "api/exchange", "api/form", "api/ops", "api/page", "api/problem", "api/qrcode", "api/qrorder", "api/sheet", "api/turnstile", "api/wire", "api/wire/http1"},
		users: []string{"api"},
	},
	"api/ops":      {knows: []string{"api/account", "api/card", "api/days", "api/domain", "api/folder", "api/jsonbody", "api/jsontext", "api/password", "api/problem", "api/qrorder", "api/rules", "api/sheet", "api/turnstile", "api/when", "engine", "engine/daily", "engine/index", "engine/search", "engine/texts", "engine/zone"}, never: noHTTP},
	"api/naming":   {users: []string{"api/dashboard/shares"}, never: noHTTP},
	"api/page":     {knows: []string{"api/brand", "api/problem", "api/redirect", "api/words"}, never: noHTTP},
	"api/preview":  {knows: []string{"api/page", "api/redirect"}, never: noHTTP},
	"api/lock":     {knows: []string{"engine"}, users: []string{"api", "api/public", "api/redirect", "cmd/shunt/edge", "cmd/shunt/node"}, never: noHTTP},
	"api/password": {knows: []string{"api/internal/seams", "api/turnstile"}, users: []string{"api", "api/account", "api/ops", "api/public"}, never: noHTTP},
	"api/problem":  {knows: []string{"api/account", "api/domain", "api/folder", "api/jsontext", "api/shed", "api/turnstile", "engine"}, never: noHTTP},
	"api/public": {
		knows: []string{"api/account", "api/auth", "api/brand", "api/card", "api/docs", "api/domain", "api/exchange", "api/jsonbody", "api/limit", "api/lock", "api/page", "api/password", "api/preview", "api/problem", "api/qrorder", "api/redirect", "api/turnstile", "api/urlpath", "api/wire/http1", "api/words", "engine", "engine/extras"},
		users: []string{"api", "cmd/shunt/orders", "cmd/shunt/serve"},
	},
	"api/picture":         {knows: nobody, never: noHTTP},
	"api/qrcode":          {knows: []string{"api/picture"}, users: []string{"api/dashboard/qr", "api/links", "api/qrorder", "cmd/shunt/links"}, never: noHTTP},
	"api/qrorder":         {knows: []string{"api/jsonbody", "api/qrcode", "api/redirect", "engine"}, never: noHTTP},
	"api/rate":            {never: noHTTP},
	"api/redirect":        {knows: []string{"engine", "engine/extras", "engine/index", "api/choice", "api/lock", "api/turnstile", "api/visitor"}, never: noHTTP},
	"api/relay":           {knows: []string{"api/problem"}, users: []string{"api", "api/auth", "api/cluster"}},
	"api/rules":           {knows: []string{"api/jsonbody", "api/jsontext", "api/when", "engine", "engine/extras"}, users: []string{"api/dashboard/targets", "api/doors/shlink", "api/ops"}, never: noHTTP},
	"api/ruletext":        {knows: []string{"api/client"}},
	"api/shed":            {never: noHTTP},
	"api/sheet":           {knows: []string{"api/tagtext", "api/when", "engine/texts"}, never: noHTTP},
	"api/source":          {knows: []string{"api/jsontext", "api/sheet", "api/when", "engine/daily", "engine/plural", "engine/texts"}, never: noHTTP},
	"api/tagtext":         {never: noHTTP},
	"api/turnstile":       {knows: []string{"engine"}, never: noHTTP},
	"api/urlpath":         {knows: []string{"engine"}, never: noHTTP},
	"api/visitor":         {knows: []string{"engine"}, never: noHTTP},
	"api/when":            {never: noHTTP},
	"api/wire":            {knows: []string{"api/problem", "api/turnstile", "api/wire/conns", "api/wire/http1", "api/wire/loop"}},
	"api/wire/conns":      {knows: []string{"api/turnstile", "api/wire/http1"}},
	"api/wire/http1":      {knows: []string{"api/problem", "api/turnstile"}},
	"api/wire/loop":       {knows: []string{"api/wire/conns", "api/wire/http1"}, users: []string{"api", "api/wire"}},
	"api/wiretest":        {users: nobody},
	"api/table/tabletest": {knows: []string{"engine", "api/table"}, users: nobody},
	"api/words":           {knows: nobody, users: []string{"api", "api/page", "api/public", "api/dashboard", "api/dashboard/visit", "api/docs", "cmd/shunt/serve"}, never: noHTTP},
	"api/worldmap":        {never: noHTTP},
	// a program that writes a file of worldmap
	"api/worldmap/make": {users: nobody, never: noHTTP},

	"bench/compare":      {knows: []string{"bench/compare/load"}, users: nobody},
	"bench/compare/load": {users: []string{"bench/compare"}},

	"cmd/shunt/activation":     {never: []string{cobra}},
	"cmd/shunt/backups":        {knows: []string{"storage"}, never: []string{cobra}},
	"cmd/shunt/browser":        {users: nobody},
	"cmd/shunt/certs":          {knows: []string{"cmd/shunt/settings"}},
	"cmd/shunt/certs/certtest": {users: nobody},
	"cmd/shunt/porttest":       {users: nobody},
	"cmd/shunt/cluster": {
		knows: []string{"api", "cmd/shunt/console", "cmd/shunt/core", "cmd/shunt/node", "cmd/shunt/serve", "cmd/shunt/settings", "cmd/shunt/upkeep", "cmd/shunt/usage", "engine/plural", "storage"},
		users: []string{"cmd/shunt"},
	},
	"cmd/shunt/console": {knows: []string{"engine/plural"}, never: []string{cobra}},
	"cmd/shunt/core": {
		knows: []string{"api", "api/account", "api/admin", "api/certificate", "api/domain", "api/folder", "cmd/shunt/backups", "cmd/shunt/console", "cmd/shunt/identity", "cmd/shunt/settings", "cmd/shunt/usage", "cmd/shunt/version", "engine", "engine/plural", "storage", "storage/replicate"},
		users: append([]string{"cmd/shunt/edge", "cmd/shunt/reach"}, commands...),
	},
	"cmd/shunt/e2e": {users: nobody},
	"cmd/shunt/edge": {
		knows: []string{"api", "api/absent", "api/account", "api/admin", "api/certificate", "api/domain", "api/edges", "api/folder", "api/lock", "api/problem", "cmd/shunt/core", "cmd/shunt/settings", "cmd/shunt/version", "engine", "storage", "storage/clusterlog", "storage/replica", "storage/replicate"},
		users: []string{"cmd/shunt/serve"}, never: []string{etcd},
	},
	"cmd/shunt/httpclients":    {users: nobody},
	"cmd/shunt/identity":       {never: []string{cobra}},
	"cmd/shunt/node":           {knows: []string{"api/absent", "api/account", "api/admin", "api/certificate", "api/cluster", "api/domain", "api/folder", "api/lock", "api/problem", "cmd/shunt/certs", "cmd/shunt/settings", "engine", "engine/plural", "storage", "storage/clusterlog", "storage/etcdlog", "storage/replica", "storage/replicate"}, users: []string{"cmd/shunt/cluster"}},
	"cmd/shunt/importer":       {knows: []string{"api/client", "api/source", "cmd/shunt/console", "engine/plural"}, never: []string{cobra}},
	"cmd/shunt/linkflags":      {knows: []string{"api/client", "api/ruletext", "api/tagtext", "cmd/shunt/console", "cmd/shunt/settings"}, never: []string{cobra}},
	"cmd/shunt/offsite":        {knows: []string{"cmd/shunt/backups", "cmd/shunt/console", "cmd/shunt/settings", "engine"}, users: []string{"cmd/shunt/serve", "cmd/shunt/upkeep"}, never: []string{cobra}},
	"cmd/shunt/offsite/s3test": {users: nobody},
	"cmd/shunt/links": {
		knows: []string{"api/changes", "api/client", "api/qrcode", "api/qrorder", "api/sheet", "api/source", "api/tagtext", "cmd/shunt/console", "cmd/shunt/core", "cmd/shunt/importer", "cmd/shunt/linkflags", "cmd/shunt/reach", "cmd/shunt/settings", "cmd/shunt/shlink", "cmd/shunt/usage", "cmd/shunt/users", "cmd/shunt/version", "engine", "engine/plural"},
		users: []string{"cmd/shunt"},
	},
	"cmd/shunt/memory": {knows: []string{"storage"}, never: []string{cobra}},
	"cmd/shunt/orders": {knows: []string{"api/admin", "api/certificate", "api/domain", "api/domains", "api/public", "cmd/shunt/certs", "engine"}, users: []string{"cmd/shunt/serve"}},
	"cmd/shunt/notify": {never: []string{cobra}},
	"cmd/shunt/reach": {
		knows: []string{"api", "api/client", "cmd/shunt/console", "cmd/shunt/core", "cmd/shunt/settings", "cmd/shunt/socket", "cmd/shunt/usage", "cmd/shunt/version", "engine", "storage"},
		users: commands,
	},
	"cmd/shunt/serve": {
		knows: []string{"api", "api/accesslog", "api/account", "api/admin", "api/auth", "api/blocklist", "api/brand", "api/certificate", "api/domain", "api/domains", "api/doors", "api/fetch", "api/folder", "api/limit", "api/public", "api/rate", "api/visitor", "api/wire", "api/words", "cmd/shunt/activation", "cmd/shunt/certs", "cmd/shunt/console", "cmd/shunt/core", "cmd/shunt/edge", "cmd/shunt/memory", "cmd/shunt/notify", "cmd/shunt/offsite", "cmd/shunt/orders", "cmd/shunt/settings", "cmd/shunt/socket", "cmd/shunt/usage", "cmd/shunt/version", "engine", "engine/zone", "storage"},
		users: []string{"cmd/shunt", "cmd/shunt/cluster"},
	},
	"cmd/shunt/shlink":   {knows: []string{"cmd/shunt/console"}, users: []string{"cmd/shunt/links"}, never: []string{cobra}},
	"cmd/shunt/settings": {knows: []string{"api/when", "engine/plural"}, never: []string{cobra}},
	"cmd/shunt/socket":   {never: []string{cobra}},
	"cmd/shunt/upkeep": {
		knows: []string{"api", "cmd/shunt/backups", "cmd/shunt/console", "cmd/shunt/core", "cmd/shunt/identity", "cmd/shunt/offsite", "cmd/shunt/reach", "cmd/shunt/settings", "cmd/shunt/usage", "cmd/shunt/version", "engine", "engine/plural", "storage"},
		users: []string{"cmd/shunt", "cmd/shunt/cluster"},
	},
	"cmd/shunt/usage": {knows: []string{"cmd/shunt/settings"}},
	"cmd/shunt/users": {
		knows: []string{"api/client", "cmd/shunt/console", "cmd/shunt/reach", "cmd/shunt/settings", "cmd/shunt/usage"},
		users: []string{"cmd/shunt", "cmd/shunt/links"},
	},
	"cmd/shunt/version": {never: []string{cobra}},
}

// tops are the packages at the top of the layers. They tie their rooms together, and no room
// imports one of another layer than its own, except for engine.
var tops = []string{"engine", "storage", "api", "cmd/shunt", "bench"}

// alone are packages that may import the standard library only, because other people's programs
// import them, and would depend on all that they import.
var alone = []string{module + "api/client"}

// soleUsers has the rooms that alone import a module of others.
var soleUsers = map[string]string{etcd: "storage/etcdlog", minio: "cmd/shunt/offsite", age: "cmd/shunt/offsite"}

// pkg is what go list tells of a package.
type pkg struct {
	ImportPath string
	Imports    []string
	Deps       []string
}

func TestDependenciesPointOneWay(t *testing.T) {
	sources(t, ".go") // looks at every file, so that go test does not take its cached result after a change
	for _, tags := range []string{"", "shuntinvariants", "race", "nocluster"} {
		for _, violation := range violations(listPackages(t, tags)) {
			t.Errorf("with -tags %q: %s", tags, violation)
		}
	}
}

// Only cmd knows the log of a cluster, its nodes and etcd. The layers below offer hooks, into which cmd plugs them.
// Some hooks are rooms that know of several machines: each layer reaches those that are named here, and no other.
func TestOnlyTheProgramKnowsNodesAndTheirLog(t *testing.T) {
	hooks := map[string][]string{
		"engine":  {"engine/caps"},                                                        // who decides a link with a cap
		"storage": {"engine/caps"},                                                        // by way of the engine; its own hook is storage.Options.Replicate
		"api":     {"api/absent", "api/cluster", "api/edges", "api/relay", "engine/caps"}, // calls between machines
	}
	several := []string{etcd, "google.golang.org/grpc", module + "storage/clusterlog"}
	for _, room := range slices.Concat(clusters, hooks["api"]) {
		several = append(several, module+strings.TrimSuffix(room, "/"))
	}
	for _, p := range listPackages(t, "") {
		if offered, ok := hooks[strings.TrimPrefix(p.ImportPath, module)]; ok {
			var known []string
			for _, room := range p.Deps {
				if len(reached("", "", []string{room}, several)) > 0 {
					known = append(known, strings.TrimPrefix(room, module))
				}
			}
			slices.Sort(known)
			expect.Slices(t, known, offered, p.ImportPath)
		}
	}
}

func listPackages(t *testing.T, tags string) []pkg {
	t.Helper()
	list := exec.Command("go", "list", "-tags", tags, "-json=ImportPath,Imports,Deps", "./...")
	var stderr bytes.Buffer
	list.Stderr = &stderr
	out, err := list.Output()
	expect.MustThat(t, err == nil, "go list: %v\n%s", err, &stderr)
	var packages []pkg
	for d := json.NewDecoder(bytes.NewReader(out)); ; {
		p := pkg{}
		if err := d.Decode(&p); errors.Is(err, io.EOF) {
			return packages
		} else if err != nil {
			t.Fatalf("go list: %v", err)
		}
		packages = append(packages, p)
	}
}

// The tag nocluster leaves out what only a node of a cluster needs: an edge of a writer follows by storage/replica,
// too. It is for machines to which etcd's client is too much, and it shows that nobody but cmd/shunt/cluster knows of
// a node.
func TestAProgramWithoutTheClusterHasNeitherEtcdNorGRPC(t *testing.T) {
	sources(t, ".go")
	const program = module + "cmd/shunt"
	out, err := exec.Command("go", "list", "-tags", "nocluster", "-export", "./cmd/shunt").CombinedOutput()
	expect.MustThat(t, err == nil, "it does not compile: %v\n%s", err, out)
	left := []string{"go.etcd.io", "google.golang.org/grpc", program + "/cluster", program + "/node", module + "storage/etcdlog"}
	for tags, wanted := range map[string]bool{"nocluster": false, "": true} {
		packages := listPackages(t, tags)
		i := slices.IndexFunc(packages, func(p pkg) bool { return p.ImportPath == program })
		found := reached(program, "depends on", packages[i].Deps, left)
		expect.Equal(t, len(found) > 0, wanted, "with -tags %q: got %q", tags, found)
	}
}

func violations(packages []pkg) []string {
	var found []string
	for _, p := range packages {
		own := folder(p.ImportPath)
		if own == "" {
			continue // the folder of this test
		}
		l, known := layers[own]
		if !known {
			found = append(found, fmt.Sprintf("%s is in no known layer", p.ImportPath))
			continue
		}
		for _, i := range p.Imports {
			if to := folder(i); to != "" && to != own && !slices.Contains(l.imports, to) {
				found = append(found, fmt.Sprintf("%s imports %s", p.ImportPath, i))
			}
		}
		found = append(found, strayed(p)...)
		found = append(found, reached(p.ImportPath, "imports", p.Imports, l.direct)...)
		found = append(found, reached(p.ImportPath, "depends on", p.Deps, l.transitive)...)
		if slices.Contains(alone, p.ImportPath) {
			found = append(found, company(p)...)
		}
	}
	return found
}

// strayed returns a violation for each import by which p, or a room that it imports, breaks what a
// room promises.
func strayed(p pkg) (found []string) {
	own := strings.TrimPrefix(p.ImportPath, module)
	promise, isRoom := rooms[own]
	if !isRoom && !slices.Contains(tops, own) {
		found = append(found, p.ImportPath+" is not in the table of rooms")
	}
	for _, i := range p.Imports {
		to, ours := strings.CutPrefix(i, module)
		users := rooms[to].users
		unknown := isRoom && ours && !slices.Contains(promise.knows, to)
		wrongLayer := folder(i) != folder(p.ImportPath) && !slices.Contains(layers[folder(p.ImportPath)].imports, folder(i))
		if unknown && !wrongLayer || ours && users != nil && !slices.ContainsFunc(users, p.is) {
			found = append(found, fmt.Sprintf("%s imports %s", p.ImportPath, i))
		}
	}
	for theirs, user := range soleUsers {
		if !p.is(user) && !p.is(user+"/") {
			found = append(found, reached(p.ImportPath, "imports", p.Imports, []string{theirs})...)
		}
	}
	return append(found, reached(p.ImportPath, "depends on", p.Deps, promise.never)...)
}

// is reports whether p is the package named, or below it if the name ends in /.
func (p pkg) is(name string) bool {
	path := strings.TrimPrefix(p.ImportPath, module)
	return path == name || strings.HasSuffix(name, "/") && strings.HasPrefix(path, name)
}

// company returns a violation for each package that p needs and that is not of the standard
// library, in which the first folder of a path has no dot.
func company(p pkg) (found []string) {
	for _, dep := range p.Deps {
		if first, _, _ := strings.Cut(dep, "/"); folder(dep) != "" || strings.Contains(first, ".") {
			found = append(found, fmt.Sprintf("%s depends on %s", p.ImportPath, dep))
		}
	}
	return found
}

// folder returns the top-level folder of one of our packages, "" of any other.
func folder(importPath string) string {
	path, ours := strings.CutPrefix(importPath, module)
	if !ours {
		return ""
	}
	first, _, _ := strings.Cut(path, "/")
	return first
}

func reached(importPath, verb string, packages, forbidden []string) []string {
	var found []string
	for _, p := range packages {
		for _, f := range forbidden {
			if p == f || strings.HasPrefix(p, f+"/") {
				found = append(found, fmt.Sprintf("%s %s %s", importPath, verb, p))
			}
		}
	}
	return found
}

func TestEachForbiddenDependencyIsFound(t *testing.T) {
	for name, p := range map[string]pkg{
		"engine reaches fasthttp through another package": {ImportPath: "shunt/engine", Deps: []string{fasthttp + "/fasthttputil"}},
		"engine reaches Pebble":                           {ImportPath: "shunt/engine", Deps: []string{pebble}},
		"engine reaches Prometheus":                       {ImportPath: "shunt/engine", Deps: []string{prometheus + "/prometheus"}},
		"engine imports storage":                          {ImportPath: "shunt/engine", Imports: []string{"shunt/storage"}},
		"api imports storage":                             {ImportPath: "shunt/api", Imports: []string{"shunt/storage"}},
		"a package under api imports storage":             {ImportPath: "shunt/api/account", Imports: []string{"shunt/storage"}},
		"storage imports api":                             {ImportPath: "shunt/storage", Imports: []string{"shunt/api"}},
		"storage imports Prometheus":                      {ImportPath: "shunt/storage", Imports: []string{prometheus + "/prometheus"}},
		"cmd imports bench":                               {ImportPath: "shunt/cmd/shunt", Imports: []string{"shunt/bench"}},
		"the client imports the accounts":                 {ImportPath: "shunt/api/client", Deps: []string{"net/http", "shunt/api/account"}},
		"the client reaches a module of others":           {ImportPath: "shunt/api/client", Deps: []string{"vendor/golang.org/x/net/idna", "golang.org/x/net/idna"}},
		"a row reaches storage":                           {ImportPath: "shunt/storage/row", Imports: []string{"shunt/storage"}},
		"a row reaches Pebble":                            {ImportPath: "shunt/storage/row", Deps: []string{pebble}},
		"cmd imports rows":                                {ImportPath: "shunt/cmd/shunt", Imports: []string{"shunt/storage/row"}},
		"storage imports the model of its tests":          {ImportPath: "shunt/storage", Imports: []string{"shunt/storage/row/rowtest"}},
		"bench imports the crash tests":                   {ImportPath: "shunt/bench", Imports: []string{"shunt/storage/crashtest"}},
		"connections know accounts":                       {ImportPath: "shunt/api/wire", Imports: []string{"shunt/api/problem", "shunt/api/account"}},
		"the hot path reaches fasthttp":                   {ImportPath: "shunt/api/redirect", Deps: []string{"shunt/api/visitor", fasthttp}},
		"what a request says knows the hot path":          {ImportPath: "shunt/api/visitor", Imports: []string{"shunt/engine", "shunt/api/redirect"}},
		"the index imports the engine":                    {ImportPath: "shunt/engine/index", Imports: []string{"shunt/engine"}},
		"targets import the index":                        {ImportPath: "shunt/engine/target", Imports: []string{"shunt/engine/index"}},
		"targets import the hash":                         {ImportPath: "shunt/engine/target", Imports: []string{"shunt/engine/internal/hash"}},
		"mapped memory imports the hash":                  {ImportPath: "shunt/engine/internal/mmap", Imports: []string{"shunt/engine/internal/hash"}},
		"the journal imports the engine":                  {ImportPath: "shunt/engine/journal", Imports: []string{"shunt/engine"}},
		"the journal imports the index":                   {ImportPath: "shunt/engine/journal", Imports: []string{"shunt/engine/index"}},
		"links import hits":                               {ImportPath: "shunt/engine/link", Imports: []string{"shunt/engine/hit"}},
		"hits import links":                               {ImportPath: "shunt/engine/hit", Imports: []string{"shunt/engine/link"}},
		"tallies import the journal":                      {ImportPath: "shunt/engine/tally", Imports: []string{"shunt/engine/journal"}},
		"tallies map memory":                              {ImportPath: "shunt/engine/tally", Imports: []string{"shunt/engine/internal/mmap"}},
		"storage imports the inside of the engine":        {ImportPath: "shunt/storage", Imports: []string{"shunt/engine/internal/limits"}},
		"the server knows what a node is":                 {ImportPath: "shunt/cmd/shunt/serve", Imports: []string{"shunt/cmd/shunt/node"}},
		"a command knows the server":                      {ImportPath: "shunt/cmd/shunt/links", Imports: []string{"shunt/cmd/shunt/serve"}},
		"a command about links opens a store":             {ImportPath: "shunt/cmd/shunt/links", Imports: []string{"shunt/storage"}},
		"the program imports etcd's client":               {ImportPath: "shunt/cmd/shunt", Imports: []string{etcd + "/client/v3"}},
		"the cluster's log reaches etcd":                  {ImportPath: "shunt/storage/clusterlog", Deps: []string{etcd + "/api/v3/etcdserverpb"}},
		"storage imports the cluster tests":               {ImportPath: "shunt/storage", Imports: []string{"shunt/storage/etcdlog/etcdtest"}},
		"a room that the table does not have":             {ImportPath: "shunt/api/helpers"},
		"a folder that the design does not know":          {ImportPath: "shunt/util"},
	} {
		t.Run(name, func(t *testing.T) {
			found := violations([]pkg{p})
			expect.Equal(t, len(found), 1, "got %q", found)
		})
	}
}

// ARCHITECTURE.md names files, and RELIABILITY.md the tests that hold the invariants; all must be there.

const (
	maxArchitecture = 15 << 10 // bytes: what a newcomer reads before the first change
	maxReadme       = 10 << 10 // bytes
	maxChangelog    = 100      // lines
	maxTargets      = 15       // of make, which its help lists
	maxColumns      = 120
)

var (
	namedTest = regexp.MustCompile("`((?:Test|Fuzz|Benchmark)[A-Za-z0-9_]+)`")
	namedFile = regexp.MustCompile("`([a-z]+/[a-z_/]+\\.go)`")
	testFunc  = regexp.MustCompile(`(?m)^func ((?:Test|Fuzz|Benchmark)[A-Za-z0-9_]+)\(`)
	promise   = regexp.MustCompile(`(?m)^(\d+)\. `)
	held      = regexp.MustCompile("(?m)^\\| (\\d+) \\| .*`Test")
)

func TestArchitectureIsShortAndNamesFilesThatExist(t *testing.T) {
	text := read(t, "ARCHITECTURE.md")
	expect.That(t, len(text) <= maxArchitecture, "it has %d bytes, want at most %d", len(text), maxArchitecture)
	for i, line := range strings.Split(text, "\n") {
		columns := utf8.RuneCountInString(line)
		expect.That(t, columns <= maxColumns, "line %d has %d columns, want at most %d", i+1, columns, maxColumns)
	}
	named := namedFile.FindAllStringSubmatch(text, -1)
	expect.That(t, len(named) >= 10, "it names only %d files", len(named))
	for _, m := range named {
		expect.NoError(t, expect.Err(os.Stat(m[1])))
	}
}

func TestWhatIsReadFirstIsShort(t *testing.T) {
	readme, changelog := len(read(t, "README.md")), strings.Count(read(t, "CHANGELOG.md"), "\n")
	expect.That(t, readme <= maxReadme, "README.md has %d bytes, want at most %d", readme, maxReadme)
	expect.That(t, changelog <= maxChangelog, "CHANGELOG.md has %d lines, want at most %d", changelog, maxChangelog)
	targets := len(regexp.MustCompile(`(?m)^[a-z-]+:.* ## `).FindAllString(read(t, "Makefile"), -1))
	expect.That(t, targets > 0 && targets <= maxTargets, "make help lists %d targets, want at most %d", targets, maxTargets)
}

func TestEachInvariantNamesTestsThatExist(t *testing.T) {
	tests := map[string]bool{}
	for _, source := range sources(t, "_test.go") {
		for _, m := range testFunc.FindAllSubmatch(source, -1) {
			tests[string(m[1])] = true
		}
	}
	_, text, found := strings.Cut(read(t, "RELIABILITY.md"), "\n## Tests of the invariants\n")
	expect.MustThat(t, found, "RELIABILITY.md has no table of the tests of the invariants")
	for _, m := range namedTest.FindAllStringSubmatch(text, -1) {
		expect.That(t, tests[m[1]], "there is no test %s", m[1])
	}
	_, invariants, _ := strings.Cut(read(t, "ARCHITECTURE.md"), "\n## Invariants\n")
	promises := firstGroups(promise, invariants)
	expect.That(t, len(promises) >= 10, "there are only %d invariants", len(promises))
	tested := firstGroups(held, text)
	expect.That(t, slices.Equal(promises, tested), "the invariants are %v, and those with tests %v", promises, tested)
}

func read(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	expect.OK(t, err)
	return string(text)
}

// firstGroups returns the first group of each match of r in text.
func firstGroups(r *regexp.Regexp, text string) (groups []string) {
	for _, m := range r.FindAllStringSubmatch(text, -1) {
		groups = append(groups, m[1])
	}
	return groups
}

// sources returns the contents of the module's files whose names end in suffix.
func sources(t *testing.T, suffix string) (contents [][]byte) {
	t.Helper()
	err := filepath.WalkDir(".", func(path string, d fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(path, suffix) {
			return err
		}
		source, err := os.ReadFile(path)
		contents = append(contents, source)
		return err
	})
	expect.OK(t, err)
	return contents
}
