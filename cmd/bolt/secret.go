package main

import (
	"context"
	"strings"

	"golang.org/x/term"

	"bolt/catalog/seal"
	"bolt/cli"
	"bolt/format/ordered"
	"bolt/inventory/plugin"
	"bolt/output/listing"
)

func wordsOfSecret(action string) func([]string) error {
	return func(args []string) error {
		if len(args) == 0 || args[0] == "" {
			return hinted(usagef("Must specify a value to %s", action), "- reads it from standard input")
		}
		return hinted(cli.NoArguments(args[1:]), "the value is one argument: put it in quotes")
	}
}

type secretOptions struct {
	value  string
	plugin string
}

func (o *secretOptions) Bind(b *cli.Binder) {
	b.Arg(&o.value)
	bindPlugin(b, &o.plugin)
}

// bindPlugin binds the name of a plugin for secrets.
func bindPlugin(b *cli.Binder, into *string) {
	*into = secretPlugin
	b.Text("plugin", into)
}

func encryptSecret(ctx context.Context, a *app, o *secretOptions) error {
	value, err := a.plaintext(ctx, o.value)
	if err != nil {
		return err
	}
	return a.secret(ctx, o.plugin, plugin.SecretEncrypt, ordered.Of("plaintext_value", value))
}

// plaintext is secretArg for a value that a person may type: a terminal does not show it.
func (a *app) plaintext(ctx context.Context, arg string) (string, error) {
	if arg != "-" || !term.IsTerminal(int(a.sys.in.Fd())) {
		return a.secretArg(ctx, arg)
	}
	typed, err := a.Ask.Secret(ctx, "Please enter the value to encrypt: ")
	return typed.Reveal(), err
}

func decryptSecret(ctx context.Context, a *app, o *secretOptions) error {
	value, err := a.secretArg(ctx, o.value)
	if err != nil {
		return err
	}
	return a.secret(ctx, o.plugin, plugin.SecretDecrypt, ordered.Of("encrypted_value", value))
}

type keysOptions struct {
	plugin string
	force  bool
}

func (o *keysOptions) Bind(b *cli.Binder) {
	bindPlugin(b, &o.plugin)
	b.Switch("force", &o.force)
}

func createKeys(ctx context.Context, a *app, o *keysOptions) error {
	return a.secret(ctx, o.plugin, plugin.SecretCreateKeys, ordered.Of("force", o.force))
}

// secretArg returns a value, or the text of standard input if it is "-". A value that begins with
// "@" has no special meaning, because secrets may begin with it.
func (a *app) secretArg(ctx context.Context, arg string) (string, error) {
	if arg != "-" {
		return arg, nil
	}
	text, err := a.Arg(ctx, arg)
	text = strings.TrimSuffix(text, "\n")
	return strings.TrimSuffix(text, "\r"), err
}

// secretPlugin is the default plugin for secrets.
const secretPlugin = "pkcs7"

// secret calls a plugin for a secret and prints the result where Puppet Bolt prints messages: with
// formats for programs, on standard error.
func (a *app) secret(ctx context.Context, name string, hook plugin.Hook, opts *ordered.Map) error {
	value, err := a.sources.Plugins().Call(ctx, name, hook, opts)
	if err != nil {
		return err
	}
	out, terminal := a.sys.out, a.Terminal()
	if a.format().Data {
		out, terminal = a.sys.err, a.ErrTerminal()
	}
	return written(listing.PrintAnswer(out, terminal, value))
}

// vault returns a vault with the keys of the project. Several goroutines call its functions, so the plugins
// are made before.
func (a *app) vault() seal.Vault {
	plugins := a.sources.Plugins()
	call := func(hook plugin.Hook, option string) func(context.Context, string) (string, error) {
		return func(ctx context.Context, text string) (string, error) {
			v, err := plugins.Call(ctx, secretPlugin, hook, ordered.Of(option, text))
			if err != nil {
				return "", err
			}
			answer, _ := v.(string)
			return answer, nil
		}
	}
	return seal.Vault{Encrypt: call(plugin.SecretEncrypt, "plaintext_value"), Decrypt: call(plugin.SecretDecrypt, "encrypted_value")}
}
