package mongodb

import (
	"context"
	"crypto/hmac"
	"crypto/pbkdf2"
	"crypto/sha1"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"hash"
	"io"
	"maps"
	"slices"
	"strings"
	"testing"

	"bolt/apply/provider/providertest"
	"bolt/apply/resource"
	"bolt/format/ordered"
)

var types = map[string]resource.Type{"Mongodb_user": User(), "Mongodb_database": Database(), "Mongodb_conn_validator": ConnValidator()}

// A server is a stand-in for MongoDB with its shell, because Debian has neither. It reads the input of the script from descriptor 3, and answers as the
// commands of MongoDB 7.0 and its collection system.users are documented. It does not run the script: TestScript
// does. mongosh 2.12 also ran it by hand, with FerretDB 1.24 as the server.
type server struct {
	t         *testing.T
	users     map[string]*account // by DB.USER
	databases map[string]bool
	secondary bool
	down      int // this number of shells cannot connect
	denied    bool
	dies      int    // the shell is killed after this number of commands, if it is not 0
	noise     string // before the result
	scripts   []string
}

func newServer(t *testing.T) (*providertest.Machine, *server) {
	s := &server{t: t, users: make(map[string]*account), databases: map[string]bool{"admin": true}}
	m := providertest.Scripted(t, "mongosh", types)
	record := m.Host.Run
	m.Host.Run = func(ctx context.Context, c *resource.Command) (*resource.Output, error) {
		if _, err := record(ctx, c); err != nil {
			return nil, err
		}
		if s.down > 0 {
			s.down--
			return &resource.Output{Stderr: []byte("MongoNetworkError: connect ECONNREFUSED 127.0.0.1:27017\n"), Code: 1}, nil
		}
		data, err := io.ReadAll(io.NewSectionReader(c.Keep[0], 0, 1<<20))
		if err != nil {
			t.Error(err)
		}
		line, rest, _ := strings.Cut(string(data), "\n")
		if "\n"+rest != script {
			t.Errorf("the script is %q", rest)
		}
		s.scripts = append(s.scripts, line)
		answer := s.run(strings.TrimSuffix(strings.TrimPrefix(line, "var input = "), ";"))
		if answer == nil {
			return &resource.Output{Code: 137, Signal: 9}, nil
		}
		res, err := json.Marshal(answer)
		if err != nil {
			t.Error(err)
		}
		return &resource.Output{Stdout: []byte(s.noise + resultPrefix + string(res) + "\n")}, nil
	}
	return m, s
}

func fail(code int, name, message string) map[string]any {
	return map[string]any{"error": map[string]any{"code": code, "name": name, "message": message}}
}

// run answers a script. The answer is nil if the shell is killed.
func (s *server) run(text string) map[string]any {
	var in input
	if err := json.Unmarshal([]byte(text), &in); err != nil {
		s.t.Error(err)
	}
	if s.denied && in.Read != "" {
		return fail(unauthorized, "Unauthorized", "Command find requires authentication")
	}
	out := map[string]any{"primary": !s.secondary}
	switch {
	case s.secondary:
	case in.Read == "users":
		list := slices.Collect(maps.Values(s.users))
		out["users"] = list
	case in.Read == "databases":
		out["databases"] = slices.Collect(maps.Keys(s.databases))
	}
	errs := make([]any, len(in.Jobs))
	for i, commands := range in.Jobs {
		for _, c := range commands {
			if f := s.command(c.DB, c.Command); f != nil {
				errs[i] = f["error"]
				break
			}
			if s.dies--; s.dies == 0 {
				return nil
			}
		}
	}
	out["errors"] = errs
	return out
}

func (s *server) command(db string, m *ordered.Map) map[string]any {
	name := m.Keys()[0]
	subject, _ := m.Value(name).(string)
	u := s.users[db+"."+subject]
	roles := func() (list []role) {
		data, err := json.Marshal(m.Value("roles"))
		if err == nil {
			err = json.Unmarshal(data, &list)
		}
		if err != nil {
			s.t.Error(err)
		}
		return list
	}
	switch name {
	case "createUser":
		if u != nil {
			return fail(51003, "Location51003", "User \""+subject+"@"+db+"\" already exists")
		}
		if slices.ContainsFunc(roles(), func(r role) bool { return r.Role == "none" }) {
			return fail(31, "RoleNotFound", fmt.Sprint("Could not find role: none@", db, " ", m))
		}
		s.users[db+"."+subject] = &account{User: subject, DB: db, Roles: roles(), Credentials: credentialsOf(m)}
	case "insert":
		s.databases[db] = true
	case "dropDatabase":
		delete(s.databases, db)
	default:
		if u == nil {
			return fail(11, "UserNotFound", "User not found")
		}
	}
	switch name {
	case "updateUser":
		maps.Copy(u.Credentials, credentialsOf(m))
	case "grantRolesToUser":
		u.Roles = append(u.Roles, roles()...)
	case "revokeRolesFromUser":
		gone := roles()
		u.Roles = slices.DeleteFunc(u.Roles, func(r role) bool { return slices.Contains(gone, r) })
	case "dropUser":
		delete(s.users, db+"."+subject)
	}
	return nil
}

// credentialsOf makes credentials as the server does.
func credentialsOf(m *ordered.Map) map[string]credential {
	pwd := m.Value("pwd").(string)
	mechanism := m.Value("mechanisms").([]any)[0].(string)
	h := sha1.New
	if mechanism == sha256Name {
		h = sha256.New
	}
	return map[string]credential{mechanism: newCredential(h, pwd, []byte("a salt of "+pwd[:1]), 100)}
}

// newCredential follows RFC 5802.
func newCredential(h func() hash.Hash, password string, salt []byte, rounds int) credential {
	key, err := pbkdf2.Key(h, password, salt, rounds, h().Size())
	if err != nil {
		panic(err)
	}
	sign := func(text string) []byte {
		m := hmac.New(h, key)
		m.Write([]byte(text))
		return m.Sum(nil)
	}
	stored := h()
	stored.Write(sign("Client Key"))
	encode := base64.StdEncoding.EncodeToString
	return credential{rounds, encode(salt), encode(stored.Sum(nil)), encode(sign("Server Key"))}
}
