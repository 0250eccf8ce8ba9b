package mysql

import (
	"strings"
	"testing"
)

// TestRecorded compares the results with the results of puppetlabs-mysql 16.3: Puppet 7 applied these resources
// to an equal server of MariaDB 10.11, in the same kind of root, twice.
func TestRecorded(t *testing.T) {
	m := server(t)
	sql(m, "CREATE DATABASE plain CHARACTER SET utf8mb4; CREATE TABLE plain.t (a INT, b INT)")
	for _, c := range []struct {
		name, dump string
		resources  []string
	}{
		{"created", "a-b\tutf8mb3\tutf8mb3_general_ci\n" +
			"plain\tutf8mb4\tutf8mb4_general_ci\n" +
			"a@b\t%\tmysql_native_password\t\t0\t0\t\t\t\n" +
			"ed\tlocalhost\tunix_socket\t\t0\t5\t\t\t\n" +
			"joe\tlocalhost\tmysql_native_password\t*2470C0C06DEE42FD1618BBB99005ADCA2EC9D1E0\t3\t0\tSPECIFIED\t/C=a\t/CN=x\n" +
			"GRANT SHUTDOWN, PROCESS ON *.* TO `joe`@`localhost` IDENTIFIED BY PASSWORD '*2470C0C06DEE42FD1618BBB99005ADCA2EC9D1E0' REQUIRE ISSUER '/C=a' SUBJECT '/CN=x' WITH MAX_USER_CONNECTIONS 3\n" +
			"GRANT SELECT, UPDATE ON `plain`.* TO `joe`@`localhost` WITH GRANT OPTION\n" +
			"GRANT ALL PRIVILEGES ON *.* TO `ed`@`localhost` IDENTIFIED VIA unix_socket WITH GRANT OPTION MAX_QUERIES_PER_HOUR 5\n" +
			"GRANT ALL PRIVILEGES ON `o\\\\_d`.* TO `ed`@`localhost`\n" +
			"GRANT SELECT (`b`), INSERT (`a`, `b`), DELETE ON `plain`.`t` TO `ed`@`localhost`\n" +
			"GRANT PROXY ON 'joe'@'localhost' TO 'ed'@'localhost'",
			[]string{
				`Mysql_database[a-b] {"ensure":"present"}`,
				`Mysql_database[plain] {"ensure":"present","charset":"utf8mb4","collate":"utf8mb4_general_ci"}`,
				`Mysql_user[joe@LocalHost] {"ensure":"present","password_hash":{"sensitive":"*2470C0C06DEE42FD1618BBB99005ADCA2EC9D1E0"},"max_user_connections":3,"tls_options":["ISSUER '/C=a'","SUBJECT '/CN=x'"]}`,
				`Mysql_user[a@b@%] {"ensure":"present"}`,
				`Mysql_user[ed@localhost] {"ensure":"present","plugin":"unix_socket","max_queries_per_hour":5}`,
				`Mysql_grant[joe@localhost/plain.*] {"ensure":"present","privileges":["select","UPDATE","GRANT"],"table":"plain.*","user":"joe@localhost","options":["GRANT"]}`,
				`Mysql_grant[joe@localhost/*.*] {"ensure":"present","privileges":["SHUTDOWN","PROCESS"],"table":"*.*","user":"joe@localhost"}`,
				`Mysql_grant[ed@localhost/*.*] {"ensure":"present","privileges":["ALL","SELECT"],"table":"*.*","user":"ed@localhost","options":"GRANT"}`,
				`Mysql_grant[ed@localhost/plain.t] {"ensure":"present","privileges":["INSERT(b, a)","SELECT (b)","DELETE"],"table":"plain.t","user":"ed@localhost"}`,
				`Mysql_grant[ed@localhost/o\_d.*] {"ensure":"present","privileges":["ALL"],"table":"o\\_d.*","user":"ed@localhost"}`,
				`Mysql_grant[ed@localhost/joe@localhost] {"ensure":"present","privileges":["PROXY"],"table":"joe@localhost","user":"ed@localhost"}`,
			}},
		{"changed", "plain\tlatin1\tlatin1_bin\n" +
			"ed\tlocalhost\tmysql_native_password\t*2470C0C06DEE42FD1618BBB99005ADCA2EC9D1E0\t0\t5\t\t\t\n" +
			"joe\tlocalhost\tmysql_native_password\t*5D2E19393CC5EF67C88A4FE3B0C5B0E0E0C0A5D7\t4\t0\tANY\n" +
			"GRANT USAGE ON *.* TO `joe`@`localhost` IDENTIFIED BY PASSWORD '*5D2E19393CC5EF67C88A4FE3B0C5B0E0E0C0A5D7' REQUIRE SSL WITH MAX_USER_CONNECTIONS 4\n" +
			"GRANT SELECT, INSERT ON `plain`.* TO `joe`@`localhost`\n" +
			"GRANT SUPER ON *.* TO `ed`@`localhost` IDENTIFIED BY PASSWORD '*2470C0C06DEE42FD1618BBB99005ADCA2EC9D1E0' WITH MAX_QUERIES_PER_HOUR 5\n" +
			"GRANT ALL PRIVILEGES ON `o\\\\_d`.* TO `ed`@`localhost`\n" +
			"GRANT SELECT, INSERT (`a`) ON `plain`.`t` TO `ed`@`localhost`",
			[]string{
				`Mysql_database[a-b] {"ensure":"absent"}`,
				`Mysql_database[plain] {"ensure":"present","charset":"latin1","collate":"latin1_bin"}`,
				`Mysql_user[joe@localhost] {"ensure":"present","password_hash":"*5D2E19393CC5EF67C88A4FE3B0C5B0E0E0C0A5D7","max_user_connections":4,"tls_options":["SSL"]}`,
				`Mysql_user[a@b@%] {"ensure":"absent"}`,
				`Mysql_user[ed@localhost] {"ensure":"present","plugin":"mysql_native_password","password_hash":"*2470C0C06DEE42FD1618BBB99005ADCA2EC9D1E0"}`,
				`Mysql_grant[joe@localhost/plain.*] {"ensure":"present","privileges":["SELECT","INSERT"],"table":"plain.*","user":"joe@localhost","options":["NONE"]}`,
				`Mysql_grant[joe@localhost/*.*] {"ensure":"absent","privileges":["SHUTDOWN","PROCESS"],"table":"*.*","user":"joe@localhost"}`,
				`Mysql_grant[ed@localhost/*.*] {"ensure":"present","privileges":["SUPER"],"table":"*.*","user":"ed@localhost","options":["NONE"]}`,
				`Mysql_grant[ed@localhost/plain.t] {"ensure":"present","privileges":["INSERT (a)","SELECT"],"table":"plain.t","user":"ed@localhost"}`,
				`Mysql_grant[ed@localhost/joe@localhost] {"ensure":"absent","privileges":["PROXY"],"table":"joe@localhost","user":"ed@localhost"}`,
			}},
	} {
		if got := m.Apply(false, c.resources...); strings.Contains(got, "failed") || strings.Contains(got, "refused") {
			t.Errorf("%s: %s", c.name, got)
		}
		m.Want(c.name, dump(m), c.dump)
		for line := range strings.Lines(m.Apply(false, c.resources...)) {
			if !strings.HasSuffix(strings.TrimSpace(line), " unchanged") {
				t.Errorf("%s, again: %s", c.name, line)
			}
		}
	}
}
