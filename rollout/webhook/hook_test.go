package webhook

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"bolt/format/ordered"
)

// TestVector signs the message of the specification's libraries.
func TestVector(t *testing.T) {
	s, err := parseSecret("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw")
	if err != nil {
		t.Fatal(err)
	}
	got := s.sign("msg_p5jXN8AQM9LWM0D4loKWxJek", time.Unix(1614265330, 0), []byte(`{"test": 2432232314}`))
	if want := "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

const testSecret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"

func setting(t *testing.T, text string) any {
	t.Helper()
	m := &ordered.Map{}
	if err := m.UnmarshalJSON([]byte(`{"v":` + text + `}`)); err != nil {
		t.Fatal(err)
	}
	return m.Value("v")
}

func TestRead(t *testing.T) {
	hooks, err := Read(setting(t, `[
		{"url": "https://user:pa55@hooks.example/T0KEN", "secret": "`+testSecret+`", "headers": {"Authorization": "Bearer b34rer"}},
		{"url": "http://127.0.0.1:1/all", "secret": "`+testSecret+`", "events": ["*"], "timeout": "5s"},
		{"url": "http://127.0.0.1:1/some", "secret": "`+testSecret+`", "events": ["paused", "node_ended"], "timeout": 7}]`), "bolt-project.yaml")
	if err != nil || len(hooks) != 3 {
		t.Fatalf("%v, %v", hooks, err)
	}
	for _, c := range []struct {
		hook        int
		kind, state string
		want        bool
	}{
		{0, "state", "running", true}, {0, "created", "", false}, {0, "node_ended", "done", false}, {0, "node_ended", "lost", true},
		{0, "node_ended", "cancelled", false}, {1, "created", "", true}, {2, "node_ended", "done", true}, {2, "state", "", false},
	} {
		if got := hooks[c.hook].wants(c.kind, c.state); got != c.want {
			t.Errorf("webhook %d wants %s %s: %v", c.hook, c.kind, c.state, got)
		}
	}
	if hooks[0].timeout != defaultTimeout || hooks[1].timeout != 5*time.Second || hooks[2].timeout != 7*time.Second {
		t.Error(hooks[0].timeout, hooks[1].timeout, hooks[2].timeout)
	}
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%d"} {
		text := fmt.Sprintf(verb+verb+verb, hooks, *hooks[0], hooks[0].secret)
		for _, secret := range []string{"pa55", "T0KEN", "b34rer", "MfKQ9", "31f290", "[49 242"} {
			if strings.Contains(text, secret) {
				t.Errorf("%s prints %s", verb, text)
			}
		}
	}
	if hooks[0].String() != "webhook 1 (https://hooks.example)" {
		t.Error(hooks[0].String())
	}
	if hooks, err := Read(nil, ""); hooks != nil || err != nil {
		t.Error(hooks, err)
	}
}

// TestMistakes reads settings with mistakes. No message has a secret.
func TestMistakes(t *testing.T) {
	const good = `"url": "https://h/S3CRET", "secret": "` + testSecret + `"`
	for text, want := range map[string]string{
		`{}`:                                                    "webhooks: must be a list of mappings",
		`["https://S3CRET"]`:                                    "webhooks[0]: must be a mapping with the keys url and secret",
		`[{` + good + `, "evnts": []}]`:                         "webhooks[0]: unknown key 'evnts'. Did you mean 'events'?",
		`[{` + good + `, "events": ["puased"]}]`:                "webhooks[0].events[0]: unknown event type 'puased'. Did you mean 'paused'?",
		`[{` + good + `, "events": "paused"}]`:                  "webhooks[0].events: must be a list",
		`[{` + good + `, "events": []}]`:                        "webhooks[0].events: must be a list",
		`[{` + good + `, "timeout": "2h"}]`:                     "webhooks[0].timeout: must be a length of time from 1s to 1m",
		`[{` + good + `, "timeout": 0}]`:                        "webhooks[0].timeout: must be",
		`[{` + good + `, "timeout": "x"}]`:                      `webhooks[0].timeout: "x" is not a length of time`,
		`[{` + good + `, "headers": {"a b": ""}}]`:              "webhooks[0].headers: 'a b' is not the name of a header",
		`[{` + good + `, "headers": {"Webhook-Id": "S3CRET"}}]`: "webhooks[0].headers: the header 'Webhook-Id' cannot be set",
		`[{` + good + `, "headers": {"X": "S3CRET\nY: 1"}}]`:    "webhooks[0].headers.X: must be one line",
		`[{` + good + `, "headers": {"X": 1}}]`:                 "webhooks[0].headers.X: must be a string",
		`[{` + good + `}, {` + good + `}]`:                      "webhooks[1].url: is the same as that of webhooks[0]",
		`[{"url": "ftp://h/S3CRET", "secret": ""}]`:             "webhooks[0].url: must be an address that begins with https:// or http://",
		`[{"url": "https://%S3CRET", "secret": ""}]`:            "webhooks[0].url: must be an address",
		`[{"url": "https://h"}]`:                                "webhooks[0].secret: is missing. A new secret: echo",
		`[{"url": "https://h", "secret": "S3CRET"}]`:            "webhooks[0].secret: must be whsec_ and base64",
		`[{"url": "https://h", "secret": "whsec_S3CRETS3"}]`:    "webhooks[0].secret: must have from 24 to 64 bytes, but it has 6",
	} {
		_, err := Read(setting(t, text), "bolt-project.yaml")
		if err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), "bolt-project.yaml") {
			t.Errorf("%s: %v", text, err)
		} else if strings.Contains(err.Error(), "S3CRET") {
			t.Errorf("the message has a secret: %v", err)
		}
	}
}
