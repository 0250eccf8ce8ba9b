package audit

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"
)

func TestSelectLast(t *testing.T) {
	path := filepath.Join(t.TempDir(), "audit.jsonl")
	log := New(path, time.Now)
	for _, name := range []string{"a", "b", "c", "d", "e"} {
		request := NewRequest()
		for _, event := range []Event{Begin, End} {
			r := Record{Event: event, Request: request, Action: Action{Name: name}}
			if event == End {
				r.Outcome = &Outcome{Status: Success}
			}
			if err := log.Add(t.Context(), &r); err != nil {
				t.Fatal(err)
			}
		}
	}
	for last, want := range map[int]string{-1: "abcde", 0: "", 2: "de", 9: "abcde"} {
		got := ""
		matched, others, err := Select(t.Context(), []string{path}, Filter{}, last, func(e *Entry) error {
			got += e.Begin.Name
			return nil
		})
		if err != nil || matched != 5 || others != 0 || got != want {
			t.Errorf("the last %d: %q, %d, %d, %v; want %q", last, got, matched, others, err, want)
		}
	}
}

func TestParseSince(t *testing.T) {
	now := time.Date(2026, 2, 1, 12, 0, 0, 0, time.UTC)
	for text, want := range map[string]time.Time{
		"90m": now.Add(-90 * time.Minute), "7d": now.AddDate(0, 0, -7), "2026-01-31T15:04:05Z": time.Date(2026, 1, 31, 15, 4, 5, 0, time.UTC),
	} {
		if got, ok := ParseSince(text, now); !ok || !got.Equal(want) {
			t.Errorf("%s is %v, %v; want %v", text, got, ok, want)
		}
	}
	for _, text := range []string{"", "-1h", "xd", "-1d", "yesterday"} {
		if got, ok := ParseSince(text, now); ok {
			t.Errorf("%q is %v", text, got)
		}
	}
}

func TestParseLast(t *testing.T) {
	for text, want := range map[string]string{"0": "", "10000": "", "10001": "up to 10000, not 10001", "-1": "not -1", "ten": "not ten", "": "not "} {
		n, err := ParseLast(text)
		if got := fmt.Sprint(err); want == "" && (err != nil || strconv.Itoa(n) != text) || want != "" && !strings.HasSuffix(got, want) {
			t.Errorf("%q: %d, %v", text, n, err)
		}
	}
}

func TestParseHash(t *testing.T) {
	hash := strings.Repeat("0f", 32)
	if got, ok := ParseHash(" " + strings.ToUpper(hash) + "\n"); !ok || got != hash {
		t.Errorf("%q, %v", got, ok)
	}
	for _, text := range []string{"", hash[1:], hash + "0", "g" + hash[1:]} {
		if _, ok := ParseHash(text); ok {
			t.Errorf("%q is a hash", text)
		}
	}
}

func TestFilesOf(t *testing.T) {
	if files, err := FilesOf("audit show", "log", []string{"a", "b"}); err != nil || strings.Join(files, " ") != "a b" {
		t.Errorf("named: %q, %v", files, err)
	}
	log := filepath.Join(t.TempDir(), "audit.jsonl")
	if files, err := FilesOf("audit show", log, nil); err != nil || len(files) != 1 || files[0] != log {
		t.Errorf("configured: %q, %v", files, err)
	}
	if _, err := FilesOf("audit show", "", nil); err == nil || !strings.Contains(err.Error(), "audit log is not configured") {
		t.Errorf("none: %v", err)
	}
}

func TestThisProcess(t *testing.T) {
	env := map[string]string{"SUDO_USER": "eve", "SSH_CLIENT": "192.0.2.7 4022 22"}
	a := ThisProcess("1.2", func(name string) string { return env[name] })
	if a.PID != os.Getpid() || a.UID != os.Getuid() || a.SudoUser != "eve" || a.Client != "192.0.2.7" || a.Version != "1.2" || a.TTY != "" {
		t.Errorf("%+v", a)
	}
}
