package users

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"shunt/api/client"
	"shunt/cmd/shunt/reach"
	"shunt/cmd/shunt/usage"
)

func newUserPasswd(stderr io.Writer) *cobra.Command {
	where, passwordFile := reach.Target{}, ""
	cmd := &cobra.Command{
		Use:   "passwd EMAIL",
		Short: "Set a user's password",
		Long: `Set a user's password, of 8 to 1,024 bytes. At a terminal it is asked for twice; otherwise it is the
first line of standard input, or of the file that --password-file names. It is never an argument,
because others on the machine could see it. The user's sessions end; tokens stay valid.
` + reach.WhereUsersAre,
		Example: `  shunt user passwd admin
  pass show shunt | shunt user passwd ann@example.com
  SHUNT_PASSWORD_FILE=/run/secrets/shunt shunt user passwd ann@example.com`,
		Args: usage.Exactly("EMAIL"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return setPassword(cmd.Context(), &where, args[0], func() (string, error) {
				return readPassword(passwordFile, cmd.InOrStdin(), stderr)
			}, stderr)
		},
	}
	reach.AddUserSettings(cmd, &where)
	cmd.Flags().StringVar(&passwordFile, "password-file", "", "`FILE` whose first line is the password")
	return cmd
}

// setPassword looks for the user before it asks for the password, and lets go of the folder while
// it waits for that.
func setPassword(
	ctx context.Context, where *reach.Target, email string, ask func() (string, error), stderr io.Writer,
) error {
	u := client.User{}
	look := *where
	look.Reads = true
	err := look.With(ctx, stderr, func(c *reach.Connection) (err error) {
		u, err = findUser(ctx, c, email)
		return err
	})
	password := ""
	if err == nil {
		password, err = ask()
	}
	if err == nil {
		err = where.With(ctx, stderr, func(c *reach.Connection) error {
			_, err := c.EditUser(ctx, u.ID, client.UserEdit{Password: client.Set(password)})
			return err
		})
	}
	if err != nil {
		return fmt.Errorf("user passwd: %w", err)
	}
	return nil
}

// readPassword returns the first line of the file, otherwise a password typed twice if stdin is a
// terminal, otherwise its first line.
func readPassword(path string, stdin io.Reader, stderr io.Writer) (string, error) {
	if path != "" {
		f, err := os.Open(path)
		if err != nil {
			return "", err
		}
		defer f.Close()
		return firstLine(f)
	}
	if f, ok := stdin.(*os.File); ok && term.IsTerminal(int(f.Fd())) {
		return typedTwice(int(f.Fd()), stderr)
	}
	return firstLine(stdin)
}

// maxPasswordBytes stops a wrong file from being read whole.
const maxPasswordBytes = 4096

// firstLine returns the first line, whatever spaces are in it.
func firstLine(r io.Reader) (string, error) {
	line, err := bufio.NewReader(io.LimitReader(r, maxPasswordBytes)).ReadString('\n')
	if err != nil && !errors.Is(err, io.EOF) {
		return "", fmt.Errorf("reading the password: %w", err)
	}
	if line = strings.TrimSuffix(strings.TrimSuffix(line, "\n"), "\r"); line == "" {
		return "", errors.New("the input has no password")
	}
	return line, nil
}

func typedTwice(terminal int, stderr io.Writer) (string, error) {
	first, err := typed(terminal, "New password: ", stderr)
	if err != nil {
		return "", err
	}
	second, err := typed(terminal, "Repeat it: ", stderr)
	if err == nil && first != second {
		err = errors.New("the two passwords differ; nothing was changed")
	}
	return first, err
}

// typed reads a line without echo. Ctrl-C ends it and restores the echo.
func typed(terminal int, prompt string, stderr io.Writer) (string, error) {
	shown, err := term.GetState(terminal)
	if err != nil {
		return "", fmt.Errorf("the terminal: %w", err)
	}
	interrupted := make(chan os.Signal, 1)
	signal.Notify(interrupted, os.Interrupt)
	defer signal.Stop(interrupted)
	type result struct {
		line []byte
		err  error
	}
	read := make(chan result, 1)
	fmt.Fprint(stderr, prompt)
	go func() {
		line, err := term.ReadPassword(terminal)
		read <- result{line, err}
	}()
	defer fmt.Fprintln(stderr)
	select {
	case r := <-read:
		return string(r.line), r.err
	case <-interrupted:
		return "", errors.Join(errors.New("interrupted; nothing was changed"), term.Restore(terminal, shown))
	}
}
