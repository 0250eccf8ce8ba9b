// Package azure is the plugin azure_inventory: the virtual machines of an Azure
// subscription, of a resource group, or of a scale set.
//
//	targets:
//	  - _plugin: azure_inventory
//	    subscription_id: 00000000-0000-0000-0000-000000000000
//	    resource_group: web
//	    tags: {role: web}
//	    target_mapping: {name: name, uri: public_ip_address}
//
// Without a target_mapping a target is called by the name that the DNS has for
// the machine's public address, or by the machine's own, and its uri is that
// address; machines without one are left out.
//
// Credentials are the Azure SDK's. The lists of machines, interfaces and
// addresses are asked for by the plugin itself.
//
// Source: https://learn.microsoft.com/rest/api/compute and
// https://learn.microsoft.com/rest/api/virtualnetwork for the lists, and the
// module puppetlabs-azure_inventory for options.
package azure

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	sdk "github.com/Azure/azure-sdk-for-go/sdk/azcore/cloud"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"
	"github.com/Azure/azure-sdk-for-go/sdk/azidentity"

	"bolt/clouds/cloud"
	"bolt/format/fault"
	"bolt/format/ordered"
	"bolt/inventory/plugin/fetch"
	"bolt/inventory/plugin/mapping"
	"bolt/inventory/plugin/options"
	"bolt/transport"
)

// Name is the name of the plugin.
const Name = "azure_inventory"

// maxLists is the number of bytes of all lists together. The lists are kept until
// the addresses are matched with the machines.
const maxLists = 512 << 20

// A Plugin makes targets of virtual machines. It is safe for concurrent use.
type Plugin struct {
	o cloud.Options
	// api is the URL of the resource manager; "" for the cloud's own.
	api string
}

// New returns the plugin. The SDK reads the environment by itself.
func New(o cloud.Options) *Plugin { return &Plugin{o: o} }

// Configures reports whether a key is allowed in the plugin's configuration.
func Configures(key string) bool {
	switch key {
	case "tenant_id", "client_id", "client_secret", "subscription_id", "location", "resource_group", "scale_set", "tags":
		return true
	}
	return false
}

// access holds the settings of a reference for credentials.
type access struct {
	tenant, client string
	secret         transport.Secret
}

// selection holds the settings of a reference that select machines.
type selection struct {
	subscription, group, set string
	location                 string
	tags                     map[string]string // names in lower case
}

// Resolve returns the targets of a reference. See plugin.Native.
func (p *Plugin) Resolve(ctx context.Context, config, ref *ordered.Map) (any, error) {
	r := options.New(Name, ref, config)
	or := func(key, variable string) string {
		if s := r.Text(key); s != "" {
			return s
		}
		s, _ := p.o.Env(variable)
		return s
	}
	who := access{tenant: or("tenant_id", "AZURE_TENANT_ID"), client: or("client_id", "AZURE_CLIENT_ID"), secret: transport.NewSecret(or("client_secret", "AZURE_CLIENT_SECRET"))}
	s := selection{subscription: or("subscription_id", "AZURE_SUBSCRIPTION_ID"), group: r.Text("resource_group"), set: r.Text("scale_set"), location: r.Text("location")}
	if s.subscription == "" {
		r.Wrong("requires a 'subscription_id', or AZURE_SUBSCRIPTION_ID in the environment")
	}
	if s.set != "" && s.group == "" {
		r.Wrong("requires a 'resource_group' beside 'scale_set'")
	}
	if r.Text("client_secret") != "" && (who.tenant == "" || who.client == "") {
		r.Wrong("requires 'tenant_id' and 'client_id' beside 'client_secret'")
	}
	for name, v := range r.Map("tags").All() {
		text, ok := v.(string)
		if !ok {
			r.Wrong("requires that the tag '%s' is a String", name)
		}
		if s.tags == nil {
			s.tags = make(map[string]string)
		}
		s.tags[strings.ToLower(name)] = text
	}
	to, err := p.mapping(r, ref)
	if err != nil {
		return nil, err
	}
	if err := r.Err(); err != nil {
		return nil, err
	}
	a, err := p.session(ctx, who)
	if err != nil {
		return nil, err
	}
	machines, err := a.machines(ctx, s)
	if err != nil {
		return nil, err
	}
	targets := &cloud.Targets{To: to}
	for _, m := range machines {
		id, _ := m.Value("id").(string)
		if ref.Value(mapping.Key) != nil {
			targets.Add(id, m)
			continue
		}
		if m.Value("public_ip_address") == nil {
			continue
		}
		if fqdn := m.Value("fqdn"); fqdn != nil {
			m.Set("name", fqdn)
		}
		targets.Add(id, m)
	}
	return targets.Done(Name, p.o.Warn), nil
}

// mapping returns the mapping of a reference, or the default mapping if it has
// none.
func (p *Plugin) mapping(r *options.Reader, ref *ordered.Map) (*mapping.Mapping, error) {
	if r.Map(mapping.Key); ref.Value(mapping.Key) == nil {
		if _, err := mapping.Parse(Name, ref); err != nil {
			return nil, err
		}
		return mapping.Parse(Name, ordered.Of(mapping.Key, ordered.Of("name", "name", "uri", "public_ip_address")))
	}
	to, err := mapping.Parse(Name, ref)
	if err == nil && !to.Has("name") && !to.Has("uri") {
		r.Wrong("requires a 'name' or a 'uri' in '%s'", mapping.Key)
	}
	return to, err
}

// A session is a cloud with credentials.
type session struct {
	client *cloud.Client
	api    *url.URL
	token  transport.Secret
}

// A transporter sends the SDK's requests. To repeat a request, the SDK rewinds its
// body, while net/http may still be reading the body for a server that has
// answered early. So the transporter sends a copy.
type transporter struct{ client *http.Client }

func (t transporter) Do(req *http.Request) (*http.Response, error) {
	if req.Body != nil && req.Body != http.NoBody {
		body, err := io.ReadAll(req.Body)
		if err != nil {
			return nil, err
		}
		req = req.Clone(req.Context())
		req.Body = io.NopCloser(bytes.NewReader(body))
	}
	return t.client.Do(req)
}

// session finds credentials in the same places as the Azure SDK.
func (p *Plugin) session(ctx context.Context, who access) (*session, error) {
	where := p.where()
	client, err := p.o.Client(nil, maxLists)
	if err != nil {
		return nil, err
	}
	s := &session{client: client}
	if s.api, err = fetch.Parse(where.Services[sdk.ResourceManager].Endpoint); err != nil {
		return nil, fmt.Errorf("the address of the resource manager: %w", err)
	}
	t := &http.Transport{}
	p.o.Transport(t)
	common := azcore.ClientOptions{Cloud: where, Telemetry: policy.TelemetryOptions{Disabled: true}, Retry: policy.RetryOptions{MaxRetries: 2, RetryDelay: p.o.Pause},
		Transport: transporter{&http.Client{Transport: t, Timeout: cloud.LoginTimeout / 2, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}}}
	// The authority is one of the SDK's, or comes from the environment, so its
	// discovery is disabled.
	var chain azcore.TokenCredential
	if who.secret.IsSet() && who.tenant != "" && who.client != "" {
		chain, err = azidentity.NewClientSecretCredential(who.tenant, who.client, who.secret.Reveal(), &azidentity.ClientSecretCredentialOptions{ClientOptions: common, DisableInstanceDiscovery: true})
	} else {
		chain, err = azidentity.NewDefaultAzureCredential(&azidentity.DefaultAzureCredentialOptions{ClientOptions: common, DisableInstanceDiscovery: true, TenantID: who.tenant})
	}
	if err != nil {
		return nil, unknown(ctx, who, err)
	}
	within, cancel := context.WithTimeout(ctx, cloud.LoginTimeout)
	defer cancel()
	token, err := chain.GetToken(within, policy.TokenRequestOptions{Scopes: []string{where.Services[sdk.ResourceManager].Audience + "/.default"}})
	if err != nil {
		return nil, unknown(ctx, who, err)
	}
	s.token = transport.NewSecret(token.Token)
	return s, nil
}

// where returns the cloud of AZURE_AUTHORITY_HOST, or else the public cloud.
func (p *Plugin) where() sdk.Configuration {
	where := sdk.AzurePublic
	host, _ := p.o.Env("AZURE_AUTHORITY_HOST")
	switch {
	case strings.Contains(host, "microsoftonline.us"):
		where = sdk.AzureGovernment
	case strings.Contains(host, "chinacloudapi.cn"), strings.Contains(host, "partner.microsoftonline.cn"):
		where = sdk.AzureChina
	}
	if host != "" {
		where.ActiveDirectoryAuthorityHost = host
	}
	// The audience of a token is the address of the resource manager, as for 'az'.
	manager := where.Services[sdk.ResourceManager]
	manager.Audience = strings.TrimRight(manager.Endpoint, "/")
	if p.api != "" {
		manager.Endpoint = p.api
	}
	where.Services = map[sdk.ServiceName]sdk.ServiceConfiguration{sdk.ResourceManager: manager}
	return where
}

// unknown returns an error of the SDK about credentials. The SDK's own text
// contains whole answers of servers.
func unknown(ctx context.Context, who access, err error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	text := err.Error()
	if f, ok := errors.AsType[*azidentity.AuthenticationFailedError](err); ok {
		text = "the login was refused"
		if f.RawResponse != nil {
			text = fmt.Sprintf("the login was refused with status %d", f.RawResponse.StatusCode)
		}
		if says := described(f.Error()); says != "" {
			text += ": " + says
		}
	} else if errors.Is(err, context.DeadlineExceeded) {
		text = fmt.Sprintf("not within %v", cloud.LoginTimeout)
	}
	return &fault.Error{Kind: "bolt/plugin-error", Msg: "no credentials for Azure were found: " + fetch.Shown(strings.Join(strings.Fields(text), " "), who.secret.Reveal()), Err: err,
		Hint: "Set them in the reference (tenant_id, client_id, client_secret) or the environment (AZURE_TENANT_ID, AZURE_CLIENT_ID and a secret, certificate or token file), use the managed identity of the machine, or log in with 'az login'."}
}

// described returns the authority's description in an error of the SDK, or else
// the first lines of the error.
func described(text string) string {
	if i := strings.Index(text, "{"); i >= 0 {
		var said struct {
			Description string `json:"error_description"`
		}
		if json.NewDecoder(strings.NewReader(text[i:])).Decode(&said) == nil && said.Description != "" {
			first, _, _ := strings.Cut(said.Description, "\n")
			return strings.TrimSpace(first)
		}
		text = text[:i]
	}
	lines := strings.FieldsFunc(text, func(r rune) bool { return r == '\n' || r == '\r' })
	var kept []string
	for _, l := range lines {
		if l = strings.TrimSpace(l); l != "" && !strings.HasPrefix(l, "---") && !strings.HasPrefix(l, "===") {
			kept = append(kept, l)
		}
	}
	return strings.Join(kept[:min(len(kept), 4)], "; ")
}
