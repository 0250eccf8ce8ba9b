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
	SSL       bool   // HTTPS; then the default of Port is 5986, otherwise 5985
	SSLVerify bool   // verify the machine's certificate for Host
	CACert    string // path of a file with CA certificates; "" for the system's
	BasicOnly bool   // send the password itself, only over SSL
	Realm     string // Kerberos realm; "" for NTLM
}

// Transport returns the configuration options of the transport.
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
