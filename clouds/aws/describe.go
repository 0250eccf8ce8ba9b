package aws

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	v4 "github.com/aws/aws-sdk-go-v2/aws/signer/v4"

	"bolt/format/fault"
	"bolt/format/ordered"
	"bolt/inventory/plugin/fetch"
)

// describe requests one page of the instances.
func (s *session) describe(ctx context.Context, filters url.Values, token string) (instances []*ordered.Map, next string, err error) {
	form := maps.Clone(filters)
	form.Set("Action", "DescribeInstances")
	form.Set("Version", "2016-11-15")
	form.Set("MaxResults", "1000") // the maximum of EC2
	if token != "" {
		form.Set("NextToken", token)
	}
	body := []byte(form.Encode())
	a, err := s.client.Ask(ctx, throttled, func() (fetch.Request, error) { return s.signed(ctx, body) })
	if err != nil {
		return nil, "", err
	}
	if a.Code != http.StatusOK {
		return nil, "", s.refused(a)
	}
	root, err := parse(a.Body)
	if err != nil {
		return nil, "", fmt.Errorf("%s: %w", fetch.Place(s.endpoint), err)
	}
	if root.name != "DescribeInstancesResponse" {
		return nil, "", fmt.Errorf("%s: the answer is not a response to DescribeInstances", fetch.Place(s.endpoint))
	}
	for _, reservation := range root.child("reservationSet").children {
		for _, i := range reservation.child("instancesSet").children {
			instances = append(instances, instance(i))
		}
	}
	return instances, root.child("nextToken").text, nil
}

// signed returns a request with its signature, which is valid for some minutes.
func (s *session) signed(ctx context.Context, body []byte) (fetch.Request, error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, s.endpoint.String(), bytes.NewReader(body))
	if err != nil {
		return fetch.Request{}, errors.New("the request cannot be written")
	}
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded; charset=utf-8")
	digest := sha256.Sum256(body)
	if err := v4.NewSigner().SignHTTP(ctx, s.who, r, hex.EncodeToString(digest[:]), "ec2", s.region, time.Now()); err != nil {
		return fetch.Request{}, fmt.Errorf("the request cannot be signed: %w", err)
	}
	return fetch.Request{Method: r.Method, URL: s.endpoint, Header: r.Header, Body: body}, nil
}

// failure returns the code and the message of an error from EC2.
func failure(body []byte) (code, message string) {
	root, err := parse(body)
	if err != nil {
		return "", ""
	}
	e := root.child("Errors").child("Error")
	return e.child("Code").text, e.child("Message").text
}

// throttled reports whether EC2 asks the client to slow down.
func throttled(a *fetch.Answer) bool {
	if a.Code == http.StatusOK {
		return false
	}
	switch code, _ := failure(a.Body); code {
	case "RequestLimitExceeded", "Throttling", "ThrottlingException", "RequestThrottled", "Unavailable", "InternalError":
		return true
	}
	return false
}

// refused returns the error for an error response from EC2.
func (s *session) refused(a *fetch.Answer) error {
	code, message := failure(a.Body)
	text := a.Status
	if code != "" {
		text = fetch.Shown(code+": "+message, s.who.SecretAccessKey, s.who.SessionToken)
	}
	e := &fault.Error{Kind: "bolt/plugin-error", Msg: fmt.Sprintf("%s: %s", fetch.Place(s.endpoint), text)}
	switch code {
	case "UnauthorizedOperation":
		e.Hint = "Allow ec2:DescribeInstances for these credentials. Their source is " + source(s.who.Source) + "."
	case "AuthFailure", "InvalidClientTokenId", "SignatureDoesNotMatch":
		e.Hint = "The source of the credentials is " + source(s.who.Source) + ". Check that key and secret belong together, that the account uses the region, and that this machine's clock is right."
	case "RequestExpired", "ExpiredToken", "ExpiredTokenException":
		e.Hint = "The credentials from " + source(s.who.Source) + " have expired, or this machine's clock is wrong. Log in again, for example with 'aws sso login'."
	case "RequestLimitExceeded", "Throttling", "ThrottlingException", "RequestThrottled":
		e.Hint = "Try again later. With _cache in the reference, bolt queries EC2 less often."
	}
	return e
}

// source returns a description of the SDK's name for a source of credentials.
func source(name string) string {
	switch {
	case name == "StaticCredentials":
		return "the reference or the plugin's configuration"
	case name == "EnvConfigCredentials":
		return "the environment"
	case strings.HasPrefix(name, "SharedConfigCredentials"):
		return "a profile" + strings.TrimPrefix(name, "SharedConfigCredentials")
	case name == "EC2RoleProvider":
		return "the role of this machine"
	}
	return name
}

// A node is an XML element: it has children or text.
type node struct {
	name     string
	text     string
	children []*node
}

// child returns the first child with a name, or an empty node if there is none.
func (n *node) child(name string) *node {
	if i := slices.IndexFunc(n.children, func(c *node) bool { return c.name == name }); i >= 0 {
		return n.children[i]
	}
	return &node{}
}

// Limits of an answer: the depth of elements, the number of elements (an
// instance has about two hundred), and the bytes of a text.
const (
	maxDepth    = 40
	maxElements = 1_000_000
	maxText     = 64 << 10
)

// parse reads a response. Its errors do not quote the response.
func parse(body []byte) (*node, error) {
	d := xml.NewDecoder(bytes.NewReader(body))
	top := &node{}
	open := []*node{top}
	elements := 0
	for {
		token, err := d.Token()
		if errors.Is(err, io.EOF) && len(open) == 1 && len(top.children) == 1 {
			return top.children[0], nil
		}
		if err != nil {
			return nil, fmt.Errorf("the answer is not XML, or ends too early, at byte %d", d.InputOffset())
		}
		last := open[len(open)-1]
		switch token := token.(type) {
		case xml.StartElement:
			n := &node{name: token.Name.Local}
			last.children = append(last.children, n)
			elements++
			if open = append(open, n); len(open) > maxDepth || elements > maxElements {
				return nil, errors.New("the answer has too many elements")
			}
		case xml.EndElement:
			open = open[:len(open)-1]
		case xml.CharData:
			if len(last.children) == 0 && len(last.text)+len(token) <= maxText {
				last.text += string(token)
			}
		}
	}
}

// renamed are the elements that have another name in the API's model and in the
// AWS SDK for Ruby. All others have their own names in snake case.
var renamed = map[string]string{
	"dnsName":                  "public_dns_name",
	"ipAddress":                "public_ip_address",
	"instanceState":            "state",
	"reason":                   "state_transition_reason",
	"blockDeviceMapping":       "block_device_mappings",
	"networkInterfaceSet":      "network_interfaces",
	"tagSet":                   "tags",
	"licenseSet":               "licenses",
	"elasticGpuAssociationSet": "elastic_gpu_associations",
	"elasticInferenceAcceleratorAssociationSet": "elastic_inference_accelerator_associations",
	"privateIpAddressesSet":                     "private_ip_addresses",
	"ipv6AddressesSet":                          "ipv_6_addresses",
	"ipv4PrefixSet":                             "ipv_4_prefixes",
	"ipv6PrefixSet":                             "ipv_6_prefixes",
}

// list reports whether an element is a list, with items or without.
func list(name string) bool {
	return strings.HasSuffix(name, "Set") || name == "blockDeviceMapping" || name == "productCodes"
}

// number reports whether an element is an integer.
func number(name, parent string) bool {
	switch name {
	case "amiLaunchIndex", "coreCount", "threadsPerCore", "httpPutResponseHopLimit", "deviceIndex", "networkCardIndex", "partitionNumber", "elasticInferenceAcceleratorCount":
		return true
	case "code":
		return parent == "instanceState"
	}
	return false
}

// instance returns the data for mappings. The names are the names in the SDK for
// Ruby, including id, and tags are a map.
func instance(n *node) *ordered.Map {
	m, ok := value(n, "").(*ordered.Map)
	if !ok {
		return &ordered.Map{}
	}
	m.Set("id", m.Value("instance_id"))
	return m
}

func value(n *node, parent string) any {
	switch {
	case n.name == "tagSet":
		tags := &ordered.Map{}
		for _, t := range n.children {
			tags.Set(t.child("key").text, t.child("value").text)
		}
		return tags
	case list(n.name):
		items := make([]any, 0, len(n.children))
		for _, c := range n.children {
			items = append(items, value(c, n.name))
		}
		return items
	case len(n.children) > 0:
		m := &ordered.Map{}
		for _, c := range n.children {
			name := renamed[c.name]
			switch {
			case c.name == "groupSet" && parent == "":
				name = "security_groups"
			case c.name == "groupSet":
				name = "groups"
			case name == "":
				name = snake(c.name)
			}
			m.Set(name, value(c, n.name))
		}
		return m
	case number(n.name, parent):
		if i, err := strconv.ParseInt(n.text, 10, 64); err == nil {
			return i
		}
	case n.text == "true" || n.text == "false":
		return n.text == "true"
	}
	return n.text
}

// snake writes a name in snake case as the SDK for Ruby does, which separates
// digits: ipv6Address is ipv_6_address.
func snake(name string) string {
	var b strings.Builder
	kind := func(c byte) int {
		switch {
		case c >= '0' && c <= '9':
			return 1
		case c >= 'A' && c <= 'Z':
			return 2
		}
		return 0
	}
	for i := range len(name) {
		k := kind(name[i])
		if i > 0 {
			before := kind(name[i-1])
			starts := k == 2 && (before != 2 || i+1 < len(name) && kind(name[i+1]) == 0)
			if starts || (k == 1) != (before == 1) && k != 2 {
				b.WriteByte('_')
			}
		}
		b.WriteByte(name[i])
	}
	return strings.ToLower(b.String())
}
