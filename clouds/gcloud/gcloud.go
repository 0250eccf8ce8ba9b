// Package gcloud is the plugin gcloud_inventory: the instances of Google
// Compute Engine in one zone of a project.
//
//	targets:
//	  - _plugin: gcloud_inventory
//	    project: shop
//	    zone: europe-west3-a
//	    filter: labels.role=web
//	    target_mapping: {name: name, uri: networkInterfaces.0.accessConfigs.0.natIP}
//
// Credentials are those of golang.org/x/oauth2. The list is asked for by the
// plugin itself.
//
// Source: https://cloud.google.com/compute/docs/reference/rest/v1/instances/list,
// and the module puppetlabs-gcloud_inventory for options.
package gcloud

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"strings"

	"golang.org/x/oauth2"
	"golang.org/x/oauth2/google"

	"bolt/clouds/cloud"
	"bolt/format/fault"
	"bolt/format/ordered"
	"bolt/internal/readfile"
	"bolt/inventory/plugin/fetch"
	"bolt/inventory/plugin/mapping"
	"bolt/inventory/plugin/options"
)

// Name is the name of the plugin.
const Name = "gcloud_inventory"

// scope is the scope of the credentials: read access.
const scope = "https://www.googleapis.com/auth/compute.readonly"

// Limits: the bytes of all pages of a list, of which one is kept at a time, and the
// instances of a page, which have up to 512 KiB of metadata each.
const (
	maxList = 2 << 30
	perPage = "250"
)

// A Plugin makes targets of instances. It is safe for concurrent use.
type Plugin struct{ o cloud.Options }

// New returns the plugin. The library for credentials reads the environment by
// itself.
func New(o cloud.Options) *Plugin { return &Plugin{o} }

// Configures reports whether a key is allowed in the plugin's configuration.
func Configures(key string) bool {
	switch key {
	case "project", "zone", "credentials", "filter":
		return true
	}
	return false
}

// Resolve returns the targets of a reference. See plugin.Native.
func (p *Plugin) Resolve(ctx context.Context, config, ref *ordered.Map) (any, error) {
	r := options.New(Name, ref, config)
	project, zone, file, filter := r.Required("project"), r.Required("zone"), r.Text("credentials"), r.Text("filter")
	for key, v := range map[string]string{"project": project, "zone": zone} {
		if v != "" && !resource.MatchString(v) {
			r.Wrong("requires a valid name in '%s'", key)
		}
	}
	to, err := mapping.Parse(Name, ref)
	if err != nil {
		return nil, err
	}
	if r.Map(mapping.Key); !to.Has("name") && !to.Has("uri") {
		r.Wrong("requires a 'name' or a 'uri' in '%s'", mapping.Key)
	}
	if err := r.Err(); err != nil {
		return nil, err
	}
	who, universe, err := p.login(ctx, file)
	if err != nil {
		return nil, err
	}
	at, err := p.endpoint(universe)
	if err != nil {
		return nil, err
	}
	at = at.JoinPath("projects", project, "zones", zone, "instances")
	client, err := p.o.Client(nil, maxList)
	if err != nil {
		return nil, err
	}
	targets := &cloud.Targets{To: to}
	err = cloud.Pages(func(token string) (string, error) {
		query := url.Values{"maxResults": {perPage}}
		if filter != "" {
			query.Set("filter", filter)
		}
		if token != "" {
			query.Set("pageToken", token)
		}
		at.RawQuery = query.Encode()
		instances, next, err := list(ctx, client, at, who)
		for _, v := range instances {
			if m, ok := v.(*ordered.Map); ok {
				name, _ := m.Value("name").(string)
				targets.Add(name, m)
			}
		}
		return next, err
	})
	if err != nil {
		return nil, err
	}
	return targets.Done(Name, p.o.Warn), nil
}

// resource matches valid names, so that other text does not become part of a path.
// Names of old projects contain a domain.
var resource = regexp.MustCompile(`^([a-z0-9.-]+:)?[a-z0-9]([a-z0-9-]*[a-z0-9])?$`)

// endpoint returns the URL of the API: from the variable of gcloud, or from the
// universe of the credentials.
func (p *Plugin) endpoint(universe string) (*url.URL, error) {
	const variable = "CLOUDSDK_API_ENDPOINT_OVERRIDES_COMPUTE"
	if v, _ := p.o.Env(variable); v != "" {
		u, err := fetch.Parse(v)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", variable, err)
		}
		return u, nil
	}
	if !domain.MatchString(universe) {
		return nil, errors.New("the universe of the credentials is not a domain")
	}
	return &url.URL{Scheme: "https", Host: "compute." + universe, Path: "/compute/v1"}, nil
}

var domain = regexp.MustCompile(`^[a-z0-9-]+(\.[a-z0-9-]+)+$`)

// login returns a token of the credentials in a file, or of the credentials that
// Google's own programs would use.
func (p *Plugin) login(ctx context.Context, file string) (who *oauth2.Token, universe string, err error) {
	within, cancel := context.WithTimeout(ctx, cloud.LoginTimeout)
	defer cancel()
	t := &http.Transport{}
	p.o.Transport(t)
	within = context.WithValue(within, oauth2.HTTPClient, &http.Client{Transport: t, Timeout: cloud.LoginTimeout / 2, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }})
	found, err := p.find(within, file)
	if err != nil {
		return nil, "", unknown(ctx, err)
	}
	if who, err = found.TokenSource.Token(); err != nil {
		return nil, "", unknown(ctx, err)
	}
	if universe, err = found.GetUniverseDomain(); err != nil {
		return nil, "", unknown(ctx, err)
	}
	return who, universe, nil
}

func (p *Plugin) find(ctx context.Context, file string) (*google.Credentials, error) {
	from := ""
	if file == "" {
		const variable = "GOOGLE_APPLICATION_CREDENTIALS"
		if file, _ = p.o.Env(variable); file == "" {
			return google.FindDefaultCredentials(ctx, scope)
		}
		from = ", which " + variable + " names"
	} else {
		file = p.o.Path(file)
	}
	data, err := readfile.Read(ctx, file, readfile.Key)
	if err != nil {
		return nil, fmt.Errorf("the credentials file %s%s: %w", file, from, fault.WithoutPath(err))
	}
	var kind struct {
		Type google.CredentialsType `json:"type"`
	}
	if json.Unmarshal(data, &kind) != nil {
		return nil, fmt.Errorf("the credentials file %s%s: it is not a JSON object of credentials", file, from)
	}
	switch kind.Type {
	case google.ServiceAccount, google.AuthorizedUser, google.ExternalAccount, google.ExternalAccountAuthorizedUser, google.ImpersonatedServiceAccount:
	default:
		return nil, fmt.Errorf("the credentials file %s%s: its credentials have an unknown type", file, from)
	}
	found, err := google.CredentialsFromJSONWithType(ctx, data, kind.Type, scope)
	if err != nil {
		// The library's error may quote the invalid text.
		return nil, fmt.Errorf("the credentials file %s%s: its credentials of type %s are incomplete", file, from, kind.Type)
	}
	return found, nil
}

// unknown returns an error about credentials.
func unknown(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	text := err.Error()
	if r, ok := errors.AsType[*oauth2.RetrieveError](err); ok {
		text = "the login was refused"
		if r.Response != nil {
			text = fmt.Sprintf("the login was refused with status %d", r.Response.StatusCode)
		}
		for _, s := range said(r) {
			text += ": " + s
		}
	} else if errors.Is(err, context.DeadlineExceeded) {
		text = fmt.Sprintf("not within %v", cloud.LoginTimeout)
	} else if u, ok := errors.AsType[*url.Error](err); ok {
		text = u.Err.Error()
		if at, err := url.Parse(u.URL); err == nil {
			text = fetch.Place(at) + ": " + text
		}
	}
	return &fault.Error{Kind: "bolt/plugin-error", Msg: "no credentials for Google Cloud were found: " + fetch.Shown(text), Err: err,
		Hint: "Set 'credentials' or GOOGLE_APPLICATION_CREDENTIALS to a file, run 'gcloud auth application-default login', or use the metadata server of the machine."}
}

// said returns the messages of a server that rejects a login.
func said(r *oauth2.RetrieveError) []string {
	code, description := r.ErrorCode, r.ErrorDescription
	if code == "" {
		var body struct {
			Error       string `json:"error"`
			Description string `json:"error_description"`
		}
		_ = json.Unmarshal(r.Body, &body) // an answer that is not JSON has no message
		code, description = body.Error, body.Description
	}
	var texts []string
	for _, s := range []string{code, description} {
		if s != "" {
			texts = append(texts, s)
		}
	}
	return texts
}

// list requests one page of the instances.
func list(ctx context.Context, client *cloud.Client, at *url.URL, who *oauth2.Token) (instances []any, next string, err error) {
	a, err := client.Ask(ctx, cloud.Quiet, func() (fetch.Request, error) {
		return fetch.Request{Method: http.MethodGet, URL: at, Header: http.Header{"Accept": {"application/json"}, "Authorization": {"Bearer " + who.AccessToken}}}, nil
	})
	if err != nil {
		return nil, "", err
	}
	if a.Code != http.StatusOK {
		return nil, "", refused(at, a, who)
	}
	v, err := ordered.ParseJSON(a.Body)
	page, ok := v.(*ordered.Map)
	if err != nil || !ok {
		return nil, "", fmt.Errorf("%s: the answer is not a JSON object", fetch.Place(at))
	}
	if kind, _ := page.Value("kind").(string); kind != "compute#instanceList" {
		return nil, "", fmt.Errorf("%s: the answer is not a list of instances", fetch.Place(at))
	}
	instances, _ = page.Value("items").([]any)
	next, _ = page.Value("nextPageToken").(string)
	return instances, next, nil
}

// refused returns the error for an error response from the API.
func refused(at *url.URL, a *fetch.Answer, who *oauth2.Token) error {
	var body struct {
		Error struct{ Message string }
	}
	_ = json.Unmarshal(a.Body, &body) // an answer that is not JSON has no message
	text := a.Status
	if m := strings.TrimSpace(body.Error.Message); m != "" {
		text += ": " + fetch.Shown(m, who.AccessToken)
	}
	e := &fault.Error{Kind: "bolt/plugin-error", Msg: fetch.Place(at) + ": " + text}
	switch a.Code {
	case http.StatusUnauthorized:
		e.Hint = "The login has expired, or is for another project. Log in again, for example with 'gcloud auth application-default login'."
	case http.StatusForbidden:
		e.Hint = "Assign the role Compute Viewer of the project to the login, and check that its Compute Engine API is enabled."
	case http.StatusNotFound:
		e.Hint = "Check project and zone."
	case http.StatusTooManyRequests:
		e.Hint = "Try again later. With _cache in the reference, bolt queries Google less often."
	}
	return e
}
