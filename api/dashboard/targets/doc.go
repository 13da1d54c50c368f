// Package targets is the targets of a link as pages show and edit them: the rules and the split as lines of text, and a
// row of figures for each target. It knows links and figures of package ops and no request.
//
// # Shares
//
// Which visitor gets which target of a split is as if drawn at random. So the share of visitors that a target got
// differs from its weight by chance: by more than the standard error √(p·(1−p)/n) of n visitors in a third of all
// cases. Pages show this error beside the share, so that people do not take chance for a result.
//
// Files, leaves first: lines.go, rows.go.
package targets
