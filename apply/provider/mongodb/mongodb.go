// Package mongodb applies resources of the module puppet-mongodb: mongodb_user, mongodb_database and mongodb_conn_validator.
//
// The rules come from version 7.0 of the module. The server is read and changed with the shell mongosh, or with the older mongo. As in the module, the
// address and TLS come from /etc/mongod.conf, and /root/.mongoshrc.js (/root/.mongorc.js for mongo) is loaded first, because it can log in. A shell starts
// slowly, so one script reads all resources of a type. Scripts have passwords, and every user of the host can see arguments, so a script is in a file
// that has no name. The shell reads it from descriptor 3.
package mongodb

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"bolt/apply/report"
	"bolt/apply/resource"
	"bolt/format/ordered"
	"bolt/internal/lazyregexp"
	"bolt/internal/safetext"
)

const (
	queryLimit = time.Minute
	limit      = 10 * time.Minute // of a change
	// pause is between two tries to reach a server that starts, as the type in the module documents.
	pause = 2 * time.Second
)

// script is the program of a shell after the line with its input. The commands of a job run in their order, until one fails. The next job runs all the
// same. mongosh throws the failure of a command, and mongo returns it.
const script = `
var result = {errors: []};
function describe(e) {
  return {code: Number(e.code || 0), name: String(e.codeName || e.name || ""), message: String(e.message)};
}
function checked(r) {
  if (!r.ok) { throw {code: r.code, codeName: r.codeName, message: r.errmsg}; }
  var failed = r.writeConcernError || (r.writeErrors || [])[0];
  if (failed) { throw {code: failed.code, codeName: failed.codeName, message: failed.errmsg}; }
  return r;
}
try {
  try {
    if (input.rc) { load(input.rc); }
  } catch (e) {
    throw {codeName: String(e.name), message: "the shell cannot load " + input.rc};
  }
  var admin = db.getSiblingDB("admin");
  result.primary = checked(admin.runCommand({isMaster: 1})).ismaster === true;
  if (result.primary && input.read === "users") {
    result.users = admin.getCollection("system.users").find().toArray().map(function (u) {
      var credentials = {};
      ["SCRAM-SHA-1", "SCRAM-SHA-256"].forEach(function (name) {
        var c = (u.credentials || {})[name];
        if (c) { credentials[name] = {iterationCount: Number(c.iterationCount), salt: c.salt, storedKey: c.storedKey, serverKey: c.serverKey}; }
      });
      return {user: u.user, db: u.db, roles: (u.roles || []).map(function (r) { return {role: r.role, db: r.db}; }), credentials: credentials};
    });
  }
  if (result.primary && input.read === "databases") {
    result.databases = checked(admin.runCommand({listDatabases: 1, nameOnly: true})).databases.map(function (d) { return d.name; });
  }
  var jobs = input.jobs || [];
  for (var i = 0; i < jobs.length; i++) {
    result.errors[i] = null;
    try {
      for (var j = 0; j < jobs[i].length; j++) { checked(db.getSiblingDB(jobs[i][j].db).runCommand(jobs[i][j].command)); }
    } catch (e) {
      result.errors[i] = describe(e);
    }
  }
} catch (e) {
  result.error = describe(e);
}
print("bolt-result:" + JSON.stringify(result));
`

const resultPrefix = "bolt-result:"

// An input is the value of input in the script.
type input struct {
	RC   string      `json:"rc,omitempty"`
	Read string      `json:"read,omitempty"`
	Jobs [][]command `json:"jobs,omitempty"`
}

// A command is run in a database. The name of the command is the first key.
type command struct {
	DB      string       `json:"db"`
	Command *ordered.Map `json:"command"`
}

// A result is the line that the script prints.
type result struct {
	Primary   bool
	Users     []account
	Databases []string
	Error     *failure
	Errors    []*failure // of the jobs
}

// A failure is an error of the server, or of the script.
type failure struct {
	Code          int64
	Name, Message string
}

// unauthorized is the code of the server for a command that the login does not allow, or that needs a login.
const unauthorized = 13

func (f *failure) Error() string {
	return fmt.Sprintf("MongoDB: error %d (%s): %s", f.Code, safetext.Message(f.Name), safetext.Message(f.Message))
}

// errMissing is the error for a host without a shell. There, nothing exists.
var errMissing = errors.New("the program mongosh is missing. Install the package mongodb-mongosh on the target")

// unreachable matches the messages of the shells about a server that does not answer.
var unreachable = lazyregexp.New(`ECONNREFUSED|EHOSTUNREACH|MongoNetworkError|MongoServerSelectionError|couldn't connect to server`)

// errDown is the error for a server that does not answer.
type errDown struct{ error }

// run runs a script.
func run(ctx context.Context, h *resource.Host, in input) (*result, error) {
	program := h.Find("mongosh", "mongo")
	if program == "" {
		return nil, errMissing
	}
	c, err := configuration(ctx, h)
	if err != nil {
		return nil, err
	}
	in.RC = "/root/.mongoshrc.js"
	args := append([]string{program, c.url(), "--quiet", "--norc"}, c.args...)
	if strings.HasSuffix(program, "/mongo") {
		in.RC = "/root/.mongorc.js"
		args = append(args, "/proc/self/fd/3")
	} else {
		args = append(args, "--file", "/proc/self/fd/3")
	}
	if info, err := os.Stat(h.Path(in.RC)); err != nil || !info.Mode().IsRegular() {
		in.RC = ""
	}
	file, err := nameless(in)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	env := h.Environ()
	if os.Geteuid() == 0 {
		env = h.Environ("HOME=/root")
	}
	cmd := &resource.Command{Argv: args, Env: env, Dir: "/", Keep: []*os.File{file}, Timeout: queryLimit}
	if len(in.Jobs) > 0 {
		cmd.Session, cmd.Timeout = true, limit
	}
	out, err := h.Run(ctx, cmd)
	switch {
	case err != nil:
		return nil, fmt.Errorf("mongosh: %w", err)
	case out.Cut:
		return nil, errors.New("mongosh printed too much")
	case out.Code != 0 && unreachable().Match(bytes.Join([][]byte{out.Stdout, out.Stderr}, nil)):
		return nil, errDown{out.Failure(program)}
	}
	return parse(out, program)
}

// parse reads the output of a shell. Other lines of it, such as warnings and the output of the loaded file, are ignored.
func parse(out *resource.Output, program string) (*result, error) {
	_, text, is := bytes.Cut(append([]byte("\n"), out.Stdout...), []byte("\n"+resultPrefix))
	if !is {
		if err := out.Failure(program); err != nil {
			return nil, err
		}
		return nil, errors.New("mongosh printed no result")
	}
	text, _, _ = bytes.Cut(text, []byte("\n"))
	var r result
	if err := json.Unmarshal(text, &r); err != nil {
		return nil, errors.New("mongosh printed a result that is not understood")
	}
	if r.Error != nil {
		return nil, r.Error
	}
	return &r, nil
}

// nameless returns a file in memory with a script. No other user can read it, and it ends with its last descriptor.
func nameless(in input) (*os.File, error) {
	data, err := json.Marshal(in)
	if err != nil {
		return nil, err
	}
	fd, err := unix.MemfdCreate("script", unix.MFD_CLOEXEC)
	if err != nil {
		return nil, os.NewSyscallError("memfd_create", err)
	}
	f := os.NewFile(uintptr(fd), "script")
	if err = f.Chmod(0o600); err == nil {
		_, err = io.WriteString(f, "var input = "+string(data)+";"+script)
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

// query runs a script that reads, until the server answers. tries is the number of tries.
func query(ctx context.Context, h *resource.Host, r *resource.Resource, read string, tries int64) (*result, error) {
	for try := int64(1); ; try++ {
		res, err := run(ctx, h, input{Read: read})
		down := errDown{}
		if !errors.As(err, &down) || try >= tries {
			return res, err
		}
		h.Logf(r.Ref, report.Info, "%s. The next try is in %s", err, pause)
		if err := resource.Sleep(ctx, pause); err != nil {
			return nil, err
		}
	}
}

// A job is the commands for one resource. secret is set if they have a password or a hash: then messages are not shown, because they can have it, too.
type job struct {
	commands []command
	secret   bool
	err      error // of the resource, so that it has no commands
}

// change runs jobs with one script.
func change(ctx context.Context, h *resource.Host, jobs []job) []error {
	var in input
	secret := false
	for _, j := range jobs {
		if j.err == nil {
			in.Jobs = append(in.Jobs, j.commands)
			secret = secret || j.secret
		}
	}
	errs := make([]error, len(jobs))
	var res *result
	var err error
	if len(in.Jobs) > 0 {
		if res, err = run(ctx, h, in); err == nil && len(res.Errors) != len(in.Jobs) {
			err = errors.New("mongosh printed a result that is not understood")
		}
		if secret {
			err = hidden(err)
		}
	}
	n := 0
	for i, j := range jobs {
		switch errs[i] = j.err; {
		case j.err != nil:
			continue
		case err != nil:
			errs[i] = err
			continue
		}
		if f := res.Errors[n]; f != nil {
			if errs[i] = f; j.secret {
				errs[i] = hidden(f)
			}
		}
		n++
	}
	return errs
}

// hidden returns an error without the messages of the server and of the shell.
func hidden(err error) error {
	var f *failure
	down := errDown{}
	switch {
	case err == nil || errors.Is(err, errMissing) || errors.As(err, &down) || errors.Is(err, resource.ErrTimeout) || errors.Is(err, context.Canceled):
		return err
	case errors.As(err, &f):
		return fmt.Errorf("MongoDB: error %d (%s). The message is not shown, because the command has a secret", f.Code, safetext.Message(f.Name))
	}
	return errors.New("mongosh has failed. Its messages are not shown, because the command has a secret")
}

// tries reads the parameter of this name.
func tries(f *resource.Fields) int64 {
	n, err := f.R.Int("tries", 10)
	if err != nil || n < 0 || n > 1<<31 {
		f.RefuseValue("tries", "must be a whole number of at least 0", f.Text("tries", ""))
	}
	return n
}

// onSecondary logs that a server is not the primary member of its replica set. Such a server cannot be changed, so resources there stay as they are.
func onSecondary(h *resource.Host, r *resource.Resource) {
	h.Logf(r.Ref, report.Warning, "The server is not the primary member of its replica set, so the resource is not compared")
}

// databaseName matches the names of databases that the module allows.
var databaseName = lazyregexp.New(`^[\w-]+$`)
