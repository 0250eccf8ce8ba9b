package gate

import (
	"strings"
	"testing"
)

func TestJudge(t *testing.T) {
	const s, f, e, i = Successful, Failed, Error, Inconclusive
	for _, tt := range []struct {
		name   string
		limits Limits
		have   []Outcome
		want   Outcome
		reason string
	}{
		{"none yet", Limits{}, nil, Pending, "no measurement yet"},
		{"one success", Limits{}, []Outcome{s}, Successful, "1 measurement succeeded"},
		{"one failure", Limits{}, []Outcome{f}, Failed, "1 measurement failed, failure_limit is 0: cause"},
		{"one error", Limits{}, []Outcome{e}, Error, "1 value in a row could not be measured, error_limit is 0: cause"},
		{"one inconclusive", Limits{}, []Outcome{i}, Inconclusive, "1 measurement inconclusive, inconclusive_limit is 0: cause"},
		{"not enough", Limits{Count: 3}, []Outcome{s, s}, Running, "2 of 3 measurements succeeded"},
		{"enough", Limits{Count: 3}, []Outcome{s, s, s}, Successful, "3 measurements succeeded"},
		{"tolerated failure", Limits{Count: 2, FailureLimit: 1}, []Outcome{f, s, s}, Successful, ""},
		{"one failure too many", Limits{Count: 3, FailureLimit: 1}, []Outcome{f, s, s, f}, Failed, "2 measurements failed, failure_limit is 1"},
		{"errors that do not follow each other", Limits{Count: 3, ErrorLimit: 1}, []Outcome{e, s, e, s, e, s}, Successful, ""},
		{"errors in a row", Limits{Count: 3, ErrorLimit: 1}, []Outcome{s, e, e}, Error, "2 values in a row"},
		{"a failure outweighs an error", Limits{}, []Outcome{e, f}, Failed, ""},
		{"endless", Limits{Endless: true}, []Outcome{s, s, s, s}, Running, "4 measurements succeeded"},
		{"endless with a failure", Limits{Endless: true}, []Outcome{s, s, f}, Failed, ""},
		{"background with a count", Limits{Endless: true, Count: 2}, []Outcome{s, s}, Successful, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var tally Tally
			for _, o := range tt.have {
				tally = tally.Add(o, "cause")
			}
			got, reason := Judge(tt.limits, tally)
			if got != tt.want || !strings.Contains(reason, tt.reason) {
				t.Errorf("got %s (%s), want %s (%s)", got, reason, tt.want, tt.reason)
			}
			if got.Ended() != (got != Pending && got != Running) {
				t.Errorf("%s ended is %v", got, got.Ended())
			}
		})
	}
}
