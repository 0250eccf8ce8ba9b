package wire

import (
	"encoding/hex"
	"fmt"
	"io/fs"
	"time"
	"unicode/utf8"

	"bolt/transport"
)

// magic begins both greetings, so that each side detects a foreign program at
// once.
const magic = "bolt-pool"

// A Greeting is the first message of each side. Its first three fields have the
// same form in all versions.
type Greeting struct {
	Version int    // of the protocol
	Build   string // version of the program, for people
	// Made distinguishes builds of the same version; a newer build has a larger
	// value. It is the modification time of the program's file in nanoseconds.
	Made int64
	PID  int

	// Caller is empty in the daemon's greeting.
	Caller Caller
}

// Caller describes the invocation for which a client dials: the environment in
// which its SSH client would have run.
type Caller struct {
	Home        string
	Dir         string // working directory
	AgentSocket string
	Env         []string // NAME=value
}

// Encode returns the body of a Hello or Welcome.
func (g *Greeting) Encode() []byte {
	var e encoder
	e.text(magic)
	e.uint(uint64(g.Version))
	e.text(g.Build)
	e.int(g.Made)
	e.uint(uint64(g.PID))
	c := &g.Caller
	e.text(c.Home)
	e.text(c.Dir)
	e.text(c.AgentSocket)
	e.texts(c.Env)
	return e
}

// DecodeGreeting decodes a Greeting. If its version differs, DecodeGreeting
// reads only the fields that never change and ignores the rest.
func DecodeGreeting(body []byte) (*Greeting, error) {
	d := decoder{rest: body}
	if d.text() != magic {
		return nil, fmt.Errorf("greeting: the peer does not speak the pool's protocol")
	}
	g := &Greeting{Version: d.small(1 << 20), Build: d.text(), Made: d.int()}
	if d.err == nil && g.Version != Version {
		return g, nil
	}
	g.PID = d.small(1 << 31)
	g.Caller = Caller{Home: d.text(), Dir: d.text(), AgentSocket: d.text(), Env: d.texts()}
	return g, d.end("greeting")
}

// A Refusal contains the reason why a daemon refuses a client. It has the same
// form in all versions.
type Refusal struct {
	Version int
	Build   string
	Leaving bool // the daemon ends now, and the client may start a new one
	Reason  string
}

// Encode returns the body of a Refused.
func (r *Refusal) Encode() []byte {
	var e encoder
	e.uint(uint64(r.Version))
	e.text(r.Build)
	e.bool(r.Leaving)
	e.text(r.Reason)
	return e
}

// DecodeRefusal decodes a Refusal.
func DecodeRefusal(body []byte) (*Refusal, error) {
	d := decoder{rest: body}
	r := &Refusal{Version: d.small(1 << 20), Build: d.text(), Leaving: d.bool(), Reason: d.text()}
	return r, d.end("refusal")
}

// EncodeDest returns the body of a Dial.
func EncodeDest(to *transport.Dest) []byte {
	e := encoder(make([]byte, 0, 160))
	e.text(to.Protocol)
	e.text(to.Host)
	e.int(int64(to.Port))
	e.text(to.User)
	e.text(to.Password.Reveal())
	e.text(to.PrivateKey)
	e.text(to.KeyData.Reveal())
	e.int(int64(to.ConnectTimeout))
	e.int(int64(to.DisconnectTimeout))
	e.int(int64(to.Keepalive))
	e.uint(uint64(to.HostKeyCheck))
	e.bool(to.LoadConfig)
	e.text(to.ProxyJump)
	e.text(to.ProxyCommand)
	e.text(to.LoginShell)
	e.text(to.Ciphers)
	e.text(to.Kex)
	e.text(to.MACs)
	e.text(to.HostKeyAlgorithms)
	e.uint(uint64(to.GSSAPI))
	e.uint(uint64(to.GSSAPIDelegate))
	e.uint(uint64(to.ForwardAgent))
	return e
}

// DecodeDest decodes a Dest.
func DecodeDest(body []byte) (transport.Dest, error) {
	d := decoder{rest: body}
	to := transport.Dest{
		Protocol: d.text(), Host: d.text(), Port: int(d.int()), User: d.text(),
		Password: transport.NewSecret(d.text()), PrivateKey: d.text(), KeyData: transport.NewSecret(d.text()),
		ConnectTimeout: time.Duration(d.int()), DisconnectTimeout: time.Duration(d.int()), Keepalive: time.Duration(d.int()),
		HostKeyCheck: transport.HostKeyCheck(d.small(uint64(transport.CheckNone))), LoadConfig: d.bool(),
		ProxyJump: d.text(), ProxyCommand: d.text(), LoginShell: d.text(),
		Ciphers: d.text(), Kex: d.text(), MACs: d.text(), HostKeyAlgorithms: d.text(),
		GSSAPI: transport.Choice(d.small(uint64(transport.ChoiceNo))), GSSAPIDelegate: transport.Choice(d.small(uint64(transport.ChoiceNo))),
		ForwardAgent: transport.Choice(d.small(uint64(transport.ChoiceNo))),
	}
	return to, d.end("destination")
}

// A Digest identifies a content by the SHA-256 hash of its bytes.
type Digest [32]byte

func (g Digest) String() string { return hex.EncodeToString(g[:]) }

func (e *encoder) digest(g Digest) { *e = append(*e, g[:]...) }

func (d *decoder) digest() (g Digest) {
	if len(d.rest) < len(g) {
		d.fail(errShort)
		return g
	}
	d.rest = d.rest[copy(g[:], d.rest):]
	return g
}

// A StagedFile is a transport.File whose bytes are a content.
type StagedFile struct {
	Name string
	Mode fs.FileMode // permission bits
	Size int64
	Data Digest
}

// A RunRequest is a transport.Cmd for the connection of a lease. Cmd.Files and
// Cmd.Stdin are empty. Instead Files, and Stdin if HasStdin, are contents that
// must have been offered before. With HasInput, frames of Input follow. Cmd's
// sinks and Input are not sent.
type RunRequest struct {
	Lease    uint32
	Cmd      transport.Cmd
	Files    []StagedFile
	HasStdin bool
	Stdin    StagedFile // without a name
	HasInput bool
}

// Encode returns the body of a Run.
func (r *RunRequest) Encode() []byte {
	c := &r.Cmd
	e := encoder(make([]byte, 0, 96+len(c.Line)))
	e.uint(uint64(r.Lease))
	e.text(c.Label)
	e.text(c.Line)
	e.texts(c.Argv)
	e.texts(c.Interpreter)
	e.texts(c.Env)
	e.text(c.Dir)
	e.runAs(&c.RunAs)
	e.bool(c.TTY)
	e.text(c.TmpDir)
	e.text(c.ScriptDir)
	e.bool(c.KeepFiles)
	e.int(int64(c.Grace))
	e.uint(uint64(len(r.Files)))
	for i := range r.Files {
		e.file(&r.Files[i])
	}
	e.bool(r.HasStdin)
	if r.HasStdin {
		e.file(&r.Stdin)
	}
	e.bool(r.HasInput)
	return e
}

// DecodeRun decodes a RunRequest.
func DecodeRun(body []byte) (*RunRequest, error) {
	d := decoder{rest: body}
	r := &RunRequest{Lease: d.u32()}
	r.Cmd = transport.Cmd{
		Label: d.text(), Line: d.text(), Argv: d.texts(), Interpreter: d.texts(), Env: d.texts(), Dir: d.text(),
		RunAs: d.runAs(), TTY: d.bool(), TmpDir: d.text(), ScriptDir: d.text(), KeepFiles: d.bool(), Grace: time.Duration(d.int()),
	}
	for n := d.count(); n > 0 && d.err == nil; n-- {
		r.Files = append(r.Files, d.file())
	}
	if r.HasStdin = d.bool(); r.HasStdin {
		r.Stdin = d.file()
	}
	r.HasInput = d.bool()
	return r, d.end("command")
}

func (e *encoder) file(f *StagedFile) {
	e.text(f.Name)
	e.uint(uint64(f.Mode.Perm()))
	e.size(f.Size)
	e.digest(f.Data)
}

func (d *decoder) file() StagedFile {
	return StagedFile{Name: d.text(), Mode: fs.FileMode(d.small(0o777)), Size: d.size(), Data: d.digest()}
}

func (e *encoder) runAs(r *transport.RunAs) {
	e.text(r.User)
	e.text(r.Password.Reveal())
	e.text(r.Executable)
	e.texts(r.Command)
}

func (d *decoder) runAs() transport.RunAs {
	return transport.RunAs{User: d.text(), Password: transport.NewSecret(d.text()), Executable: d.text(), Command: d.texts()}
}

// options encodes the options of a copy. Limits are not sent, because the
// client enforces them.
func (e *encoder) options(o *transport.FileOptions) {
	e.text(o.Label)
	e.runAs(&o.RunAs)
	e.text(o.TmpDir)
	e.text(o.ScriptDir)
	e.bool(o.KeepFiles)
}

func (d *decoder) options() transport.FileOptions {
	return transport.FileOptions{Label: d.text(), RunAs: d.runAs(), TmpDir: d.text(), ScriptDir: d.text(), KeepFiles: d.bool()}
}

// A PutRequest copies a tree to the machine of a lease. The tree is a content:
// a tar stream as package transport/archive packs it.
type PutRequest struct {
	Lease   uint32
	Tree    Digest
	Source  string // the tree's path on the client's machine, for messages
	Name    string // base name of the tree in the tar stream
	Dst     string
	Options transport.FileOptions
}

// Encode returns the body of a Put.
func (r *PutRequest) Encode() []byte {
	var e encoder
	e.uint(uint64(r.Lease))
	e.digest(r.Tree)
	e.text(r.Source)
	e.text(r.Name)
	e.text(r.Dst)
	e.options(&r.Options)
	return e
}

// DecodePut decodes a PutRequest.
func DecodePut(body []byte) (*PutRequest, error) {
	d := decoder{rest: body}
	r := &PutRequest{Lease: d.u32(), Tree: d.digest(), Source: d.text(), Name: d.text(), Dst: d.text(), Options: d.options()}
	return r, d.end("upload")
}

// A GetRequest copies a file or directory from the machine of a lease.
type GetRequest struct {
	Lease   uint32
	Src     string
	Options transport.FileOptions
}

// Encode returns the body of a Get.
func (r *GetRequest) Encode() []byte {
	var e encoder
	e.uint(uint64(r.Lease))
	e.text(r.Src)
	e.options(&r.Options)
	return e
}

// DecodeGet decodes a GetRequest.
func DecodeGet(body []byte) (*GetRequest, error) {
	d := decoder{rest: body}
	r := &GetRequest{Lease: d.u32(), Src: d.text(), Options: d.options()}
	return r, d.end("download")
}

// A CancelRequest ends the work of a request.
type CancelRequest struct {
	Timeout bool // because its time is up; otherwise because it is not wanted any more
}

// Encode returns the body of a Cancel.
func (r *CancelRequest) Encode() []byte {
	var e encoder
	e.bool(r.Timeout)
	return e
}

// DecodeCancel decodes a CancelRequest.
func DecodeCancel(body []byte) (*CancelRequest, error) {
	d := decoder{rest: body}
	r := &CancelRequest{Timeout: d.bool()}
	return r, d.end("cancel")
}

// EncodeCredit returns the body of a Credit or Taken.
func EncodeCredit(n int) []byte {
	var e encoder
	e.uint(uint64(min(max(0, n), Window)))
	return e
}

// DecodeCredit decodes a Credit or Taken.
func DecodeCredit(body []byte) (int, error) {
	d := decoder{rest: body}
	n := d.small(Window)
	return n, d.end("credit")
}

// An OfferRequest announces a content.
type OfferRequest struct {
	Content Digest
	Size    int64
	Pushed  bool // its pieces follow without a Wanted
}

// Encode returns the body of an Offer.
func (r *OfferRequest) Encode() []byte {
	var e encoder
	e.digest(r.Content)
	e.size(r.Size)
	e.bool(r.Pushed)
	return e
}

// DecodeOffer decodes an OfferRequest.
func DecodeOffer(body []byte) (*OfferRequest, error) {
	d := decoder{rest: body}
	r := &OfferRequest{Content: d.digest(), Size: d.size(), Pushed: d.bool()}
	return r, d.end("offer")
}

// EncodeForget returns the body of a Forget.
func EncodeForget(content Digest) []byte {
	var e encoder
	e.digest(content)
	return e
}

// DecodeForget decodes a Forget.
func DecodeForget(body []byte) (Digest, error) {
	d := decoder{rest: body}
	content := d.digest()
	return content, d.end("forget")
}

// An AnswerRequest is the user's answer to transport.Error.Ask.
type AnswerRequest struct {
	Path       string // of the key file
	Passphrase transport.Secret
}

// Encode returns the body of an Answer.
func (r *AnswerRequest) Encode() []byte {
	var e encoder
	e.text(r.Path)
	e.text(r.Passphrase.Reveal())
	return e
}

// DecodeAnswer decodes an AnswerRequest.
func DecodeAnswer(body []byte) (*AnswerRequest, error) {
	d := decoder{rest: body}
	r := &AnswerRequest{Path: d.text(), Passphrase: transport.NewSecret(d.text())}
	return r, d.end("answer")
}

// EncodeStatus returns the body of an Exited. The code can be any number: SSH has
// statuses from 0 to 2^32-1 (RFC 4254 6.10), and Windows has negative statuses.
func EncodeStatus(s transport.Status) []byte {
	var e encoder
	e.int(int64(s.Code))
	e.text(clip(s.Signal))
	return e
}

// DecodeStatus decodes a Status.
func DecodeStatus(body []byte) (transport.Status, error) {
	d := decoder{rest: body}
	s := transport.Status{Code: int(d.int()), Signal: d.text()}
	return s, d.end("status")
}

// EncodeError returns the body of a Failed. The error's cause is not sent.
func EncodeError(err *transport.Error) []byte {
	var e encoder
	e.text(clip(string(err.Class)))
	e.text(clip(err.Code))
	msg := err.Msg
	if msg == "" && err.Err != nil {
		msg = fmt.Sprintf("%s: %v", err.Class, err.Err) // as the error itself would print it
	}
	e.text(clip(msg))
	e.text(clip(err.Hint))
	e.text(clip(err.Ask))
	return e
}

// clip shortens a string to MaxPiece bytes, at a character boundary: a frame
// has room for several such strings.
func clip(s string) string {
	if len(s) <= MaxPiece {
		return s
	}
	n := MaxPiece
	for n > MaxPiece-utf8.UTFMax && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n]
}

// DecodeError decodes an Error.
func DecodeError(body []byte) (*transport.Error, error) {
	d := decoder{rest: body}
	err := &transport.Error{Class: transport.Class(d.text()), Code: d.text(), Msg: d.text(), Hint: d.text(), Ask: d.text()}
	return err, d.end("error")
}

// A Warning is a message of the dialer about a problem that is not a failure.
type Warning struct{ ID, Text string }

// Encode returns the body of a Warned.
func (w *Warning) Encode() []byte {
	var e encoder
	e.text(clip(w.ID))
	e.text(clip(w.Text))
	return e
}

// DecodeWarning decodes a Warning.
func DecodeWarning(body []byte) (*Warning, error) {
	d := decoder{rest: body}
	w := &Warning{ID: d.text(), Text: d.text()}
	return w, d.end("warning")
}
