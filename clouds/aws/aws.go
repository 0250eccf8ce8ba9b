// Package aws is the plugin aws_inventory: the running instances of Amazon EC2
// in one region.
//
//	targets:
//	  - _plugin: aws_inventory
//	    region: eu-central-1
//	    filters: [{name: tag:role, values: [web]}]
//	    target_mapping: {name: tags.Name, uri: public_dns_name}
//
// Credentials and signatures are the AWS SDK's. The one request,
// DescribeInstances, is the plugin's own: the SDK's client of EC2 is code for
// seven hundred others as well.
//
// Source: https://docs.aws.amazon.com/AWSEC2/latest/APIReference (DescribeInstances,
// Query Requests), and the module puppetlabs-aws_inventory for options and names.
package aws

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"regexp"
	"strings"

	sdk "github.com/aws/aws-sdk-go-v2/aws"
	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"
	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/smithy-go/logging"

	"bolt/clouds/cloud"
	"bolt/format/fault"
	"bolt/format/ordered"
	"bolt/inventory/plugin/fetch"
	"bolt/inventory/plugin/mapping"
	"bolt/inventory/plugin/options"
	"bolt/transport"
)

// Name is the name of the plugin.
const Name = "aws_inventory"

// maxList is the number of bytes of all pages of a list; one page is kept at a
// time.
const maxList = 2 << 30

// A Plugin makes targets of instances. It is safe for concurrent use.
type Plugin struct{ o cloud.Options }

// New returns the plugin. The SDK reads the environment by itself.
func New(o cloud.Options) *Plugin { return &Plugin{o} }

// Configures reports whether a key is allowed in the plugin's configuration.
func Configures(key string) bool {
	switch key {
	case "profile", "region", "credentials", "aws_access_key_id", "aws_secret_access_key", "filters":
		return true
	}
	return false
}

// access holds the settings of a reference for credentials and the region.
type access struct {
	region, profile, file string
	id                    string
	key                   transport.Secret
}

// Resolve returns the targets of a reference. See plugin.Native.
func (p *Plugin) Resolve(ctx context.Context, config, ref *ordered.Map) (any, error) {
	r := options.New(Name, ref, config)
	a := access{region: r.Text("region"), profile: r.Text("profile"), file: r.Text("credentials"), id: r.Text("aws_access_key_id"), key: r.Secret("aws_secret_access_key")}
	if (a.id == "") != !a.key.IsSet() {
		r.Wrong("requires both 'aws_access_key_id' and 'aws_secret_access_key', or none of them")
	}
	filters := filters(r)
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
	if a.file != "" {
		a.file = p.o.Path(a.file)
		// The SDK ignores missing files.
		if _, err := os.Stat(a.file); err != nil {
			return nil, fmt.Errorf("the credentials file %s: %w", a.file, fault.WithoutPath(err))
		}
	}
	s, err := p.session(ctx, a)
	if err != nil {
		return nil, err
	}
	targets := &cloud.Targets{To: to}
	err = cloud.Pages(func(token string) (string, error) {
		instances, next, err := s.describe(ctx, filters, token)
		for _, i := range instances {
			state, _ := i.Value("state").(*ordered.Map)
			if state.Value("name") != "running" {
				continue
			}
			id, _ := i.Value("instance_id").(string)
			targets.Add(id, i)
		}
		return next, err
	})
	if err != nil {
		return nil, err
	}
	return targets.Done(Name, p.o.Warn), nil
}

// filters converts the filters of a reference to parameters of the request. If
// no filter is about states, only running instances are requested.
func filters(r *options.Reader) url.Values {
	const key, state = "filters", "instance-state-name"
	form := url.Values{}
	n := 0
	add := func(name string, values []string) {
		n++
		form.Set(fmt.Sprintf("Filter.%d.Name", n), name)
		for i, v := range values {
			form.Set(fmt.Sprintf("Filter.%d.Value.%d", n, i+1), v)
		}
	}
	states := false
	list, ok := r.Value(key).([]any)
	if !ok && r.Value(key) != nil {
		r.Wrong("requires that '%s' is an Array", key)
	}
	for _, e := range list {
		m, ok := e.(*ordered.Map)
		name, named := m.Value("name").(string)
		values, listed := m.Value("values").([]any)
		if !ok || !named || !listed || m.Len() != 2 {
			r.Wrong("requires that each of '%s' is a Hash of 'name', a String, and 'values', an Array of Strings", key)
			return nil
		}
		var texts []string
		for _, v := range values {
			text, ok := v.(string)
			if !ok {
				r.Wrong("requires that the values of the filter '%s' are Strings", name)
			}
			texts = append(texts, text)
		}
		states = states || name == state
		add(name, texts)
	}
	if !states {
		add(state, []string{"running"})
	}
	return form
}

// A session is a region with credentials.
type session struct {
	client   *cloud.Client
	endpoint *url.URL
	region   string
	who      sdk.Credentials
}

// session finds credentials in the same places as the AWS SDK.
func (p *Plugin) session(ctx context.Context, a access) (*session, error) {
	within, cancel := context.WithTimeout(ctx, cloud.LoginTimeout)
	defer cancel()
	opts := []func(*config.LoadOptions) error{
		config.WithHTTPClient(awshttp.NewBuildableClient().WithTimeout(cloud.LoginTimeout / 2).WithTransportOptions(p.o.Transport)),
		config.WithLogger(logging.Nop{}), // otherwise it is standard error
	}
	if a.region != "" {
		opts = append(opts, config.WithRegion(a.region))
	}
	switch {
	case a.file != "":
		// The reference's profile overrides the environment.
		opts = append(opts, config.WithSharedCredentialsFiles([]string{a.file}))
		if a.profile == "" {
			a.profile = "default"
			if name, _ := p.o.Env("AWS_PROFILE"); name != "" {
				a.profile = name
			}
		}
	case a.id != "":
		opts = append(opts, config.WithCredentialsProvider(credentials.NewStaticCredentialsProvider(a.id, a.key.Reveal(), "")))
	}
	if a.profile != "" {
		opts = append(opts, config.WithSharedConfigProfile(a.profile))
	}
	c, err := config.LoadDefaultConfig(within, opts...)
	if err != nil {
		return nil, p.unknown(ctx, "the configuration of AWS cannot be read", a, err)
	}
	if c.Region == "" {
		return nil, &fault.Error{Kind: "bolt/plugin-error", Msg: "no region is set",
			Hint: "Set 'region' in the reference or the plugin's configuration, AWS_REGION in the environment, or region in a profile of ~/.aws/config."}
	}
	at, err := endpoint(within, c)
	if err != nil {
		return nil, err
	}
	who, err := c.Credentials.Retrieve(within)
	if err != nil {
		return nil, p.unknown(ctx, "no credentials for AWS were found", a, err)
	}
	s := &session{endpoint: at, region: c.Region, who: who}
	roots := p.o.Roots
	if b, ok := c.HTTPClient.(*awshttp.BuildableClient); ok {
		roots = b.GetTransport().TLSClientConfig.RootCAs // including those of AWS_CA_BUNDLE
	}
	s.client, err = p.o.Client(roots, maxList)
	return s, err
}

// unknown returns an error of the SDK about credentials.
func (p *Plugin) unknown(ctx context.Context, what string, a access, err error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if errors.Is(err, context.DeadlineExceeded) {
		err = fmt.Errorf("not within %v", cloud.LoginTimeout)
	}
	return &fault.Error{Kind: "bolt/plugin-error", Msg: what + ": " + fetch.Shown(err.Error(), a.key.Reveal()), Err: err,
		Hint: "Set them in the reference, the environment (AWS_ACCESS_KEY_ID, AWS_PROFILE), ~/.aws/credentials and ~/.aws/config (keys, roles, 'aws sso login', 'aws login'), or the role of the machine."}
}

// regionName matches valid names of regions, so that other text does not become
// part of a host name.
var regionName = regexp.MustCompile(`^[a-z0-9]+(-[a-z0-9]+)+$`)

// suffixes are the domains of regions by the beginnings of the regions' names.
var suffixes = []struct{ prefix, domain, dual string }{
	{"cn-", "amazonaws.com.cn", "api.amazonwebservices.com.cn"},
	{"us-isob-", "sc2s.sgov.gov", "api.aws.scloud"},
	{"us-isof-", "csp.hci.ic.gov", "api.aws.hci.ic.gov"},
	{"us-iso-", "c2s.ic.gov", "api.aws.ic.gov"},
	{"eu-isoe-", "cloud.adc-e.uk", "api.cloud-aws.adc-e.uk"},
	{"eusc-", "amazonaws.eu", "api.amazonwebservices.eu"},
	{"", "amazonaws.com", "api.aws"},
}

// endpoint returns the URL of EC2: from the environment or a profile, or else
// the URL of the region.
func endpoint(ctx context.Context, c sdk.Config) (*url.URL, error) {
	var custom string
	var fips sdk.FIPSEndpointState
	var dual sdk.DualStackEndpointState
	// The first source with an endpoint takes effect.
	for _, source := range c.ConfigSources {
		if s, ok := source.(interface {
			GetServiceBaseEndpoint(context.Context, string) (string, bool, error)
		}); ok && custom == "" {
			custom, _, _ = s.GetServiceBaseEndpoint(ctx, "EC2")
		}
		if s, ok := source.(interface {
			GetUseFIPSEndpoint(context.Context) (sdk.FIPSEndpointState, bool, error)
		}); ok && fips == sdk.FIPSEndpointStateUnset {
			fips, _, _ = s.GetUseFIPSEndpoint(ctx)
		}
		if s, ok := source.(interface {
			GetUseDualStackEndpoint(context.Context) (sdk.DualStackEndpointState, bool, error)
		}); ok && dual == sdk.DualStackEndpointStateUnset {
			dual, _, _ = s.GetUseDualStackEndpoint(ctx)
		}
	}
	ignored, _, err := config.GetIgnoreConfiguredEndpoints(ctx, c.ConfigSources)
	if err != nil || ignored {
		custom = ""
	} else if custom == "" && c.BaseEndpoint != nil {
		custom = *c.BaseEndpoint
	}
	if custom != "" {
		u, err := fetch.Parse(custom)
		if err != nil {
			return nil, fmt.Errorf("the configured endpoint of EC2: %w", err)
		}
		if u.Path == "" {
			u.Path = "/"
		}
		return u, nil
	}
	if !regionName.MatchString(c.Region) {
		return nil, fmt.Errorf("%s is not the name of a region", fetch.Shown(c.Region))
	}
	host := "ec2"
	if fips == sdk.FIPSEndpointStateEnabled {
		host += "-fips"
	}
	for _, s := range suffixes {
		if strings.HasPrefix(c.Region, s.prefix) {
			host += "." + c.Region + "."
			if dual == sdk.DualStackEndpointStateEnabled {
				host += s.dual
			} else {
				host += s.domain
			}
			break
		}
	}
	return &url.URL{Scheme: "https", Host: host, Path: "/"}, nil
}
