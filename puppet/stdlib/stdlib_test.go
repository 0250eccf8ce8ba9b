package stdlib

import (
	"bytes"
	"context"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"math/big"
	"strings"
	"testing"
	"time"

	"bolt/puppet/builtin"
	"bolt/puppet/eval"
	"bolt/puppet/syntax"
	"bolt/puppet/value"
)

// names are the functions of stdlib 9.7.
const names = `any2array any2bool assert_private base64 basename batch_escape bool2num bool2str clamp concat convert_base count deep_merge
defined_with_params delete delete_at delete_regex delete_undef_values delete_values deprecation difference dirname dos2unix enclose_ipv6
ensure_packages ensure_resource ensure_resources fact fqdn_rand_string fqdn_rotate fqdn_uuid get_module_path getparam glob grep
has_interface_with has_ip_address has_ip_network intersection is_a join_keys_to_values load_module_metadata loadjson loadyaml member merge
num2bool os_version_gte parsehocon parsejson parsepson parseyaml pick pick_default powershell_escape prefix pry pw_hash range regexpescape
reject reverse seeded_rand seeded_rand_string shell_escape shell_join shell_split shuffle squeeze str2bool str2saltedpbkdf2 str2saltedsha512
suffix swapcase time to_bytes to_json to_json_pretty to_python to_ruby to_toml to_yaml type_of union unix2dos uriescape validate_augeas
validate_cmd validate_domain_name validate_email_address validate_legacy validate_x509_rsa_key_pair values_at zip
stdlib::batch_escape stdlib::crc32 stdlib::deferrable_epp stdlib::end_with stdlib::ensure stdlib::ensure_packages stdlib::extname
stdlib::fqdn_rand_string stdlib::fqdn_rotate stdlib::has_function stdlib::has_interface_with stdlib::has_ip_address stdlib::has_ip_network
stdlib::ip_in_range stdlib::merge stdlib::nested_values stdlib::os_version_gte stdlib::parsehocon stdlib::powershell_escape
stdlib::rewrap_sensitive_data stdlib::seeded_rand stdlib::seeded_rand_string stdlib::sha256 stdlib::shell_escape stdlib::sort_by
stdlib::start_with stdlib::str2resource stdlib::time stdlib::to_json stdlib::to_json_pretty stdlib::to_python stdlib::to_ruby stdlib::to_toml
stdlib::to_yaml stdlib::type_of stdlib::validate_domain_name stdlib::validate_email_address stdlib::xml_encode`

func TestFunctionsOfOriginalExist(t *testing.T) {
	want := map[string]bool{}
	for _, n := range strings.Fields(names) {
		want[n] = true
	}
	for _, f := range Functions(Options{}) {
		if !want[f.Name] {
			t.Errorf("%s is there twice, or not in the original", f.Name)
		}
		delete(want, f.Name)
		if f.Doc == "" || !strings.HasSuffix(f.Doc, ".") {
			t.Errorf("%s: documentation %q", f.Name, f.Doc)
		}
	}
	for n := range want {
		t.Errorf("%s is missing", n)
	}
}

// TestFunctionsWithoutOptions calls every function with zero Options. The
// result must not be an internal error.
func TestFunctionsWithoutOptions(t *testing.T) {
	env := eval.Env{Library: eval.NewLibrary(Loader(nil), Functions(Options{})...)}
	for _, n := range strings.Fields(names) {
		for _, args := range []string{"", "'a'", "['a', 'b']", "{'a' => 1}", "'a', 'b'", "['a', 'b'], 1", "1, 'x', 'y'", "undef, undef, undef", "Sensitive['x'], default"} {
			_, err := run(t, env, n+"("+args+")")
			var e *eval.Error
			if errors.As(err, &e) && (e.Kind == "internal" || strings.Contains(e.Msg, "internal")) {
				t.Errorf("%s(%s): %v", n, args, err)
			}
		}
	}
}

// typeNames are the types of stdlib 9.7.
const typeNames = `Absolutepath Base32 Base64 CreateResources Datasize Dns::Zone Email Ensure::File Ensure::File::Directory Ensure::File::File
Ensure::File::Link Ensure::Package Ensure::Service Filemode Filesource Fqdn HTTPSUrl HTTPUrl Host Http::Method Http::Status HttpStatus
IP::Address IP::Address::CIDR IP::Address::Nosubnet IP::Address::V4 IP::Address::V4::CIDR IP::Address::V4::Nosubnet IP::Address::V6
IP::Address::V6::Alternative IP::Address::V6::CIDR IP::Address::V6::Compressed IP::Address::V6::Full IP::Address::V6::Nosubnet
IP::Address::V6::Nosubnet::Alternative IP::Address::V6::Nosubnet::Compressed IP::Address::V6::Nosubnet::Full MAC ObjectStore
ObjectStore::GSUri ObjectStore::S3Uri Port Port::Dynamic Port::Ephemeral Port::Privileged Port::Registered Port::Unprivileged Port::User
Syslogfacility Unixpath Windowspath Yes_no`

func TestTypes(t *testing.T) {
	env := testEnv(t, Options{})
	all, err := definitions()
	if err != nil {
		t.Fatal(err)
	}
	list := strings.Fields(typeNames)
	if len(all) != len(list) {
		t.Errorf("%d types, want %d", len(all), len(list))
	}
	for _, n := range list {
		if _, err := run(t, env, "undef =~ Stdlib::"+n); err != nil {
			t.Errorf("%s: %v", n, err)
		}
	}
}

// A single has one type.
type single struct{ d *eval.Definition }

func (s single) Load(_ context.Context, kind eval.Kind, name string) (*eval.Definition, error) {
	if kind == eval.KindType && name == s.d.Name {
		return s.d, nil
	}
	return nil, nil
}

func TestLoaderAsksModulesFirst(t *testing.T) {
	p, err := syntax.Parse(syntax.NewFile("port.pp", "type Stdlib::Port = Enum['any']"), syntax.Options{})
	if err != nil {
		t.Fatal(err)
	}
	own := single{eval.Definitions(p, "stdlib")[0]}
	env := eval.Env{Library: eval.NewLibrary(Loader(own))}
	v, err := run(t, env, "['any' =~ Stdlib::Port, 80 =~ Stdlib::Port, 80 =~ Stdlib::Port::Privileged]")
	if got := value.Inspect(v); err != nil || got != "[true, false, true]" {
		t.Errorf("got %s, %v", got, err)
	}
	l := Loader(own)
	first, _ := l.Load(t.Context(), eval.KindType, "stdlib::host")
	second, _ := l.Load(t.Context(), eval.KindType, "stdlib::host")
	if first == nil || first != second {
		t.Errorf("two definitions of one type: %p, %p", first, second)
	}
}

// TestDeprecationsLoggedOnce checks that each deprecation is logged once in an
// evaluation, up to a hundred different ones.
func TestDeprecationsLoggedOnce(t *testing.T) {
	env := testEnv(t, testOptions(nil))
	var said []string
	env.Log = func(l eval.Log) { said = append(said, l.Msg) }
	env.Strict = eval.StrictWarning
	run := func(text string) {
		t.Helper()
		p, err := syntax.Parse(syntax.NewFile("", text), syntax.Options{})
		if err != nil {
			t.Fatal(err)
		}
		said = nil
		if _, err := eval.New(env).Run(t.Context(), p, nil); err != nil {
			t.Fatal(err)
		}
	}
	for range 2 {
		run("to_json(1) to_json(2) to_yaml(1) deprecation('k', 'first', false) deprecation('k', 'again', false)")
		if len(said) != 3 || said[2] != "first" {
			t.Errorf("said %q", said)
		}
	}
	run("Integer[1, 1000].each |$i| { deprecation(\"k${i}\", 'm', false) }")
	if len(said) != 100 {
		t.Errorf("said %d times", len(said))
	}
}

// TestShellEscapeBytes checks that bytes that are not text are kept.
func TestShellEscapeBytes(t *testing.T) {
	for in, want := range map[string]string{"a\xffb": "a\\\xffb", "\xc3": "\\\xc3", "ü": "\\ü", "\ufffd": "\\\ufffd", "a\nb": "a'\n'b"} {
		if got := shellEscape(in); got != want {
			t.Errorf("%q is %q, want %q", in, got, want)
		}
	}
}

func TestFiles(t *testing.T) {
	o := testOptions(map[string]string{
		"/a.json": `{"a": [1, /* two */ 2]} // end` + "\n", "/bad.json": "{", "/null.json": "null",
		"/a.yaml": "a: 1\n", "/bad.yaml": "[", "/empty.yaml": "",
		"/modules/here/metadata.json": `{"name": "x-here"}`,
	})
	env := testEnv(t, o)
	var logs []string
	env.Log = func(l eval.Log) { logs = append(logs, l.Level.String()+": "+l.Msg) }
	for _, c := range []struct{ expr, want string }{
		{"loadjson('/a.json')", "{'a' => [1, 2]}"},
		{"loadjson('/bad.json', 'd')", "'d'"},
		{"loadjson('/bad.json')", "error"},
		{"loadjson('/null.json', 'd')", "'d'"},
		{"loadjson('/null.json')", "undef"},
		{"loadjson('/none.json', {})", "{}"},
		{"loadjson('https://example.com/a', 1)", "1"},
		{"loadjson('https://example.com/a')", "error"},
		{"loadyaml('/a.yaml')", "{'a' => 1}"},
		{"loadyaml('/bad.yaml', 'd')", "'d'"},
		{"loadyaml('/empty.yaml', 'd')", "'d'"},
		{"get_module_path('here')", "'/modules/here'"},
		{"get_module_path('there')", "error"},
		{"load_module_metadata('here')", "{'name' => 'x-here'}"},
		{"load_module_metadata('bare')", "error"},
		{"load_module_metadata('bare', true)", "{}"},
		{"glob(['/modules/*', '/nope/*'])", "['/modules/here/metadata.json']"},
		{"parsehocon('a=[1]')", "{'a' => [1]}"},
		{"parsejson('[1, /* a \" b */ \"/* c */\"]')", "[1, '/* c */']"},
	} {
		v, err := run(t, env, c.expr)
		got := "error"
		if err == nil {
			got = value.Inspect(v)
		}
		if got != c.want {
			t.Errorf("%s: got %s (%v), want %s", c.expr, got, err, c.want)
		}
	}
	if len(logs) != 1+1 || !strings.Contains(logs[0], "/none.json") {
		t.Errorf("logs: %q", logs)
	}
}

func TestDeferrableEPP(t *testing.T) {
	find := func(v string) *eval.Function {
		return &eval.Function{Name: v, Signatures: one("String $x, Any *$more", func(c *eval.Call) (value.Value, error) {
			if c.Args[0] == value.String("no/such.epp") {
				return value.Undef{}, nil
			}
			return value.String(v + " " + string(c.Args[0].(value.String))), nil
		})}
	}
	functions := append(builtin.Functions(builtin.Options{Now: time.Now}), Functions(Options{})...)
	functions = append(functions, find("epp"), find("file"), find("find_template"))
	env := eval.Env{Library: eval.NewLibrary(nil, functions...)}
	for _, c := range []struct{ expr, want string }{
		{"stdlib::deferrable_epp('a/b.epp', {'x' => 1})", "'epp a/b.epp'"},
		{"$d = stdlib::deferrable_epp('a/b.epp', {'x' => {'y' => Deferred('pi')}}) [$d =~ Deferred, $d.name, $d.arguments[0]]",
			"[true, 'inline_epp', 'file find_template a/b.epp']"},
	} {
		v, err := run(t, env, c.expr)
		if err != nil || value.Inspect(v) != c.want {
			t.Errorf("%s: got %v, %v", c.expr, v, err)
		}
	}
	if v, err := run(t, env, "stdlib::deferrable_epp('no/such.epp', {'x' => Deferred('pi')})"); err == nil {
		t.Errorf("got %v for a template that does not exist", v)
	}
}

func TestRandomness(t *testing.T) {
	o := testOptions(nil)
	o.Rand = bytes.NewReader(bytes.Repeat([]byte{0, 0, 0, 0, 0, 0, 0, 1}, 10))
	env := testEnv(t, o)
	// With the number 1 each time, [1, 2, 3, 4] is changed at 1%4, 1%3 and 1%2.
	v, err := run(t, env, "[shuffle([1, 2, 3, 4]), shuffle('ab'), shuffle('x'), shuffle([])]")
	if got := value.Inspect(v); err != nil || got != "[[1, 3, 4, 2], 'ab', 'x', []]" {
		t.Errorf("got %s, %v", got, err)
	}
	v, err = run(t, env, "str2saltedsha512('secret')[0, 8]")
	if got := value.Inspect(v); err != nil || got != "'00000000'" {
		t.Errorf("got %s, %v", got, err)
	}
	if v, err := run(t, env, "shuffle(range(1, 20))"); err == nil {
		t.Errorf("got %s without randomness that is left", value.Inspect(v))
	}
}

// TestCallsAreLimited has calls that would take infinite time or too much
// memory.
func TestCallsAreLimited(t *testing.T) {
	const (
		text = "$s = range(1, 12).reduce('0123456789abcdef') |$m, $i| { \"${m}${m}\" } " // 64 kB
		list = "$a = range(1, 1000) $b = $a.map |$i| { $a } "                            // a million
	)
	for _, expr := range []string{
		"pw_hash('x', 'bcrypt', '31$abcdefghijklmnopqrstuv')",
		"stdlib::seeded_rand_string(9223372036854775807, 'x')",
		"stdlib::fqdn_rand_string(9223372036854775807)",
		"stdlib::seeded_rand_string(1000000000, 'x')",
		"range('aaaaaaaaaaaaaaa', 'zzzzzzzzzzzzzzz', 1000)",
		"range('99999999999999999999', '1')",
		"range(1, 9223372036854775807)",
		"$a = range(1, 40000).map |$i| { '0-2' } values_at([1, 2, 3], $a)",
		"$a = range(1, 40000) concat($a, $a)",
		list + "zip([$b], [$b], true)",
		list + "clamp($b)",
		list + "stdlib::to_ruby($b)",
		list + "deep_merge({a => $b}, {a => $b})",
		list + "stdlib::type_of($b)",
		text + "prefix(range(1, 100), $s)",
		text + "suffix(Hash(range(1, 100).map |$i| { [$i, $i] }), $s)",
		text + "join_keys_to_values({a => range(1, 100)}, $s)",
		text + "shell_join(range(1, 100).map |$i| { $s })",
		text + "regexpescape(range(1, 100).map |$i| { $s })",
		text + "squeeze(range(1, 100).map |$i| { $s })",
		text + "stdlib::to_python(range(1, 100).map |$i| { $s })",
		text + "stdlib::to_toml(Hash(range(1, 100).map |$i| { [\"${i}\", $s] }))",
		text + "stdlib::to_json(range(1, 100).map |$i| { $s })",
		text + "stdlib::to_yaml(range(1, 20).map |$i| { $s })",
		text + "stdlib::to_json_pretty([[[[[[[1]]]]]]], false, {indent => \"${s}${s}\"})",
		text + "stdlib::fqdn_rand_string(1, 'a', range(1, 100).map |$i| { $s })",
		text + "reverse(\"${s}${s}\")",
		text + "stdlib::sort_by(\"${s}${s}\") |$x| { $x }",
		"grep(['aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa!'], '^(?:(a+)+\\1)+$')",
	} {
		env := testEnv(t, testOptions(nil))
		env.Limits = eval.Limits{Steps: 3_000_000, Size: 1 << 20}
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
		p, err := syntax.Parse(syntax.NewFile("", expr), syntax.Options{})
		if err != nil {
			t.Fatal(expr, err)
		}
		if v, err := eval.New(env).Run(ctx, p, nil); err == nil || ctx.Err() != nil {
			t.Errorf("%s: got %.50s, %v", expr, value.Inspect(v), err)
		}
		cancel()
	}
}

// TestCancelEndsSlowCall ends a call that takes seconds.
func TestCancelEndsSlowCall(t *testing.T) {
	env := testEnv(t, testOptions(nil))
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	p, err := syntax.Parse(syntax.NewFile("", "pw_hash('x', 'bcrypt', '16$abcdefghijklmnopqrstuv')"), syntax.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := eval.New(env).Run(ctx, p, nil); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("got %v", err)
	}
}

func TestDeprecation(t *testing.T) {
	for _, c := range []struct {
		strict eval.Strict
		expr   string
		logs   int
		fails  bool
	}{
		{eval.StrictError, "deprecation('k', 'm')", 0, true},
		{eval.StrictWarning, "deprecation('k', 'm')", 1, false},
		{eval.StrictOff, "deprecation('k', 'm')", 0, false},
		{eval.StrictOff, "deprecation('k', 'm', false) deprecation('k', 'm', false) deprecation('l', 'm', false)", 2, false},
		{eval.StrictError, "to_json(1) to_json(2) type_of(1)", 2, false},
		{eval.StrictError, "stdlib::to_json(1)", 0, false},
		{eval.StrictError, "parsepson('1')", 0, true},
		{eval.StrictError, "parsepson('1', 2)", 0, false},
		{eval.StrictWarning, "parsepson('1')", 1, false},
		{eval.StrictWarning, "validate_legacy(Integer, 'x', 1)", 1, false},
		{eval.StrictOff, "validate_legacy('Integer', 'x', 'y')", 0, true},
	} {
		env := testEnv(t, testOptions(nil))
		env.Strict = c.strict
		n := 0
		env.Log = func(l eval.Log) {
			if l.Level == eval.Warning {
				n++
			}
		}
		if _, err := run(t, env, c.expr); (err != nil) != c.fails || n != c.logs {
			t.Errorf("%s (strict %d): %v, %d warnings", c.expr, c.strict, err, n)
		}
	}
}

func TestErrorsHideSensitive(t *testing.T) {
	env := testEnv(t, testOptions(nil))
	for _, expr := range []string{
		"pw_hash(Sensitive('hunter2'), 'SHA-512', Sensitive('hunter2 '))",
		"pw_hash(Sensitive('hunter2'), Sensitive('SHA-512'), 1)",
		"str2saltedpbkdf2(Sensitive('hunter2'), Sensitive('x'), 50000)",
		"stdlib::to_toml({'a' => Sensitive('hunter2'), 1 => 2})",
		"stdlib::to_json_pretty([[Sensitive('hunter2')]], false, {'max_nesting' => 1})",
	} {
		_, err := run(t, env, expr)
		if err == nil || strings.Contains(err.Error(), "hunter2") {
			t.Errorf("%s: %v", expr, err)
		}
	}
}

func TestCertificates(t *testing.T) {
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	other, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	template := x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "x"}, NotAfter: time.Now().Add(time.Hour)}
	der, err := x509.CreateCertificate(rand.Reader, &template, &template, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	pkcs8, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	text := func(kind string, der []byte) value.Value {
		return value.String(pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}))
	}
	cert := text("CERTIFICATE", der)
	in := eval.New(testEnv(t, testOptions(nil)))
	for _, c := range []struct {
		name      string
		cert, key value.Value
		good      bool
	}{
		{"pkcs1", cert, text("RSA PRIVATE KEY", x509.MarshalPKCS1PrivateKey(key)), true},
		{"pkcs8", cert, text("PRIVATE KEY", pkcs8), true},
		{"public", cert, text("RSA PUBLIC KEY", x509.MarshalPKCS1PublicKey(&key.PublicKey)), true},
		{"other key", cert, text("RSA PRIVATE KEY", x509.MarshalPKCS1PrivateKey(other)), false},
		{"no key", cert, cert, false},
		{"no certificate", text("PRIVATE KEY", pkcs8), text("PRIVATE KEY", pkcs8), false},
		{"broken", text("CERTIFICATE", der[:100]), text("PRIVATE KEY", pkcs8), false},
	} {
		if _, err := in.Call(t.Context(), "validate_x509_rsa_key_pair", c.cert, c.key); (err == nil) != c.good {
			t.Errorf("%s: %v", c.name, err)
		}
	}
}

func BenchmarkYAML(b *testing.B) {
	var list []value.Value
	for i := range 1000 {
		list = append(list, value.NewHash(
			value.Entry{Key: value.String("name"), Value: value.String(fmt.Sprintf("host-%d.example.com", i))},
			value.Entry{Key: value.String("port"), Value: value.Int(i)},
			value.Entry{Key: value.String("text"), Value: value.String("a: b\nc\n")},
		))
	}
	in := eval.New(testEnv(b, testOptions(nil)))
	v := value.NewArray(list...)
	for b.Loop() {
		if _, err := in.Call(b.Context(), "stdlib::to_yaml", v); err != nil {
			b.Fatal(err)
		}
	}
}

// TestLiteralSecret checks that the output of to_python and to_ruby for secrets
// is sensitive.
func TestLiteralSecret(t *testing.T) {
	env := testEnv(t, testOptions(nil))
	for expr, want := range map[string]string{
		`to_python({a => [Sensitive('x')]})`:       `{"a": [{"__ptype": "Sensitive", "__pvalue": "x"}]}`,
		`to_ruby([Deferred('f', [Sensitive(1)])])`: `[{"__ptype" => "Deferred", "name" => "f", "arguments" => [{"__ptype" => "Sensitive", "__pvalue" => 1}]}]`,
	} {
		v, err := run(t, env, expr)
		s, ok := v.(*value.Sensitive)
		if err != nil || !ok || s.Unwrap() != value.Value(value.String(want)) {
			t.Errorf("%s is %v, %v, want %s in a Sensitive", expr, v, err, want)
		}
	}
	if v, err := run(t, env, `to_python({'__ptype' => 'Sensitive'})`); err != nil || v == nil {
		t.Errorf("a hash that looks like a secret: %v, %v", v, err)
	}
}
