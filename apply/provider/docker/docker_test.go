package docker

import (
	"context"
	"strings"
	"testing"

	"bolt/apply/provider/providertest"
	"bolt/apply/resource"
)

// The tests have a stand-in for docker, because docker needs a daemon. It answers as the reference of its command line
// describes: "network ls" and "volume ls" with a line of JSON for each object, "compose config" with YAML.
var types = map[string]resource.Type{"Docker_network": Network(), "Docker_volume": Volume(), "Docker_compose": Compose(), "Docker_stack": Stack()}

func answer(begin, text string) providertest.Answer {
	return providertest.Answer{Begin: "docker " + begin, Out: resource.Output{Stdout: []byte(text)}}
}

func failure(begin, text string) providertest.Answer {
	return providertest.Answer{Begin: "docker " + begin, Out: resource.Output{Stderr: []byte(text), Code: 1}}
}

const (
	networks = `{"CreatedAt":"2026-01-01 00:00:00 +0000 UTC","Driver":"bridge","ID":"0123456789ab","IPv6":"false","Internal":"false","Labels":"","Name":"bridge","Scope":"local"}
{"CreatedAt":"2026-01-01 00:00:00 +0000 UTC","Driver":"overlay","ID":"112233445566","IPv6":"false","Internal":"false","Labels":"","Name":"there","Scope":"swarm"}
`
	inspected = `[{"Name":"there","Id":"112233445566778899","Driver":"overlay","IPAM":{"Driver":"default","Options":{},"Config":[{"Subnet":"10.0.0.0/24"}]}}]`
	volumes   = `{"Availability":"N/A","Driver":"local","Group":"N/A","Labels":"","Links":"N/A","Mountpoint":"/var/lib/docker/volumes/there/_data","Name":"there","Scope":"local","Size":"N/A","Status":"N/A"}
`
)

func TestObjects(t *testing.T) {
	const list, listVolumes = "docker network ls --format {{json .}}", "docker volume ls --format {{json .}}"
	for _, c := range []struct{ r, out, ran string }{
		{`Docker_network[new] {"ensure":"present","driver":"overlay","subnet":["10.0.0.0/24","10.1.0.0/24"],"gateway":"10.0.0.1","ip_range":"10.0.0.128/25","ipam_driver":"default","aux_address":"host=10.0.0.5","options":["a=1","b=2"],"additional_flags":"--attachable  --internal"}`,
			"changed docker_network_created", list + "; docker network create --driver=overlay --subnet=10.0.0.0/24 --subnet=10.1.0.0/24 --gateway=10.0.0.1 --ip-range=10.0.0.128/25 --ipam-driver=default --aux-address=host=10.0.0.5 --opt=a=1 --opt=b=2 --attachable --internal new"},
		{`Docker_network[new] {"driver":"bridge","additional_flags":["--label","a b"]}`, "changed docker_network_created", list + "; docker network create --driver=bridge --label a b new"},
		{`Docker_network[there] {"ensure":"present","driver":"overlay","ipam_driver":"default","subnet":"9.0.0.0/8"}`, "unchanged", list + "; docker network inspect there"},
		{`Docker_network[there] {"ensure":"absent"}`, "changed docker_network_removed", list + "; docker network rm there"},
		{`Docker_network[ther] {"ensure":"absent"}`, "unchanged", list},
		{`Docker_network[there] {"driver":"bridge"}`, "failed driver_changed: change of driver from overlay to bridge failed: docker cannot change a network. Remove it first", list},
		{`Docker_network[there] {"ipam_driver":"other"}`, "failed ipam_driver_changed: change of ipam_driver from default to other failed: docker cannot change a network. Remove it first", list + "; docker network inspect there"},
		{`Docker_network[there]`, "unchanged", list},
		{`Docker_volume[new] {"ensure":"present","driver":"local","options":["type=nfs","device=:/a"]}`, "changed docker_volume_created", listVolumes + "; docker volume create --driver=local --opt=type=nfs --opt=device=:/a new"},
		{`Docker_volume[there] {"ensure":"present","driver":"local"}`, "unchanged", listVolumes},
		{`Docker_volume[there] {"ensure":"absent"}`, "changed docker_volume_removed", listVolumes + "; docker volume rm there"},
	} {
		m := providertest.Scripted(t, "docker", types, answer("network ls", networks), answer("network inspect there", inspected), answer("volume ls", volumes))
		ref, _, _ := strings.Cut(c.r, " {")
		noop := strings.Replace(c.out, "changed docker", "noop docker", 1)
		if problem, _, failed := strings.Cut(strings.TrimPrefix(c.out, "failed "), ":"); failed {
			noop = "noop " + problem
		}
		m.Want("noop", m.Apply(true, c.r), ref+" "+noop)
		m.Want(c.r, m.Apply(false, c.r), ref+" "+c.out)
		m.Want("commands", strings.Join(m.Argv, "; "), c.ran)
	}
	m := providertest.Scripted(t, "docker", types, answer("network ls", networks))
	m.Want("several", m.Apply(false, `Docker_network[a] {"ensure":"present"}`, `Docker_network[b] {"ensure":"present"}`, `Docker_network[there] {"ensure":"present"}`),
		"Docker_network[a] changed docker_network_created\nDocker_network[b] changed docker_network_created\nDocker_network[there] unchanged")
	m.Want("commands", strings.Join(m.Argv, "; "), list+"; docker network create a; docker network create b")
}

const config = `name: shop
services:
  db:
    image: postgres:16
    restart: always
  job:
    image: job
    restart: "no"
  web:
    build:
      context: /srv/shop
`

func TestCompose(t *testing.T) {
	const (
		begin  = "docker compose -f /a.yml -f /b.yml --env-file /e -p shop "
		ps     = `docker ps --format {{.Label "com.docker.compose.service"}}-{{.Image}} --filter label=com.docker.compose.project=shop`
		params = `"compose_files":["/a.yml","/b.yml"],"options":["--env-file","/e"],"up_args":"--build"`
	)
	for _, c := range []struct{ what, params, running, out, ran string }{
		{"nothing runs", `"ensure":"present",`, "", "changed docker_compose_created", begin + "config; " + ps + "; " + begin + "up --build -d --remove-orphans"},
		{"all of it", `"ensure":"present",`, "db-postgres:16\nweb-shop-web\n", "unchanged", begin + "config; " + ps},
		{"an image of an old compose", `"ensure":"present",`, "db-postgres:16\nweb-shop_web\njob-job\n", "unchanged", begin + "config; " + ps},
		{"a part", `"ensure":"present",`, "db-postgres:16\n", "changed docker_compose_created", begin + "config; " + ps + "; " + begin + "up --build -d --remove-orphans"},
		{"another image", `"ensure":"present",`, "db-postgres:15\nweb-shop-web\n", "changed docker_compose_created", begin + "config; " + ps + "; " + begin + "up --build -d --remove-orphans"},
		{"an orphan", `"ensure":"present",`, "db-postgres:16\nweb-shop-web\nold-x\n", "changed docker_compose_created", begin + "config; " + ps + "; " + begin + "up --build -d --remove-orphans"},
		{"scaled", `"ensure":"present","scale":{"web":2},`, "db-postgres:16\nweb-shop-web\nweb-shop-web\n", "unchanged", begin + "config; " + ps},
		{"not scaled", `"ensure":"present","scale":{"web":3,"db":1},`, "db-postgres:16\nweb-shop-web\n", "changed docker_compose_created", begin + "config; " + ps + "; " + begin + "up --build -d --remove-orphans; " + begin + "scale db=1 web=3"},
		{"removed", `"ensure":"absent",`, "db-postgres:16\nweb-shop-web\n", "changed docker_compose_removed", begin + "config; " + ps + "; " + begin + "kill; " + begin + "rm --force -v"},
		{"removed already", `"ensure":"absent",`, "", "unchanged", begin + "config; " + ps},
	} {
		t.Run(c.what, func(t *testing.T) {
			m := providertest.Scripted(t, "docker", types, answer(strings.TrimPrefix(begin, "docker ")+"config", config), answer("ps", c.running))
			r := "Docker_compose[shop] {" + c.params + params + "}"
			m.Want("noop", m.Apply(true, r), "Docker_compose[shop] "+strings.Replace(c.out, "changed docker", "noop docker", 1))
			m.Want("result", m.Apply(false, r), "Docker_compose[shop] "+c.out)
			m.Want("commands", strings.Join(m.Argv, "; "), c.ran)
		})
	}
	m := providertest.Scripted(t, "docker", types, answer("compose -f /a.yml -p shop config", config), answer("ps", "db-postgres:16\nweb-shop-web\n"), answer("network ls", networks))
	out := m.Apply(false, `Docker_network[n] {"ensure":"present","notify":"Docker_compose[shop]"}`, `Docker_compose[shop] {"ensure":"present","compose_files":["/a.yml"],"tmpdir":"/nonexistent"}`)
	m.Want("refresh", out, "Docker_compose[shop] changed refresh\nDocker_network[n] changed docker_network_created")
	if ran := strings.Join(m.Argv, "; "); !strings.HasSuffix(ran, "shop kill; docker compose -f /a.yml -p shop build; docker compose -f /a.yml -p shop up -d --remove-orphans") {
		t.Error(ran)
	}
	if logs := strings.Join(m.Logs, "\n"); !strings.Contains(logs, "/nonexistent, does not exist") {
		t.Error(logs)
	}
}

func TestStack(t *testing.T) {
	const ps = `docker ps --format {{.Label "com.docker.swarm.service.name"}}-{{.Image}} --filter label=com.docker.stack.namespace=s`
	for running, out := range map[string]string{
		"": "changed docker_stack_created", "s_a-nginx:latest\ns_b-x:1\n": "unchanged", "s_a-nginx:latest\ns_a-nginx:latest\ns_b-x:1\n": "unchanged", "s_a-nginx:latest\ns_b-x:2\n": "changed docker_stack_created",
	} {
		m := providertest.Scripted(t, "docker", types, answer("ps", running))
		m.Write("s.yml", "version: '3.7'\nservices:\n  a: &a\n    image: nginx\n  b:\n    <<: *a\n    image: x:1\n", 0o644)
		r := `Docker_stack[s] {"ensure":"present","compose_files":["` + m.Root + `/s.yml"],"up_args":"--with-registry-auth"}`
		m.Want(running, m.Apply(false, r), "Docker_stack[s] "+out)
		want := ps
		if out != "unchanged" {
			want += "; docker stack deploy -c " + m.Root + "/s.yml --with-registry-auth s"
		}
		m.Want("commands", strings.Join(m.Argv, "; "), want)
		m.Apply(false, strings.Replace(r, "present", "absent", 1))
		if got := strings.Join(m.Argv, "; "); (out == "unchanged") != (got == ps+"; docker stack rm s") {
			t.Error(got)
		}
		m.Write("s.yml", "version: '2'\nservices:\n  a: {}\n", 0o644)
		if got := m.Apply(false, r); !strings.Contains(got, "a version other than 3 to 3.7") {
			t.Error(got)
		}
	}
}

func TestFailures(t *testing.T) {
	const network, compose = `Docker_network[n] {"ensure":"present"}`, `Docker_compose[c] {"ensure":"present","compose_files":["/c.yml"]}`
	m := providertest.Scripted(t, "", types)
	m.Want("missing", m.Apply(false, network, compose), "Docker_compose[c] failed: the program docker is missing. Install it on the target\nDocker_network[n] failed: the program docker is missing. Install it on the target")
	m = providertest.Scripted(t, "docker", types, failure("network ls", "Cannot connect to the Docker daemon at unix:///var/run/docker.sock. Is the docker daemon running?\n"), failure("compose", "\x00\x1b[31mno such file\n"))
	m.Want("no daemon", m.Apply(false, network, compose), "Docker_compose[c] failed: docker compose: exit code 1: [31mno such file\nDocker_network[n] failed: docker network: exit code 1: Cannot connect to the Docker daemon at unix:///var/run/docker.sock. Is the docker daemon running?")
	m = providertest.Scripted(t, "docker", types, answer("network ls", "\x00\xff{"), answer("compose", "\x00\xff{"))
	for r, want := range map[string]string{network: "docker network ls printed lines that are not JSON", compose: "failed: "} {
		if got := m.Apply(false, r); !strings.Contains(got, want) {
			t.Error(got)
		}
	}
	m.Host.Run = func(ctx context.Context, c *resource.Command) (*resource.Output, error) {
		c.Argv, c.Timeout = []string{"sh", "-c", "sleep 1000 & sleep 1000"}, 1
		return resource.Exec(ctx, c)
	}
	m.Want("hanging", m.Apply(false, network), "Docker_network[n] failed: docker: timed out")
	for r, want := range map[string]string{
		`Docker_network[-n] {"ensure":"present"}`:                                         "The parameter name must be a word",
		`Docker_network[n] {"id":"1"}`:                                                    "The parameter id cannot be set: docker chooses it",
		`Docker_volume[v] {"options":{"sensitive":"o=password=x"}}`:                       "The parameter options must not be Sensitive",
		`Docker_compose[c] {"ensure":"present","compose_files":"/a"}`:                     "The parameter compose_files must be a list of files",
		`Docker_compose[c] {"ensure":"present","compose_files":["a"]}`:                    "The parameter compose_files must be absolute paths",
		`Docker_compose[c] {"ensure":"present","compose_files":["/a"],"scale":{"a":"b"}}`: "The parameter scale must be a hash of services with numbers",
		`Docker_compose[c] {"ensure":"present","compose_files":["/a"],"scale":{"-a":1}}`:  "The parameter scale must be a hash of services with numbers",
		`Docker_stack[s] {"ensure":"present"}`:                                            "The parameter compose_files must be a list of files",
	} {
		if got := m.Apply(false, r); !strings.Contains(got, want) {
			t.Errorf("%s: %s", r, got)
		}
	}
}

func FuzzServices(f *testing.F) {
	f.Add(config)
	f.Add("services: {a: {extends: a}, b: {extends: {service: a}}}")
	f.Fuzz(func(t *testing.T, text string) {
		_, all, err := services(text, "f")
		if err != nil {
			return
		}
		for service := range all.All() {
			if len(images(all, service, "p")) > 2 {
				t.Error("too many images")
			}
		}
	})
}
