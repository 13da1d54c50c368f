// Package checks is the page of the check that looks for links whose targets are dead. The check is that of the API
// (package fetch); the page shows how far it is, begins it for the links of a list, and stops it.
package checks
