package kv

import (
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"

	"bolt/apply/provider/exec"
	"bolt/apply/provider/hosttest"
	"bolt/apply/provider/notify"
	"bolt/apply/provider/value"
	"bolt/apply/resource"
)

var known = map[string]resource.Type{"Kv": Type(), "Exec": exec.Type(), "Notify": notify.Type(), "Value": value.Type()}

// store returns the text of the store, which must have mode 0600.
func store(t *testing.T, h *resource.Host) string {
	t.Helper()
	data, err := os.ReadFile(h.State + "/kv.json")
	if os.IsNotExist(err) {
		return ""
	}
	if err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(h.State + "/kv.json"); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("mode is %v, %v", info.Mode(), err)
	}
	return strings.TrimSpace(string(data))
}

// TestApply applies resources one after the other to one store.
func TestApply(t *testing.T) {
	h := hosttest.Host(t)
	const refresh = `Notify[n] {"notify":"Kv[a]"}`
	for _, c := range []struct {
		name, resources string
		noop            bool
		want, store     string
	}{
		{"noop", `Kv[a] {"value":"1"}`, true, "Kv[a] noop value(absent -> 1)", ""},
		{"two", `Kv[a] {"value":"1"}` + "\n" + `Kv[b] {"key":"k","value":"x y"}`, false, "Kv[a] changed value(absent -> 1)\nKv[b] changed value(absent -> x y)", `{"keys":{"a":{"value":"1"},"k":{"value":"x y"}}}`},
		{"the second run", `Kv[a] {"value":"1"}` + "\n" + `Kv[b] {"key":"k","value":"x y"}`, false, "", `{"keys":{"a":{"value":"1"},"k":{"value":"x y"}}}`},
		{"a removed key", `Kv[k]`, false, "Kv[k] changed value(x y -> absent)", `{"keys":{"a":{"value":"1"}}}`},
		{"no key to remove", `Kv[k]`, false, "", `{"keys":{"a":{"value":"1"}}}`},
		{"a greater number", `Kv[a] {"value":"10","skiplessthan":true}`, false, "Kv[a] changed value(1 -> 10)", `{"keys":{"a":{"value":"10"}}}`},
		{"a smaller number", `Kv[a] {"value":"9","skiplessthan":true}`, false, "", `{"keys":{"a":{"value":"10"}}}`},
		{"a smaller number with a refresh", `Kv[a] {"value":"9","skiplessthan":true}` + "\n" + refresh, false, "Kv[a] changed refresh", `{"keys":{"a":{"value":"9"}}}`},
		{"a smaller text", `Kv[a] {"value":"10","skiplessthan":true,"skipcmpstyle":"string"}`, false, "", `{"keys":{"a":{"value":"9"}}}`},
		{"a greater text", `Kv[a] {"value":"x","skiplessthan":true,"skipcmpstyle":1}`, false, "Kv[a] changed value(9 -> x)", `{"keys":{"a":{"value":"x"}}}`},
		{"a number for a text", `Kv[a] {"value":"-5","skiplessthan":true}`, false, "Kv[a] changed value(x -> -5)", `{"keys":{"a":{"value":"-5"}}}`},
		{"the same as a secret", `Kv[a] {"value":{"sensitive":"-5"}}`, false, "Kv[a] changed value([redacted] -> [redacted])", `{"keys":{"a":{"value":"-5","secret":true}}}`},
		{"the second run of a secret", `Kv[a] {"value":"-5"}`, false, "", `{"keys":{"a":{"value":"-5","secret":true}}}`},
		{"an old secret", `Kv[a] {"value":"7"}`, false, "Kv[a] changed value([redacted] -> 7)", `{"keys":{"a":{"value":"7"}}}`},
	} {
		got := hosttest.Apply(t, h, known, c.noop, strings.Split(c.resources, "\n")...)
		var lines []string
		for line := range strings.Lines(got) {
			if !strings.HasPrefix(line, "Notify") {
				lines = append(lines, line)
			}
		}
		if got := strings.TrimSpace(strings.Join(lines, "")); got != c.want || store(t, h) != c.store {
			t.Errorf("%s: got %s, store %s", c.name, got, store(t, h))
		}
	}
}

// TestSendRecv checks that a key receives a secret, and that its value is received as a secret later.
func TestSendRecv(t *testing.T) {
	h := hosttest.Host(t)
	got := hosttest.Apply(t, h, known, false, `Exec[e] {"command":{"sensitive":"printf hunter2"},"provider":"shell"}`, `Kv[k] {"recv":{"value":{"kind":"exec","name":"e","key":"output"}}}`)
	if strings.Contains(got, "hunter2") || store(t, h) != `{"keys":{"k":{"value":"hunter2","secret":true}}}` {
		t.Errorf("got %s, store %s", got, store(t, h))
	}
	got = hosttest.Apply(t, h, known, false, `Kv[k] {"value":"a","skiplessthan":true,"skipcmpstyle":"string"}`, `Notify[n] {"recv":{"message":{"kind":"kv","name":"k","key":"value"}}}`)
	if got != "Notify[n] changed message([redacted] -> [redacted])\n" {
		t.Errorf("got %s", got)
	}
	got = hosttest.Apply(t, h, known, false, `Kv[other]`, `Notify[n] {"recv":{"message":{"kind":"kv","name":"other","key":"value"}}}`)
	if got != "Notify[n] skipped: it receives message from Kv[other], which sent no value in this run\n" {
		t.Errorf("got %s", got)
	}
}

// TestDamaged checks that a file with something else in it is not overwritten.
func TestDamaged(t *testing.T) {
	for _, text := range []string{"", "hunter2", `{"keys":{}} x`, `{"keys":null}`, `{"keys":{"a":{"value":1}}}`, `{"keys":{},"more":1}`, "\x00\xff"} {
		h := hosttest.Host(t)
		if err := os.WriteFile(h.State+"/kv.json", []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		got := hosttest.Apply(t, h, known, false, `Kv[a] {"value":"1"}`, `Kv[b]`)
		data, _ := os.ReadFile(h.State + "/kv.json")
		if strings.Count(got, "kv.json is not a store of keys, and is left as it is") != 2 || strings.Contains(got, "hunter2") || string(data) != text {
			t.Errorf("%q: got %s, store %q", text, got, data)
		}
	}
	h := hosttest.Host(t)
	h.State = ""
	if got := hosttest.Apply(t, h, known, false, `Kv[a]`); !strings.Contains(got, "no state directory") {
		t.Errorf("no state directory: %s", got)
	}
}

// TestConcurrent has several processes that change one store.
func TestConcurrent(t *testing.T) {
	h := hosttest.Host(t)
	var wg sync.WaitGroup
	for i := range 20 {
		wg.Go(func() {
			if err := change(t.Context(), h, func(keys map[string]entry) { keys[fmt.Sprint(i)] = entry{Value: "x"} }); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if keys, err := load(h); err != nil || len(keys) != 20 {
		t.Errorf("got %v, %v", keys, err)
	}
}

func TestErrors(t *testing.T) {
	for params, want := range map[string]string{
		`{"value":"x","skiplessthan":true}`:                     `value must be a whole number, because of skiplessthan, and is "x"`,
		`{"value":{"sensitive":"hunter2"},"skiplessthan":true}`: "value must be a whole number, because of skiplessthan",
		`{"value":"1","skiplessthan":"perhaps"}`:                "skiplessthan cannot be \"perhaps\"",
		`{"value":"1","skipcmpstyle":"float"}`:                  "skipcmpstyle cannot be \"float\"",
		`{"value":["a"]}`:                                       "value must be a string",
		`{"key":""}`:                                            "key must be a string of 1 to 1024 bytes",
		`{"value":"` + strings.Repeat("x", maxValue+1) + `"}`:   "must not have more than 1 MiB",
	} {
		_, err := hosttest.Try(t, hosttest.Host(t), known, false, `Kv[a] `+params)
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "hunter2") {
			t.Errorf("%.60s: %v", params, err)
		}
	}
}

// FuzzParse checks that a text is a store or an error.
func FuzzParse(f *testing.F) {
	f.Add([]byte(`{"keys":{"a":{"value":"1","secret":true}}}`))
	f.Add([]byte(`{"keys":{"a":{"value":"1"}}} {}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		if keys, err := parse(text); (keys == nil) != (err != nil) {
			t.Errorf("%v, %v", keys, err)
		}
	})
}
