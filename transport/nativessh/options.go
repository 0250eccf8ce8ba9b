package nativessh

import (
	"errors"
	"io/fs"
	"os"
	"time"

	"bolt/format/fault"
	"bolt/transport"
	"bolt/transport/option"
)

// Protocol is the protocol of its destinations.
const Protocol = "native-ssh"

// A Program is the value of Dest.Options for this transport: the programs to
// run.
type Program struct {
	SSH   transport.Words // ssh program with its options; empty: "ssh"
	Copy  transport.Words // copy program; empty: none
	Batch bool            // ssh must not ask for passwords
}

// Transport returns the configuration options of the transport. It is
// configured under ssh, with native-ssh set.
func Transport() option.Transport {
	return option.Transport{
		Name:      Protocol,
		VariantOf: "ssh",
		Flag:      "native-ssh",
		NeedsHost: true,
		Options: option.Sorted(append(option.RunAs(),
			option.Flag("batch-mode"),
			option.Cleanup(),
			option.ConnectTimeout(),
			option.Command("copy-command"),
			option.Flag("forward-agent"),
			option.Host(),
			option.Flag("host-key-check"),
			option.Interpreters(),
			option.Flag("native-ssh"),
			option.LoginPort(),
			option.Path("private-key"),
			option.ScriptDir(),
			option.Command("ssh-command"),
			option.TmpDir(),
			option.User(),
		)...),
		Check: check,
		Dest:  complete,
	}
}

func check(c *option.Config) error {
	if path, ok := c.Value("private-key").(string); ok {
		if err := checkKey(path); err != nil {
			return err
		}
	} else if c.Value("private-key") != nil {
		return c.Fail("private-key must be a path to a file when native-ssh is used, not key-data")
	}
	_, command := c.Get("ssh-command")
	switch {
	case c.Given.Value("load-config") == false:
		return c.Fail("native-ssh cannot be used with load-config set to false")
	case !c.Flag("batch-mode") && !command:
		return c.Fail("ssh-command must be set when batch-mode is set to false")
	}
	return nil
}

// checkKey checks the file of a key for the ssh program. The built-in client
// reports a key that cannot be read when it needs the key.
func checkKey(path string) error {
	problem := ""
	f, err := os.Open(path)
	if err == nil {
		var info fs.FileInfo
		if info, err = f.Stat(); err == nil && info.IsDir() {
			problem = "is not a file"
		}
		_ = f.Close()
	}
	switch {
	case errors.Is(err, fs.ErrNotExist):
		problem = "does not exist"
	case err != nil:
		problem = "is unreadable"
	}
	if problem == "" {
		return nil
	}
	return fault.File(path, err, "The ssh key '%s' %s", path, problem)
}

// usualTimeout is the default of connect-timeout. If it is not changed, the
// timeout of ssh_config applies instead.
const usualTimeout = 10 * time.Second

// complete sets the programs and their settings.
func complete(config option.Values, to *transport.Dest) {
	to.Password = transport.Secret{} // ssh does not accept a password
	if to.ConnectTimeout == usualTimeout {
		to.ConnectTimeout = 0
	}
	to.Options = Program{
		SSH:   transport.NewWords(config.Words("ssh-command")),
		Copy:  transport.NewWords(config.Words("copy-command")),
		Batch: config.Flag("batch-mode"),
	}
}
