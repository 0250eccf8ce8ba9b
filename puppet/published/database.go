package published

import (
	"crypto/hmac"
	"crypto/md5"
	"crypto/pbkdf2"
	"crypto/sha1"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"strings"

	"bolt/internal/lazyregexp"
	"bolt/puppet/builtin"
	"bolt/puppet/eval"
	"bolt/puppet/value"
)

func databases() []Set {
	return []Set{
		{"puppetlabs/mysql", []*eval.Function{
			function("mysql::password", "Variant[String, Sensitive[String]] $password, Boolean $sensitive = false", "Returns the hash of a password as MySQL stores it.", mysqlPassword),
			former("mysql_password", "mysql::password"),
			function("mysql::normalise_and_deepmerge", "Any *$hashes", "Merges hashes at any depth. Keys that differ only in - and _ are the same key.", mysqlMerge),
			function("mysql::strip_hash", "Hash $hash", "Removes entries whose value is the empty string, also in hashes in the hash.", func(c *eval.Call) (value.Value, error) {
				return stripped(c.Args[0].(*value.Hash), 1), nil
			}),
			function("mysql::innobackupex_args", "Optional[String] $user, Boolean $compress, Optional[Variant[String, Sensitive[String]]] $password, Array[String[1]] $databases, Array[String[1]] $more",
				"Returns the arguments of innobackupex.", innobackupex),
		}},
		{"puppetlabs/postgresql", []*eval.Function{
			function("postgresql::postgresql_password", "Variant[String[1], Integer] $user, Variant[String[1], Sensitive[String[1]], Integer] $password, Boolean $sensitive = false, Optional[Enum['md5', 'scram-sha-256']] $hash = undef, Optional[Variant[String[1], Integer]] $salt = undef",
				"Returns the hash of a password as PostgreSQL stores it.", postgresqlPassword),
			former("postgresql_password", "postgresql::postgresql_password"),
			function("postgresql::postgresql_escape", "String[1] $text", "Returns a string between dollar quotes.", postgresqlEscape),
			former("postgresql_escape", "postgresql::postgresql_escape"),
			function("postgresql::postgresql_acls_to_resources_hash", "Array[String] $acls, String[1] $id, Integer[0] $offset", "Converts lines of pg_hba.conf to parameters of postgresql::server::pg_hba_rule.", postgresqlACLs),
			function("postgresql::prepend_sql_password", "String $password", "Returns the password clause of CREATE ROLE.", func(c *eval.Call) (value.Value, error) {
				return value.String("ENCRYPTED PASSWORD '" + str(c, 0) + "'"), nil
			}),
		}},
		{"puppet/mongodb", []*eval.Function{
			function("mongodb_password", "String[1] $user, Variant[String[1], Sensitive[String[1]]] $password, Boolean $sensitive = false", "Returns the hash of a password as MongoDB stores it.", func(c *eval.Call) (value.Value, error) {
				sum := md5.Sum([]byte(str(c, 0) + ":mongo:" + string(unwrapped(c, 1).(value.String))))
				return secret(c, 2, hex.EncodeToString(sum[:])), nil
			}),
		}},
		{"puppetlabs/puppetdb", []*eval.Function{
			function("puppetdb::create_subsetting_resource_hash", "Hash $arguments, Any $params", "Returns parameters of ini_subsetting for arguments of Java.", subsettings),
			function("puppetdb::flatten_java_args", "Hash $arguments = {}", "Returns arguments of Java as a string in double quotes.", func(c *eval.Call) (value.Value, error) {
				var words []string
				if len(c.Args) > 0 {
					for k, v := range c.Args[0].(*value.Hash).All() {
						key, err := builtin.Text(c, k)
						if err != nil {
							return nil, err
						}
						text, err := builtin.Text(c, v)
						if err != nil {
							return nil, err
						}
						words = append(words, key+text)
					}
				}
				return value.String(`"` + strings.Join(words, " ") + `"`), nil
			}),
		}},
	}
}

var mysqlHash = lazyregexp.New(`(?m)^\*[A-F0-9]{40}$`)

func mysqlPassword(c *eval.Call) (value.Value, error) {
	text := string(unwrapped(c, 0).(value.String))
	if text != "" && !mysqlHash().MatchString(text) {
		once := sha1.Sum([]byte(text))
		text = fmt.Sprintf("*%X", sha1.Sum(once[:]))
	}
	return secret(c, 1, text), nil
}

func mysqlMerge(c *eval.Call) (value.Value, error) {
	if len(c.Args) < 2 {
		return nil, invalid(c, "takes two hashes or more, got %d", len(c.Args))
	}
	all := value.NewHash()
	for _, v := range c.Args {
		if v == value.String("") {
			continue
		}
		h, ok := v.(*value.Hash)
		if !ok {
			return nil, invalid(c, "takes hashes, got %s", value.DescribeValue(v))
		}
		var err error
		if all, err = overlay(c, all, h); err != nil {
			return nil, err
		}
	}
	return all, nil
}

// overlay returns a hash with the entries of another one. An entry whose key is
// written with - instead of _, or the reverse, is renamed, and becomes the last.
func overlay(c *eval.Call, under, over *value.Hash) (*value.Hash, error) {
	for k, v := range over.All() {
		if err := c.Step(under.Len()); err != nil {
			return nil, err
		}
		was, has := under.Get(k)
		if key, ok := k.(value.String); ok && !has {
			other := strings.ReplaceAll(string(key), "_", "-")
			if strings.Contains(string(key), "-") {
				other = strings.ReplaceAll(string(key), "-", "_")
			}
			if was, has = under.GetString(other); has {
				under = under.Without(value.String(other))
			}
		}
		below, deep := was.(*value.Hash)
		if h, ok := v.(*value.Hash); ok && deep && has {
			var err error
			if v, err = overlay(c, below, h); err != nil {
				return nil, err
			}
		}
		under = under.With(k, v)
	}
	return under, nil
}

// stripped returns a hash without empty strings, down to a depth.
func stripped(h *value.Hash, depth int) *value.Hash {
	var b value.HashBuilder
	for k, v := range h.All() {
		if v == value.String("") {
			continue
		}
		if below, ok := v.(*value.Hash); ok && depth > 0 {
			v = stripped(below, depth-1)
		}
		b.Put(k, v)
	}
	return b.Build()
}

func innobackupex(c *eval.Call) (value.Value, error) {
	var words []string
	if given(c.Args[0]) && given(c.Args[2]) {
		password, err := builtin.Text(c, c.Args[2])
		if err != nil {
			return nil, err
		}
		words = append(words, fmt.Sprintf(`--user="%s" --password="%s"`, str(c, 0), password))
	} else {
		words = append(words, "")
	}
	if given(c.Args[1]) {
		words = append(words, "--compress")
	}
	var names []string
	for _, v := range c.Args[3].(*value.Array).Elems() {
		names = append(names, string(v.(value.String)))
	}
	if len(names) > 0 {
		words = append(words, `--databases="`+strings.Join(names, " ")+`"`)
	}
	for _, v := range c.Args[4].(*value.Array).Elems() {
		words = append(words, string(v.(value.String)))
	}
	return value.String(strings.Join(words, " ")), nil
}

var postgresqlHash = lazyregexp.New(`(?m)^(md5[0-9a-f]{32}$|SCRAM-SHA-256\$)`)

func postgresqlPassword(c *eval.Call) (value.Value, error) {
	kind := c.Arg(3)
	if kind == nil || value.IsUndef(kind) {
		var err error
		if kind, err = c.Call("postgresql::default", nil, value.String("password_encryption")); err != nil {
			return nil, err
		}
	}
	password := unwrapped(c, 1)
	if s, ok := password.(value.String); ok && postgresqlHash().MatchString(string(s)) {
		return secret(c, 2, string(s)), nil
	}
	if kind != value.String("scram-sha-256") {
		user, err := builtin.Text(c, c.Args[0])
		if err != nil {
			return nil, err
		}
		text, err := builtin.Text(c, password)
		if err != nil {
			return nil, err
		}
		sum := md5.Sum([]byte(text + user))
		return secret(c, 2, "md5"+hex.EncodeToString(sum[:])), nil
	}
	salt := c.Args[0]
	if v := c.Arg(4); v != nil && !value.IsUndef(v) {
		salt = v
	}
	text, plain := password.(value.String)
	grain, ok := salt.(value.String)
	if !plain || !ok {
		return nil, invalid(c, "takes strings as password and salt of scram-sha-256")
	}
	const rounds = 4096
	if err := c.Step(rounds); err != nil {
		return nil, err
	}
	key, err := pbkdf2.Key(sha256.New, string(text), []byte(grain), rounds, sha256.Size)
	if err != nil {
		return nil, err
	}
	sign := func(with string) []byte {
		h := hmac.New(sha256.New, key)
		h.Write([]byte(with))
		return h.Sum(nil)
	}
	stored := sha256.Sum256(sign("Client Key"))
	encode := base64.StdEncoding.EncodeToString
	return secret(c, 2, fmt.Sprintf("SCRAM-SHA-256$%d:%s$%s:%s", rounds, encode([]byte(grain)), encode(stored[:]), encode(sign("Server Key")))), nil
}

func postgresqlEscape(c *eval.Call) (value.Value, error) {
	text := str(c, 0)
	if !strings.Contains(text, "$$") && !strings.HasSuffix(text, "$") {
		return value.String("$$" + text + "$$"), nil
	}
	letters := func(s string) string {
		sum := md5.Sum([]byte(s))
		return strings.Map(func(r rune) rune {
			if r >= '0' && r <= '9' {
				return -1
			}
			return r
		}, hex.EncodeToString(sum[:3]))
	}
	tag := letters(text)
	for strings.Contains(text, tag) {
		if err := c.Step(1); err != nil {
			return nil, err
		}
		tag = letters(tag)
	}
	return value.String("$" + tag + "$" + text + "$" + tag + "$"), nil
}

var startsWithDigit = lazyregexp.New(`(?m)^\d`)

func postgresqlACLs(c *eval.Call) (value.Value, error) {
	list, id, offset := c.Args[0].(*value.Array).Elems(), str(c, 1), int64(value.ClampInt(c.Args[2]))
	first := make(map[value.Value]int)
	var rules value.HashBuilder
	for i, v := range list {
		at, seen := first[v]
		if !seen {
			at = i
			first[v] = i
		}
		fields := strings.Fields(string(v.(value.String)))
		if len(fields) < 4 {
			return nil, invalid(c, "line %d of the list has %d fields, and needs 4", at, len(fields))
		}
		rule := []any{"type", fields[0], "database", fields[1], "user", fields[2], "order", fmt.Sprintf("%03d", offset+int64(at))}
		rest := 4
		switch {
		case fields[0] == "local":
			rule = append(rule, "auth_method", fields[3])
		case len(fields) > 4 && startsWithDigit().MatchString(fields[4]):
			rule = append(rule, "address", fields[3]+" "+fields[4])
			rest = 6
			rule = append(rule, "auth_method", fieldAt(fields, 5))
		default:
			rest = 5
			rule = append(rule, "address", fields[3], "auth_method", fieldAt(fields, 4))
		}
		if len(fields) > rest {
			rule = append(rule, "auth_option", strings.Join(fields[rest:], " "))
		}
		rules.Put(value.String(fmt.Sprintf("postgresql class generated rule %s %d", id, at)), hash(rule...))
	}
	return rules.Build(), nil
}

func fieldAt(fields []string, i int) value.Value {
	if i < len(fields) {
		return value.String(fields[i])
	}
	return value.Undef{}
}

func subsettings(c *eval.Call) (value.Value, error) {
	more, ok := c.Args[1].(*value.Hash)
	if !ok {
		return nil, invalid(c, "takes a hash as its second argument, got %s", value.DescribeValue(c.Args[1]))
	}
	var b value.HashBuilder
	for k, v := range c.Args[0].(*value.Hash).All() {
		name, err := builtin.Text(c, k)
		if err != nil {
			return nil, err
		}
		if !given(v) {
			v = value.String("")
		}
		b.Put(value.String("'"+name+"'"), value.NewHash(value.Entry{Key: value.String("subsetting"), Value: k}, value.Entry{Key: value.String("value"), Value: v}).Merge(more))
	}
	return b.Build(), nil
}
