package winrm

import (
	"bytes"
	"encoding/base64"
	"testing"

	"bolt/transport"
	"bolt/transport/winrm/winrmtest"
)

// TestEnvelope checks that a name with XML characters does not leave its
// element.
func TestEnvelope(t *testing.T) {
	m := runLine("a</w:Selector>&", "echo ]]> <x> & \x00\u2028", pollTime)
	if a, err := parse(m.envelope("http://h:1/wsman")); err != nil {
		t.Errorf("%+v %v", a, err)
	}
	if body := string(m.envelope("http://h:1/wsman")); !bytes.Contains([]byte(body), []byte("<w:OperationTimeout>PT20.000S</w:OperationTimeout>")) {
		t.Error(body)
	}
}

func TestExitCode(t *testing.T) {
	for _, c := range []struct {
		text string
		want int
		bad  bool
	}{{"0", 0, false}, {" 3 ", 3, false}, {"-1", -1, false}, {"4294967295", -1, false}, {"3221225477", -1073741819, false}, {"2147483647", 1<<31 - 1, false}, {"-3000000000", -3000000000, false}, {"4294967296", 1 << 32, false}, {"99999999999999999999", 0, true}, {"", 0, true}, {"x", 0, true}} {
		if got, err := exitCode(c.text); got != c.want || (err != nil) != c.bad {
			t.Errorf("%q: %d %v", c.text, got, err)
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add([]byte(winrmtest.Fault("w:TimedOut", "2150858793", "late")))
	f.Add([]byte(`<s:Envelope xmlns:s="x"><s:Body><rsp:ReceiveResponse><rsp:Stream Name="stdout">eA==</rsp:Stream><rsp:CommandState State="Done"><rsp:ExitCode>1</rsp:ExitCode></rsp:CommandState></rsp:ReceiveResponse></s:Body></s:Envelope>`))
	f.Fuzz(func(t *testing.T, body []byte) {
		a, err := parse(body)
		if err != nil {
			if len(printable(err.Error())) > 2*maxReason {
				t.Errorf("%d bytes", len(err.Error()))
			}
			return
		}
		_ = a.shellID()
	})
}

func FuzzSealed(f *testing.F) {
	f.Add([]byte("--Encrypted Boundary\r\n\tOriginalContent: Length=5\r\n--Encrypted Boundary\r\n\tContent-Type: application/octet-stream\r\n\x10\x00\x00\x00ssssssssssssssssbytes--Encrypted Boundary--\r\n"))
	f.Add([]byte("--Encrypted BoundaryLength=--Encrypted Boundary"))
	f.Fuzz(func(t *testing.T, body []byte) {
		if _, sealed, err := openParts(body); err == nil && len(sealed) < 20 {
			t.Errorf("%q", sealed)
		}
	})
}

func FuzzChallenge(f *testing.F) {
	f.Add([]byte("NTLMSSP\x00\x02\x00\x00\x00\x08\x00\x08\x00\x38\x00\x00\x00\x35\x82\x8a\xe2\x01\x02\x03\x04\x05\x06\x07\x08\x00\x00\x00\x00\x00\x00\x00\x00\x04\x00\x04\x00\x40\x00\x00\x00\x0a\x00\x61\x4a\x00\x00\x00\x0fF\x00A\x00R\x00M\x00\x00\x00\x00\x00"))
	f.Fuzz(func(t *testing.T, challenge []byte) {
		n, err := newNTLM(`D\u`, transport.NewSecret("p"))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := n.token(nil, nil); err != nil {
			t.Fatal(err)
		}
		if challenge == nil {
			challenge = []byte{}
		}
		if _, err := n.token(challenge, nil); err == nil && n.client.SecuritySession() == nil {
			t.Error("nothing to encrypt with")
		}
		_, _, _ = challengeOf([]string{"Negotiate " + base64.StdEncoding.EncodeToString(challenge), string(challenge)})
	})
}
