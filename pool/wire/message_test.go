package wire

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"bolt/transport"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

// sinksAndContents are the fields that are not sent in the message itself.
var sinksAndContents = map[string]bool{
	"Cmd.Files": true, "Cmd.Stdin": true, "Cmd.Input": true, "Cmd.Stdout": true, "Cmd.Stderr": true, "Error.Err": true,
	"Dest.Options":       true, // of transports that the daemon does not have
	"FileOptions.Limits": true, // enforced by the client
	// The daemon has no transport for machines with PowerShell.
	"Cmd.Named": true, "Cmd.TellDir": true, "Cmd.Extensions": true,
}

// fill sets every field below v to a non-zero value.
func fill(t *testing.T, r *rand.Rand, v reflect.Value) {
	t.Helper()
	switch x := v.Addr().Interface().(type) {
	case *transport.Secret:
		*x = transport.NewSecret(text(r))
		return
	case *transport.Choice:
		*x = 1 + transport.Choice(r.IntN(int(transport.ChoiceNo)))
		return
	case *transport.HostKeyCheck:
		*x = 1 + transport.HostKeyCheck(r.IntN(int(transport.CheckNone)))
		return
	case *fs.FileMode:
		*x = 1 + fs.FileMode(r.IntN(0o777))
		return
	}
	switch v.Kind() {
	case reflect.Struct:
		for i := range v.NumField() {
			if f := v.Type().Field(i); !sinksAndContents[v.Type().Name()+"."+f.Name] {
				fill(t, r, v.Field(i))
			}
		}
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 1+r.IntN(4), 8))
		for i := range v.Len() {
			fill(t, r, v.Index(i))
		}
	case reflect.Array:
		for i := range v.Len() {
			fill(t, r, v.Index(i))
		}
	case reflect.String:
		v.SetString(text(r))
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Int, reflect.Int32:
		v.SetInt(1 + int64(r.Int32N(1<<30)))
	case reflect.Int64:
		v.SetInt(1 + r.Int64N(1<<50))
	case reflect.Uint8:
		v.SetUint(1 + r.Uint64N(255))
	case reflect.Uint32:
		v.SetUint(1 + r.Uint64N(1<<32-1))
	default:
		t.Fatalf("a %v has come into a message: decide how it travels", v.Type())
	}
}

func text(r *rand.Rand) string {
	b := make([]byte, 1+r.IntN(200))
	for i := range b {
		b[i] = byte(r.Uint32())
	}
	return string(b)
}

// A coding is the pair of functions of a message.
type coding struct {
	name   string
	new    func() any // a pointer to the message
	encode func(any) []byte
	decode func([]byte) (any, error)
}

// codec makes a coding from typed functions.
func codec[T any](name string, encode func(*T) []byte, decode func([]byte) (*T, error)) coding {
	return coding{name, func() any { return new(T) }, func(m any) []byte { return encode(m.(*T)) },
		func(b []byte) (any, error) { return decode(b) }}
}

// byValue converts functions of values to functions of pointers.
func byValue[T any](name string, encode func(T) []byte, decode func([]byte) (T, error)) coding {
	return codec(name, func(m *T) []byte { return encode(*m) }, func(b []byte) (*T, error) {
		m, err := decode(b)
		return &m, err
	})
}

func codings() []coding {
	return []coding{
		codec("greeting", (*Greeting).Encode, DecodeGreeting),
		codec("refusal", (*Refusal).Encode, DecodeRefusal),
		codec("dest", EncodeDest, func(b []byte) (*transport.Dest, error) {
			to, err := DecodeDest(b)
			return &to, err
		}),
		codec("run", (*RunRequest).Encode, DecodeRun),
		codec("put", (*PutRequest).Encode, DecodePut),
		codec("get", (*GetRequest).Encode, DecodeGet),
		codec("cancel", (*CancelRequest).Encode, DecodeCancel),
		byValue("credit", EncodeCredit, DecodeCredit),
		codec("offer", (*OfferRequest).Encode, DecodeOffer),
		byValue("forget", EncodeForget, DecodeForget),
		codec("answer", (*AnswerRequest).Encode, DecodeAnswer),
		byValue("status", EncodeStatus, DecodeStatus),
		codec("error", EncodeError, DecodeError),
		codec("warning", (*Warning).Encode, DecodeWarning),
	}
}

var secrets = cmp.Comparer(func(a, b transport.Secret) bool { return a == b })

// TestRoundTrip fills every field. If a field of a message is missing in its codec, it
// comes back empty.
func TestRoundTrip(t *testing.T) {
	for _, c := range codings() {
		t.Run(c.name, func(t *testing.T) {
			for seed := range uint64(50) {
				in := c.new()
				fill(t, rand.New(rand.NewPCG(seed, 0)), reflect.ValueOf(in).Elem())
				switch m := in.(type) {
				case *Greeting:
					m.Version = Version
				case *Refusal:
					m.Version %= 1 << 20
				case *int:
					*m %= Window
				case *RunRequest:
					m.Stdin.Name = "" // it is sent too
				}
				body := c.encode(in)
				out, err := c.decode(body)
				if err != nil {
					t.Fatalf("seed %d: %v", seed, err)
				}
				if diff := cmp.Diff(in, out, secrets); diff != "" {
					t.Fatalf("seed %d (- sent, + received):\n%s", seed, diff)
				}
				for n := range body {
					if _, err := c.decode(body[:n]); err == nil {
						t.Fatalf("seed %d: the first %d of %d bytes are accepted", seed, n, len(body))
					}
				}
				if _, err := c.decode(append(body, 0)); err == nil {
					t.Fatalf("seed %d: a byte too many is accepted", seed)
				}
			}
		})
	}
}

// odd sets every field below v to an unusual value: numbers to the limits of their
// types, and strings to arbitrary bytes. Strings from targets are longer than a frame.
// A field for a constant of this program (a choice, a mode) gets one of its constants.
func odd(t *testing.T, r *rand.Rand, v reflect.Value, long bool) {
	t.Helper()
	switch v.Addr().Interface().(type) {
	case *transport.Secret, *transport.Choice, *transport.HostKeyCheck, *fs.FileMode:
		fill(t, r, v)
		return
	}
	switch v.Kind() {
	case reflect.Struct:
		for i := range v.NumField() {
			if f := v.Type().Field(i); !sinksAndContents[v.Type().Name()+"."+f.Name] {
				odd(t, r, v.Field(i), long)
			}
		}
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 1+r.IntN(4), 8))
		for i := range v.Len() {
			odd(t, r, v.Index(i), long)
		}
	case reflect.String:
		s := []string{"", "\x00", "a\nb\r\x1b[2J", "\xff\xfe", "\u202e", text(r)}[r.IntN(6)]
		if long && r.IntN(2) == 0 {
			s = strings.Repeat(s+"é", MaxFrame/2)
		}
		v.SetString(s)
	case reflect.Int, reflect.Int64:
		v.SetInt([]int64{math.MinInt64, math.MinInt32, -1, 0, 255, 1 << 31, 1<<32 - 1, math.MaxInt64, int64(r.Uint64())}[r.IntN(9)])
	case reflect.Bool:
		v.SetBool(r.IntN(2) == 0)
	default:
		fill(t, r, v)
	}
}

// bound cuts the strings of a message as the encoder does.
func bound(in any) {
	clipAll := func(list ...*string) {
		for _, s := range list {
			*s = clip(*s)
		}
	}
	switch m := in.(type) {
	case *transport.Status:
		clipAll(&m.Signal)
	case *transport.Error:
		class := string(m.Class)
		clipAll(&class, &m.Code, &m.Msg, &m.Hint, &m.Ask)
		m.Class = transport.Class(class)
	case *Warning:
		clipAll(&m.ID, &m.Text)
	case *OfferRequest:
		m.Size = max(0, m.Size)
	case *int:
		*m = min(max(0, *m), Window)
	case *RunRequest:
		for i := range m.Files {
			m.Files[i].Size = max(0, m.Files[i].Size)
		}
		if m.Stdin.Size = max(0, m.Stdin.Size); !m.HasStdin {
			m.Stdin = StagedFile{}
		}
	}
}

// TestEveryValueRoundTrips checks that the decoder accepts the encoding of any value,
// and that a message with a target's bytes fits in a frame. If the decoder refused a
// frame, every target of the session would lose its result.
func TestEveryValueRoundTrips(t *testing.T) {
	fromTarget := map[string]bool{"status": true, "error": true, "warning": true}
	for _, c := range codings() {
		t.Run(c.name, func(t *testing.T) {
			for seed := range uint64(200) {
				in := c.new()
				odd(t, rand.New(rand.NewPCG(seed, 1)), reflect.ValueOf(in).Elem(), fromTarget[c.name] && seed%8 == 0)
				switch m := in.(type) {
				case *Greeting: // numbers of this program and of the system
					m.Version, m.PID = Version, int(seed)
				case *Refusal:
					m.Version = Version
				case *RunRequest:
					m.Stdin.Name = ""
				}
				body := c.encode(in)
				if fromTarget[c.name] && len(body) > MaxFrame {
					t.Fatalf("seed %d: %d bytes do not fit in a frame", seed, len(body))
				}
				out, err := c.decode(body)
				if err != nil {
					t.Fatalf("seed %d: %v, of %+.200v", seed, err, in)
				}
				if e, ok := in.(*transport.Error); ok && e.Msg == "" {
					e.Msg = out.(*transport.Error).Msg // see TestErrorMessageRoundTrip
				}
				bound(in)
				if diff := cmp.Diff(in, out, secrets, cmpopts.EquateEmpty()); diff != "" {
					t.Fatalf("seed %d (- sent, + received):\n%.2000s", seed, diff)
				}
			}
		})
	}
}

// TestStatuses checks that the statuses of SSH and Windows arrive unchanged.
func TestStatuses(t *testing.T) {
	for _, code := range []int{0, 1, 255, 256, 1<<31 - 1, 1 << 31, 0xc0000005, 1<<32 - 1, -1, -1073741819, math.MaxInt64, math.MinInt64} {
		want := transport.Status{Code: code}
		if got, err := DecodeStatus(EncodeStatus(want)); err != nil || got != want {
			t.Errorf("status %d arrives as %+v, %v", code, got, err)
		}
	}
}

// TestZeroValuesRoundTrip checks that empty values arrive empty.
func TestZeroValuesRoundTrip(t *testing.T) {
	for _, c := range codings() {
		t.Run(c.name, func(t *testing.T) {
			in := c.new()
			if g, ok := in.(*Greeting); ok {
				g.Version = Version
			}
			out, err := c.decode(c.encode(in))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(in, out, secrets); diff != "" {
				t.Errorf("(- sent, + received):\n%s", diff)
			}
		})
	}
}

func TestNegativeNumbers(t *testing.T) {
	to := transport.Dest{Port: -1, ConnectTimeout: -time.Second, DisconnectTimeout: -1, Keepalive: -1 << 63}
	got, err := DecodeDest(EncodeDest(&to))
	if err != nil || got != to {
		t.Errorf("got %+v, %v", got, err)
	}
	st := transport.Status{Code: -1, Signal: "TERM"}
	if got, err := DecodeStatus(EncodeStatus(st)); err != nil || got != st {
		t.Errorf("got %+v, %v", got, err)
	}
}

func TestRefused(t *testing.T) {
	enc := func(f func(e *encoder)) []byte { var e encoder; f(&e); return e }
	run := (&RunRequest{Lease: 1}).Encode()
	file := func(mode, size uint64) []byte {
		return enc(func(e *encoder) { e.text("x"); e.uint(mode); e.uint(size); e.digest(Digest{}) })
	}
	files := func(f []byte) []byte {
		n := len(run) - 3 // before the count of files, HasStdin and HasInput
		return append(append(append(bytes.Clone(run[:n]), 1), f...), 0, 0)
	}
	decodeRun := func(b []byte) error { _, err := DecodeRun(b); return err }
	decodeStatus := func(b []byte) error { _, err := DecodeStatus(b); return err }
	decodeCancel := func(b []byte) error { _, err := DecodeCancel(b); return err }
	decodeCredit := func(b []byte) error { _, err := DecodeCredit(b); return err }
	decodeGreeting := func(b []byte) error { _, err := DecodeGreeting(b); return err }
	if err := decodeRun(files(file(0o777, 1))); err != nil {
		t.Fatalf("a good file: %v", err)
	}
	cases := []struct {
		name   string
		decode func([]byte) error
		body   []byte
		want   string
	}{
		{"mode with more than permissions", decodeRun, files(file(0o1000, 1)), "larger than"},
		{"size beyond reason", decodeRun, files(file(0o777, 1<<63)), "larger than"},
		{"a list longer than the message", decodeRun, append(bytes.Clone(run[:len(run)-3]), 200, 1), "too short"},
		{"a lease of 33 bits", decodeRun, enc(func(e *encoder) { e.uint(1 << 32) }), "larger than"},
		{"status without a signal", decodeStatus, enc(func(e *encoder) { e.int(1 << 32) }), "too short"},
		{"neither true nor false", decodeCancel, []byte{2}, "neither"},
		{"credit beyond the window", decodeCredit, enc(func(e *encoder) { e.uint(Window + 1) }), "larger than"},
		{"number not in its shortest form", decodeCredit, []byte{0x80, 0}, "shortest"},
		{"number beyond 64 bits", decodeCredit, bytes.Repeat([]byte{0xff}, 11), "too large"},
		{"stranger", decodeGreeting, []byte("GET / HTTP/1.1\r\n\r\n"), "does not speak"},
		{"nothing", decodeGreeting, nil, "does not speak"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			if err := c.decode(c.body); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got error %v, want %q in it", err, c.want)
			}
		})
	}
}

// TestExcessiveCountUsesNoMemory checks that a list with a large count does not cause
// a large allocation.
func TestExcessiveCountUsesNoMemory(t *testing.T) {
	var e encoder
	e = append(e, (&RunRequest{}).Encode()...)
	e = e[:len(e)-2]                     // the number of files, and HasStdin
	e.uint(1000)                         // files
	e = append(e, make([]byte, 1000)...) // a file takes at least 35 bytes
	r, err := DecodeRun(e)
	if err == nil || len(r.Files) > 30 {
		t.Errorf("%d files, %v", len(r.Files), err)
	}
}

// TestGreetingOfOtherVersion checks that a greeting of another version identifies its
// sender, with any content after the fixed fields.
func TestGreetingOfOtherVersion(t *testing.T) {
	g := Greeting{Version: Version + 1, Build: "9.9", Made: -7, PID: 12}
	body := append(g.Encode()[:len(magic)+1+1+4+1], "something else altogether"...)
	got, err := DecodeGreeting(body)
	if err != nil {
		t.Fatal(err)
	}
	if want := (&Greeting{Version: Version + 1, Build: "9.9", Made: -7}); !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v, want %+v", got, want)
	}
}

func TestErrorMessageRoundTrip(t *testing.T) {
	cases := []struct {
		name string
		err  *transport.Error
		want string
	}{
		{"message and hint", &transport.Error{Class: transport.ClassAuth, Msg: "No", Hint: "Ask"}, "No\nAsk"},
		{"cause alone", &transport.Error{Class: transport.ClassLost, Err: errors.New("gone")}, "lost: gone"},
		{"class alone", &transport.Error{Class: transport.ClassLost}, "lost"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			if got := c.err.Error(); got != c.want {
				t.Fatalf("the error itself says %q", got)
			}
			got, err := DecodeError(EncodeError(c.err))
			if err != nil || got.Error() != c.want || got.Class != c.err.Class {
				t.Errorf("got %q of class %s, %v", got, got.Class, err)
			}
		})
	}
}

// TestLongErrorFitsInFrame checks that an error always fits in a frame, and is not cut
// within a character.
func TestLongErrorFitsInFrame(t *testing.T) {
	long := "x" + strings.Repeat("é", MaxPiece)
	body := EncodeError(&transport.Error{Class: transport.ClassLost, Msg: long, Hint: long})
	if len(body) > MaxFrame {
		t.Fatalf("%d bytes do not fit in a frame", len(body))
	}
	got, err := DecodeError(body)
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range []string{got.Msg, got.Hint} {
		if len(s) != MaxPiece-1 || !utf8.ValidString(s) {
			t.Errorf("%d bytes, valid: %v", len(s), utf8.ValidString(s))
		}
	}
	binary := strings.Repeat("\x80", 2*MaxPiece)
	if n := len(clip(binary)); n > MaxPiece || n < MaxPiece-utf8.UTFMax {
		t.Errorf("%d bytes of no text", n)
	}
}

// FuzzDecode checks that no bytes cause a panic in a decoder, and that an accepted
// message equals the encoder's output.
func FuzzDecode(f *testing.F) {
	all := codings()
	for i, c := range all {
		m := c.new()
		f.Add(byte(i), c.encode(m))
	}
	f.Add(byte(0), (&Greeting{Version: Version, Caller: Caller{Env: []string{"A=b", ""}}}).Encode())
	f.Add(byte(3), (&RunRequest{Files: []StagedFile{{Name: "x", Mode: 0o755, Size: 5}}, HasStdin: true}).Encode())
	f.Fuzz(func(t *testing.T, which byte, body []byte) {
		c := all[int(which)%len(all)]
		m, err := c.decode(body)
		if err != nil {
			return
		}
		switch x := m.(type) {
		case *Greeting:
			if x.Version != Version {
				return // the rest was not read
			}
		case *transport.Error:
			if x.Msg == "" || len(x.Msg)+len(x.Hint) > MaxPiece {
				return
			}
			if max(len(x.Class), len(x.Code), len(x.Ask)) > MaxPiece {
				return
			}
		case *Warning:
			if max(len(x.ID), len(x.Text)) > MaxPiece {
				return
			}
		case *transport.Status:
			if len(x.Signal) > MaxPiece {
				return
			}
		}
		if again := c.encode(m); !bytes.Equal(body, again) {
			t.Errorf("%s: %x was accepted, and is sent as %x", c.name, body, again)
		}
	})
}

func TestDigestText(t *testing.T) {
	if got := fmt.Sprint(Digest{0xab, 31: 0x01}); got != "ab"+strings.Repeat("00", 30)+"01" {
		t.Errorf("got %s", got)
	}
}
