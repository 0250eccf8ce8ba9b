// Package sealing carries out the commands that encrypt and decrypt secrets and create keys. It also makes the vault
// for secrets of catalogs.
//
// Mistakes of the user are *cli.UsageError.
package sealing

import (
	"context"
	"io"
	"os"
	"strings"

	"golang.org/x/term"

	"bolt/catalog/seal"
	"bolt/cli"
	"bolt/cli/input"
	"bolt/format/ordered"
	"bolt/inventory/plugin"
	"bolt/output/listing"
	"bolt/transport"
)

// An Invocation has the parts of one invocation of bolt that the commands use.
type Invocation struct {
	Out      io.Writer // where Puppet Bolt prints messages: with formats for programs, standard error
	Terminal bool      // Out is a terminal
	In       *os.File
	Input    *input.Input
	Plugins  *plugin.Plugins
	// Ask prints a question and reads a secret.
	Ask func(ctx context.Context, question string) (transport.Secret, error)
}

// Need returns the Check of a command that takes a value; action is its verb.
func Need(action string) func([]string) error {
	return func(args []string) error {
		if len(args) == 0 || args[0] == "" {
			return cli.Hinted(cli.Errorf("Must specify a value to %s", action), "- reads it from standard input")
		}
		return cli.Hinted(cli.NoArguments(args[1:]), "the value is one argument: put it in quotes")
	}
}

// Options are the options of secret encrypt and secret decrypt.
type Options struct {
	value  string
	plugin string
}

// Bind reads the flags and arguments.
func (o *Options) Bind(b *cli.Binder) {
	b.Arg(&o.value)
	bindPlugin(b, &o.plugin)
}

// bindPlugin binds the name of a plugin for secrets.
func bindPlugin(b *cli.Binder, into *string) {
	*into = standard
	b.Text("plugin", into)
}

// Encrypt carries out secret encrypt.
func (v *Invocation) Encrypt(ctx context.Context, o *Options) error {
	value, err := v.plaintext(ctx, o.value)
	if err != nil {
		return err
	}
	return v.call(ctx, o.plugin, plugin.SecretEncrypt, ordered.Of("plaintext_value", value))
}

// plaintext is arg for a value that a person may type: a terminal does not show it.
func (v *Invocation) plaintext(ctx context.Context, arg string) (string, error) {
	if arg != "-" || !term.IsTerminal(int(v.In.Fd())) {
		return v.arg(ctx, arg)
	}
	typed, err := v.Ask(ctx, "Please enter the value to encrypt: ")
	return typed.Reveal(), err
}

// Decrypt carries out secret decrypt.
func (v *Invocation) Decrypt(ctx context.Context, o *Options) error {
	value, err := v.arg(ctx, o.value)
	if err != nil {
		return err
	}
	return v.call(ctx, o.plugin, plugin.SecretDecrypt, ordered.Of("encrypted_value", value))
}

// KeysOptions are the options of secret createkeys.
type KeysOptions struct {
	plugin string
	force  bool
}

// Bind reads the flags and arguments.
func (o *KeysOptions) Bind(b *cli.Binder) {
	bindPlugin(b, &o.plugin)
	b.Switch("force", &o.force)
}

// CreateKeys carries out secret createkeys.
func (v *Invocation) CreateKeys(ctx context.Context, o *KeysOptions) error {
	return v.call(ctx, o.plugin, plugin.SecretCreateKeys, ordered.Of("force", o.force))
}

// arg returns a value, or the text of standard input if it is "-". A value that begins with
// "@" has no special meaning, because secrets may begin with it.
func (v *Invocation) arg(ctx context.Context, arg string) (string, error) {
	if arg != "-" {
		return arg, nil
	}
	text, err := v.Input.Arg(ctx, arg)
	text = strings.TrimSuffix(text, "\n")
	return strings.TrimSuffix(text, "\r"), err
}

// standard is the default plugin for secrets.
const standard = "pkcs7"

// call calls a plugin for a secret and prints the result.
func (v *Invocation) call(ctx context.Context, name string, hook plugin.Hook, opts *ordered.Map) error {
	value, err := v.Plugins.Call(ctx, name, hook, opts)
	if err != nil {
		return err
	}
	return listing.PrintAnswer(v.Out, v.Terminal, value)
}

// Vault returns a vault with the keys of the project.
func (v *Invocation) Vault() seal.Vault {
	call := func(hook plugin.Hook, option string) func(context.Context, string) (string, error) {
		return func(ctx context.Context, text string) (string, error) {
			v, err := v.Plugins.Call(ctx, standard, hook, ordered.Of(option, text))
			if err != nil {
				return "", err
			}
			answer, _ := v.(string)
			return answer, nil
		}
	}
	return seal.Vault{Encrypt: call(plugin.SecretEncrypt, "plaintext_value"), Decrypt: call(plugin.SecretDecrypt, "encrypted_value")}
}
