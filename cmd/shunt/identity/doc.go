// Package identity decides as which user a command of root works, so that it leaves no file that the
// server cannot use: the server runs as a user of its own, and root may not be there to mend it.
// It knows folders and users, and nothing of what is in a folder.
//
// A command that writes to a data folder becomes its owner (Become). One that makes new files, such as
// a backup, gives them to the owner of the folder that they are made in (Heir). A server of root is
// refused another user's data (Foreign).
package identity
