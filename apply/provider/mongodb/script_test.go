package mongodb

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"bolt/apply/resource"
	"bolt/format/ordered"
)

// shellOfTest has the functions of the shells that the script uses, as mongosh and mongo document them.
const shellOfTest = `
var calls = [];
function load(path) {
  calls.push("load " + path);
  if (path === "/bad.js") { throw new Error("a secret of the file"); }
}
var answers = {
  isMaster: {ok: 1, ismaster: true},
  listDatabases: {ok: 1, databases: [{name: "admin"}, {name: "shop"}]},
  good: {ok: 1},
  returned: {ok: 0, code: 11, codeName: "UserNotFound", errmsg: "no user"},
  unwritten: {ok: 1, writeConcernError: {code: 64, codeName: "WriteConcernFailed", errmsg: "waiting"}}
};
var db = {getSiblingDB: function (name) {
  return {
    runCommand: function (command) {
      var kind = Object.keys(command)[0];
      calls.push(name + " " + kind);
      if (kind === "thrown") {
        var e = new Error("denied");
        e.code = 13;
        e.codeName = "Unauthorized";
        throw e;
      }
      return answers[kind];
    },
    getCollection: function (collection) {
      calls.push(name + " " + collection);
      return {find: function () {
        return {toArray: function () {
          return [{user: "u", db: "shop", roles: [{role: "read", db: "shop", other: 1}], credentials: {
            "SCRAM-SHA-1": {iterationCount: 10000, salt: "c2FsdA==", storedKey: "a", serverKey: "b"}, "OTHER": {}}}, {user: "v", db: "admin"}];
        }};
      }};
    }
  };
}};
`

// TestScript runs the script in the interpreter of JavaScript duk, because Debian has no shell of MongoDB.
func TestScript(t *testing.T) {
	job := func(names ...string) (list []command) {
		for _, n := range names {
			list = append(list, command{"shop", ordered.Of(n, 1)})
		}
		return list
	}
	run := func(in input) (r *result, calls []string, err error) {
		t.Helper()
		data, jsonErr := json.Marshal(in)
		if jsonErr != nil {
			t.Fatal(jsonErr)
		}
		file := filepath.Join(t.TempDir(), "script.js")
		text := shellOfTest + "var input = " + string(data) + ";" + script + `print("calls:" + JSON.stringify(calls));`
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		out, runErr := exec.CommandContext(t.Context(), "duk", file).CombinedOutput()
		_, list, is := strings.Cut(string(out), "\ncalls:")
		if runErr != nil || !is || json.Unmarshal([]byte(list), &calls) != nil {
			t.Fatalf("%v\n%s", runErr, out)
		}
		r, err = parse(&resource.Output{Stdout: out}, "mongosh")
		return r, calls, err
	}

	r, calls, err := run(input{Read: "users", RC: "/rc.js"})
	want := &result{Primary: true, Errors: []*failure{}, Users: []account{
		{User: "u", DB: "shop", Roles: []role{{"read", "shop"}}, Credentials: map[string]credential{"SCRAM-SHA-1": {10000, "c2FsdA==", "a", "b"}}},
		{User: "v", DB: "admin", Roles: []role{}, Credentials: map[string]credential{}},
	}}
	if err != nil || !reflect.DeepEqual(r, want) || strings.Join(calls, ", ") != "load /rc.js, admin isMaster, admin system.users" {
		t.Errorf("users: %+v, %q, %v", r, calls, err)
	}
	r, _, err = run(input{Read: "databases"})
	if err != nil || strings.Join(r.Databases, " ") != "admin shop" {
		t.Errorf("databases: %+v, %v", r, err)
	}
	// A failed command ends its job only.
	r, calls, err = run(input{Jobs: [][]command{job("good"), job("good", "returned", "good"), job("thrown"), job("unwritten"), job("good", "good")}})
	failed := []*failure{nil, {11, "UserNotFound", "no user"}, {13, "Unauthorized", "denied"}, {64, "WriteConcernFailed", "waiting"}, nil}
	if err != nil || !reflect.DeepEqual(r.Errors, failed) {
		t.Errorf("jobs: %+v, %v", r, err)
	}
	if got := strings.Join(calls, ", "); got != "admin isMaster, shop good, shop good, shop returned, shop thrown, shop unwritten, shop good, shop good" {
		t.Errorf("the commands are %s", got)
	}
	// The text of an error in the file could be a password.
	if _, _, err = run(input{RC: "/bad.js", Jobs: [][]command{job("good")}}); err == nil || strings.Contains(err.Error(), "secret") || !strings.Contains(err.Error(), "cannot load /bad.js") {
		t.Errorf("a file that fails: %v", err)
	}
}
