package winrm

import (
	"bolt/format/ordered"
	"bolt/transport"
	"bolt/transport/option"
)

// Protocol is the name of the transport.
const Protocol = "winrm"

// Access is the value of Dest.Options for this transport.
type Access struct {
	SSL       bool   // HTTPS; Port 0 is 5986 then, else 5985
	SSLVerify bool   // the machine's certificate must be good for Host
	CACert    string // path of a file of certificates to judge it by, "" for the system's
	BasicOnly bool   // the password itself is sent, over SSL alone
	Realm     string // of Kerberos, "" for NTLM
}

// Transport returns how it is configured.
func Transport() option.Transport {
	return option.Transport{
		Name:       Protocol,
		NeedsHost:  true,
		PowerShell: true,
		Options: option.Sorted(
			option.Flag("basic-auth-only"),
			option.Path("cacert"),
			option.Cleanup(),
			option.ConnectTimeout(),
			option.Extensions(),
			option.Enum("file-protocol", "smb", "winrm"),
			option.Host(),
			option.Interpreters(),
			option.Password(),
			option.LoginPort(),
			option.Text("realm"),
			option.Port("smb-port"),
			option.Flag("ssl"),
			option.Flag("ssl-verify"),
			option.TmpDir(),
			option.User(),
		),
		Defaults: ordered.Of("basic-auth-only", false, "cleanup", true, "connect-timeout", int64(10), "ssl", true,
			"ssl-verify", true, "file-protocol", "winrm"),
		Check: check,
		Dest:  complete,
	}
}

func check(c *option.Config) error {
	switch ssl := c.Flag("ssl"); {
	case ssl && c.Text("file-protocol") == "smb":
		return c.Fail("SMB file transfers are not allowed with SSL enabled")
	case !ssl && c.Flag("basic-auth-only"):
		return c.Fail("Basic auth is only allowed when using SSL")
	}
	return nil
}

func complete(config option.Values, to *transport.Dest) {
	to.Options = Access{
		SSL:       config.Flag("ssl"),
		SSLVerify: config.Flag("ssl-verify"),
		CACert:    config.Text("cacert"),
		BasicOnly: config.Flag("basic-auth-only"),
		Realm:     config.Text("realm"),
	}
}
