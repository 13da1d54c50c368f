// Package tabletest has a table in memory, for the tests of those who keep rows in a table.
package tabletest
