package apply

import (
	"fmt"
	"strings"
	"testing"

	"bolt/apply/resource"
)

func TestRefusals(t *testing.T) {
	types := map[string]resource.Type{"Thing": thing{&machine{}}}
	var got []string
	for _, r := range Refusals(parse(t, "a bad=true\nOther/x\nb\nOther/y\nc schedule=none"), types) {
		name := "the catalog"
		if r.Resource != nil {
			name = r.Resource.Ref.String()
		}
		got = append(got, fmt.Sprintf("%s %v %q %v", name, r.UnknownType, r.Param, r.Err))
	}
	const unknown = "bolt cannot apply resources of the type Other. An installed Puppet can: use --engine puppet"
	want := `Thing[a] false "bad" The parameter bad must not be there` + "\n" + `Thing[c] false "" the catalog has no schedule "none"` + "\n" +
		`Other[x] true "" ` + unknown + "\n" + `Other[y] true "" ` + unknown
	if strings.Join(got, "\n") != want {
		t.Errorf("refusals are\n%s\nwant\n%s", strings.Join(got, "\n"), want)
	}
	if list := Refusals(parse(t, "a bad=true other=hidden secret=other"), types); len(list) != 1 || list[0].Param != "bad" {
		t.Errorf("refusals of a resource with a secret are %v", list)
	}
	if list := Refusals(parse(t, "a"), types); list != nil {
		t.Errorf("refusals of a good catalog are %v", list)
	}
	if list := Refusals(parse(t, "a require=Thing[b]\nb require=Thing[a]"), types); len(list) != 1 || list[0].Resource != nil {
		t.Errorf("refusals of a cycle are %v", list)
	}
}

func TestRefuses(t *testing.T) {
	types := map[string]resource.Type{"Thing": thing{&machine{}}}
	if err := Refuses(types, "Thing", "noop", "maybe"); err == nil {
		t.Error("a bad parameter is not refused")
	}
	for _, typ := range []string{"Thing", "Other"} {
		if err := Refuses(types, typ, "good", "true"); err != nil {
			t.Errorf("%s: %v", typ, err)
		}
	}
}
