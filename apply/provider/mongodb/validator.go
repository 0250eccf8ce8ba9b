package mongodb

import (
	"context"
	"fmt"
	"net"
	"net/netip"
	"time"

	"bolt/apply/report"
	"bolt/apply/resource"
)

// Times of mongodb_conn_validator. The pause is that of the module.
const (
	connectPause = 4 * time.Second
	connectLimit = 10 * time.Second
)

type validators struct{}

// ConnValidator returns the type mongodb_conn_validator.
func ConnValidator() resource.Type { return validators{} }

// A validator is a mongodb_conn_validator: it waits until a port accepts connections.
type validator struct {
	r       *resource.Resource
	server  string // HOST:PORT
	timeout time.Duration

	answers bool
}

// New implements resource.Type. As in the module, a name such as 192.0.2.1:27017 is the address.
func (validators) New(r *resource.Resource) (resource.Item, error) {
	f := resource.Fields{R: r}
	x := &validator{r: r}
	servers := f.Texts("server")
	if len(servers) == 0 {
		servers = []string{"127.0.0.1"}
	}
	number := func(param string, without, least, most int64) int64 {
		n, err := r.Int(param, without)
		if err != nil || n < least || n > most {
			f.RefuseValue(param, fmt.Sprintf("must be a whole number from %d to %d", least, most), f.Text(param, ""))
		}
		return n
	}
	port := number("port", 27017, 1, 65535)
	x.timeout = time.Duration(number("timeout", 60, 0, 1<<31)) * time.Second
	x.server = net.JoinHostPort(servers[0], fmt.Sprint(port))
	if addr, err := netip.ParseAddrPort(f.Text("name", r.Title)); err == nil {
		x.server = addr.String()
	}
	if servers[0] == "" {
		f.Refuse("server", "must not be empty")
	}
	if f.Text("ensure", "present") == "absent" {
		f.Refuse("ensure", "cannot be absent")
	}
	return x, f.Err
}

// Read implements resource.Item.
func (x *validator) Read(ctx context.Context, h *resource.Host) error {
	x.answers = false
	for end := time.Now().Add(x.timeout); ; {
		d := net.Dialer{Timeout: connectLimit}
		conn, err := d.DialContext(ctx, "tcp", x.server)
		if err == nil {
			x.answers = true
			return conn.Close()
		}
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if !time.Now().Before(end) {
			return nil
		}
		h.Logf(x.r.Ref, report.Info, "The server %s does not answer. The next try is in %s", x.server, connectPause)
		if err := resource.Sleep(ctx, connectPause); err != nil {
			return err
		}
	}
}

// Plan implements resource.Item.
func (x *validator) Plan() ([]resource.Change, error) {
	if x.answers {
		return nil, nil
	}
	return resource.Created("mongodb_conn_validator"), nil
}

// Do implements resource.Item. It fails, because bolt cannot start the server.
func (x *validator) Do(context.Context, *resource.Host, *resource.Change) error {
	return fmt.Errorf("cannot connect to the MongoDB server %s", x.server)
}
