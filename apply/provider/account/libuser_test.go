//go:build roots

package account

import (
	"slices"
	"strings"
	"testing"

	"bolt/apply/provider/providertest"
)

// TestLibuser uses the programs of libuser.
func TestLibuser(t *testing.T) {
	m := machineOn(t, providertest.OtherRoot(t), "for u in a b c; do useradd -N $u; done; useradd -u 2500 -N taken; groupadd other; for g in team all; do groupadd $g; gpasswd -M a,b $g; done")
	resources := []string{
		`User[local] {"forcelocal":true,"uid":2501,"gid":100,"groups":["other"],"comment":"L L","home":"/home/local","managehome":true,"shell":"/bin/sh","expiry":"2030-02-01","password":"$6$x","password_max_age":9}`,
		`User[dup] {"forcelocal":true,"uid":2500,"gid":100}`, `Group[near] {"forcelocal":true,"gid":2600}`,
		`Group[team] {"members":["b","c"],"auth_membership":true}`, `Group[all] {"members":"c"}`, `Group[bad] {"members":["nobody9"]}`,
	}
	m.Want("first", m.Apply(false, resources...), `Group[all] changed members_changed
Group[bad] failed group_created: change of ensure from absent to present failed: user "nobody9" does not exist
Group[near] changed group_created
Group[team] changed members_changed
User[dup] failed user_created: change of ensure from absent to present failed: the number 2500 is the one of the user taken. Set allowdupe to use it twice
User[local] changed user_created`)
	m.wantLines("etc/passwd", "local", "local:x:2501:100:L L:/home/local:/bin/sh")
	m.wantLines("etc/shadow", "local", "local:$6$x:day:0:9:7::21946:")
	got := m.lines("etc/group", "team", "all", "other", "near")
	for i, line := range got {
		head, members, _ := strings.Cut(line, ":x:")
		_, names, _ := strings.Cut(members, ":")
		list := strings.Split(names, ",")
		slices.Sort(list)
		got[i] = head + " " + strings.Join(list, ",")
	}
	slices.Sort(got)
	m.Want("groups", strings.Join(got, "\n"), "all a,b,c\nnear \nother local\nteam b,c")
	m.Want("second", m.Apply(false, resources...), `Group[all] unchanged
Group[bad] failed group_created: change of ensure from absent to present failed: user "nobody9" does not exist
Group[near] unchanged
Group[team] unchanged
User[dup] failed user_created: change of ensure from absent to present failed: the number 2500 is the one of the user taken. Set allowdupe to use it twice
User[local] unchanged`)
}
