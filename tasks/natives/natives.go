// Package natives lists the tasks of built-in modules that this program performs
// itself.
package natives

import (
	"context"
	"path/filepath"

	"bolt/format/ordered"
	"bolt/modules/builtin/httprequest"
	"bolt/modules/builtin/terraformcli"
	"bolt/secret"
	"bolt/tasks"
)

// All returns these tasks by their names in the metadata of tasks. Relative paths of
// keys are relative to project.
func All(project string) map[string]tasks.Native {
	all := secrets(project)
	all["http_request"] = httprequest.Run
	for name, run := range terraformcli.Tasks() {
		all[name] = run
	}
	return all
}

// secrets returns the tasks of the module pkcs7.
func secrets(project string) map[string]tasks.Native {
	return map[string]tasks.Native{
		"pkcs7_encrypt": func(ctx context.Context, params *ordered.Map) (*ordered.Map, error) {
			text, _ := params.Value("plaintext_value").(string)
			value, err := keyPair(project, params).Encrypt(ctx, []byte(text))
			return ordered.Of("value", value), err
		},
		"pkcs7_decrypt": func(ctx context.Context, params *ordered.Map) (*ordered.Map, error) {
			text, _ := params.Value("encrypted_value").(string)
			value, err := keyPair(project, params).Decrypt(ctx, text)
			return ordered.Of("value", string(value)), err
		},
		"pkcs7_createkeys": func(ctx context.Context, params *ordered.Map) (*ordered.Map, error) {
			pair := keyPair(project, params)
			bits, _ := params.Value("keysize").(int64)
			err := pair.Create(ctx, int(bits), params.Value("force") == true)
			return ordered.Of("value", []any{pair.Public, pair.Private}), err
		},
	}
}

// keyPair returns the key files in a task's parameters, whose types have been
// checked. Relative paths are relative to the project.
func keyPair(project string, params *ordered.Map) secret.Pair {
	path := func(name, otherwise string) string {
		path, _ := params.Value(name).(string)
		if path == "" {
			path = otherwise
		}
		if !filepath.IsAbs(path) {
			path = filepath.Join(project, path)
		}
		return path
	}
	return secret.Pair{Public: path("public_key", secret.DefaultPublic), Private: path("private_key", secret.DefaultPrivate)}
}
