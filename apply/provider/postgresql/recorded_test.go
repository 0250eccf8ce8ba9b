package postgresql

import (
	"strings"
	"testing"
)

// TestRecorded compares the results with the results of puppetlabs-postgresql 10.6: Puppet 7 applied these resources
// to an equal server of PostgreSQL 15, in a disposable root, twice. The header that Puppet adds to the file is left out.
func TestRecorded(t *testing.T) {
	s := newSite(t)
	s.shell("echo \"work_mem = '8MB' # old\" >>" + s.conf + "; cp " + s.conf + " before")
	resources := []string{
		`Postgresql_psql[CREATE DATABASE "d b"] {"unless":"SELECT 1 FROM pg_database WHERE datname = 'd b'","before":"Postgresql_psql[t]"}`,
		`Postgresql_psql[t] {"command":"CREATE TABLE t (a int); INSERT INTO t VALUES (1)","db":"d b","unless":"SELECT 1 FROM pg_class WHERE relname = 't'","notify":"Postgresql_psql[r]"}`,
		`Postgresql_psql[r] {"command":"INSERT INTO t VALUES (2)","db":"d b","refreshonly":true}`,
		`Postgresql_psql[s] {"command":{"sensitive":"CREATE ROLE s PASSWORD 'x'; COMMENT ON ROLE s IS 'c'"},"unless":"SELECT 1 FROM pg_roles WHERE rolname = 's'"}`,
		`Postgresql_psql[twice] {"command":"CREATE TABLE IF NOT EXISTS w (a int)","db":"d b","require":"Postgresql_psql[r]"}`,
		`Postgresql_replication_slot[one_1] {"ensure":"present"}`,
		`Postgresql_conn_validator[v] {"run_as":"postgres","tries":2}`,
		`Postgresql_conf[max_connections] {"key":"max_connections","value":50,"target":"CONF"}`,
		`Postgresql_conf[work_mem] {"key":"work_mem","value":"16MB","comment":"new","target":"CONF"}`,
		`Postgresql_conf[datestyle] {"key":"datestyle","value":"iso, dmy","target":"CONF"}`,
		`Postgresql_conf[shared_buffers] {"key":"shared_buffers","value":"64MB","target":"CONF"}`,
		`Postgresql_conf[app.x] {"key":"app.x","value":"1.5","target":"CONF"}`,
		`Postgresql_conf[app.y] {"key":"app.y","value":"","target":"CONF"}`,
		`Postgresql_conf[lc_time] {"key":"lc_time","ensure":"absent","target":"CONF"}`,
	}
	for i, r := range resources {
		resources[i] = strings.ReplaceAll(r, "CONF", s.conf)
	}
	s.want("first run", s.apply(false, resources...), `Postgresql_psql[CREATE DATABASE "d b"] changed command(notrun -> CREATE DATABASE "d b")
Postgresql_psql[t] changed command(notrun -> CREATE TABLE t (a int); INSERT INTO t VALUES (1))
Postgresql_psql[r] changed refresh
Postgresql_psql[s] changed command([redacted] -> [redacted])
Postgresql_psql[twice] changed command(notrun -> CREATE TABLE IF NOT EXISTS w (a int))
Postgresql_replication_slot[one_1] changed postgresql_replication_slot_created
Postgresql_conf[max_connections] changed value(100 -> 50)
Postgresql_conf[work_mem] changed value(8MB -> 16MB) comment(old -> new)
Postgresql_conf[datestyle] changed value(iso, mdy -> iso, dmy)
Postgresql_conf[shared_buffers] changed value(128MB -> 64MB)
Postgresql_conf[app.x] changed postgresql_conf_created
Postgresql_conf[app.y] changed postgresql_conf_created
Postgresql_conf[lc_time] changed postgresql_conf_removed`)
	s.want("second run", s.apply(false, resources...), "Postgresql_psql[twice] changed command(notrun -> CREATE TABLE IF NOT EXISTS w (a int))")
	s.want("lines", s.shell("diff before "+s.conf+" | grep '^[<>]' || true"), `< max_connections = 100			# (change requires restart)
> max_connections = 50
< shared_buffers = 128MB			# min 128kB
> shared_buffers = 64MB
< datestyle = 'iso, mdy'
> datestyle = 'iso, dmy'
< lc_time = 'C'				# locale for time formatting
< work_mem = '8MB' # old
> work_mem = 16MB # new
> app.x = 1.5
> app.y = ''`)
	s.want("server", s.shell(`psql -tAX -d 'd b' -c 'select * from t' -c "select shobj_description(oid,'pg_authid') from pg_authid where rolname='s'" -c 'select slot_name from pg_replication_slots'`), "1\n2\nc\none_1")
}
