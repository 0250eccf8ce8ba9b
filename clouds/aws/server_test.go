package aws

import (
	"crypto/hmac"
	"crypto/sha256"
	"crypto/x509"
	"encoding/hex"
	"encoding/pem"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
)

// Instances, in the form of EC2's documentation of DescribeInstances.
const (
	full = `<item><instanceId>i-1</instanceId><imageId>ami-1</imageId><instanceState><code>16</code><name>running</name></instanceState>
<privateDnsName>ip-10-0-0-5.eu-central-1.compute.internal</privateDnsName><dnsName>ec2-203-0-113-5.eu-central-1.compute.amazonaws.com</dnsName><reason/><amiLaunchIndex>0</amiLaunchIndex>
<productCodes/><launchTime>2026-05-05T12:00:00.000Z</launchTime><placement><availabilityZone>eu-central-1a</availabilityZone><groupName/><tenancy>default</tenancy></placement>
<privateIpAddress>10.0.0.5</privateIpAddress><ipAddress>203.0.113.5</ipAddress><sourceDestCheck>true</sourceDestCheck><groupSet><item><groupId>sg-1</groupId><groupName>web</groupName></item></groupSet>
<blockDeviceMapping><item><deviceName>/dev/xvda</deviceName><ebs><volumeId>vol-1</volumeId><deleteOnTermination>true</deleteOnTermination></ebs></item></blockDeviceMapping>
<tagSet><item><key>Name</key><value>web &amp; 1</value></item><item><key>user.ssh</key><value>admin</value></item><item><key>flag</key><value>true</value></item></tagSet>
<networkInterfaceSet><item><ownerId>123456789012</ownerId><ipv6AddressesSet><item><ipv6Address>2001:db8::1</ipv6Address></item></ipv6AddressesSet><groupSet><item><groupId>sg-1</groupId></item></groupSet>
<privateIpAddressesSet><item><privateIpAddress>10.0.0.5</privateIpAddress></item><item><privateIpAddress>10.0.0.7</privateIpAddress></item></privateIpAddressesSet></item></networkInterfaceSet><ebsOptimized>false</ebsOptimized></item>`
	private = `<item><instanceId>i-2</instanceId><instanceState><code>16</code><name>running</name></instanceState><dnsName/><privateIpAddress>10.0.0.6</privateIpAddress>
<tagSet><item><key>Name</key><value>db</value></item></tagSet></item>`
	stopped = `<item><instanceId>i-3</instanceId><instanceState><code>80</code><name>stopped</name></instanceState><dnsName/><tagSet><item><key>Name</key><value>old</value></item></tagSet></item>`
)

// A fakeEC2 answers DescribeInstances to requests that are signed with its
// key.
type fakeEC2 struct {
	region    string
	instances []string
	busy      int // requests that are rejected before each accepted request

	mu      sync.Mutex
	refused int
	form    url.Values // of the last request
	session string
}

func (f *fakeEC2) took() url.Values {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.form
}

func (f *fakeEC2) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	f.mu.Lock()
	defer f.mu.Unlock()
	body, _ := io.ReadAll(r.Body)
	fail := func(code int, kind, message string) {
		w.WriteHeader(code)
		fmt.Fprintf(w, `<?xml version="1.0" encoding="UTF-8"?><Response><Errors><Error><Code>%s</Code><Message>%s</Message></Error></Errors><RequestID>r-1</RequestID></Response>`, kind, message)
	}
	if why := f.unsigned(r, body); why != "" {
		fail(http.StatusUnauthorized, "AuthFailure", why)
		return
	}
	if f.refused < f.busy {
		f.refused++
		fail(http.StatusServiceUnavailable, "RequestLimitExceeded", "Request limit exceeded.")
		return
	}
	f.refused = 0
	f.session = r.Header.Get("X-Amz-Security-Token")
	f.form, _ = url.ParseQuery(string(body))
	from, _ := strconv.Atoi(f.form.Get("NextToken"))
	most, _ := strconv.Atoi(f.form.Get("MaxResults"))
	to := min(from+most, len(f.instances))
	io.WriteString(w, `<?xml version="1.0" encoding="UTF-8"?><DescribeInstancesResponse xmlns="http://ec2.amazonaws.com/doc/2016-11-15/"><requestId>r</requestId><reservationSet>`)
	for _, i := range f.instances[from:to] {
		io.WriteString(w, "<item><reservationId>r-1</reservationId><ownerId>123456789012</ownerId><groupSet/><instancesSet>"+i+"</instancesSet></item>")
	}
	io.WriteString(w, "</reservationSet>")
	if to < len(f.instances) {
		fmt.Fprintf(w, "<nextToken>%d</nextToken>", to)
	}
	io.WriteString(w, "</DescribeInstancesResponse>")
}

// unsigned returns the error in the signature of a request. It signs the
// received request again.
//
// Source:
// https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_sigv-create-signed-request.html
func (f *fakeEC2) unsigned(r *http.Request, body []byte) string {
	rest, ok := strings.CutPrefix(r.Header.Get("Authorization"), "AWS4-HMAC-SHA256 ")
	if !ok {
		return "no signature"
	}
	parts := map[string]string{}
	for p := range strings.SplitSeq(rest, ", ") {
		k, v, _ := strings.Cut(p, "=")
		parts[k] = v
	}
	moment := r.Header.Get("X-Amz-Date")
	if len(moment) < 8 {
		return "no date"
	}
	scope := moment[:8] + "/" + f.region + "/ec2/aws4_request"
	if parts["Credential"] != keyID+"/"+scope {
		return "not the credential " + keyID + "/" + scope
	}
	names := strings.Split(parts["SignedHeaders"], ";")
	for _, n := range []string{"host", "x-amz-date", "content-type"} {
		if !slices.Contains(names, n) {
			return n + " is not signed"
		}
	}
	var headers strings.Builder
	for _, n := range names {
		v := r.Header.Get(n)
		switch n {
		case "host":
			v = r.Host
		case "content-length":
			v = strconv.FormatInt(r.ContentLength, 10)
		}
		headers.WriteString(n + ":" + strings.TrimSpace(v) + "\n")
	}
	digest := func(b []byte) string { h := sha256.Sum256(b); return hex.EncodeToString(h[:]) }
	canonical := strings.Join([]string{r.Method, r.URL.EscapedPath(), r.URL.RawQuery, headers.String(), parts["SignedHeaders"], digest(body)}, "\n")
	mac := func(key []byte, text string) []byte {
		m := hmac.New(sha256.New, key)
		io.WriteString(m, text)
		return m.Sum(nil)
	}
	key := []byte("AWS4" + secret)
	for _, p := range strings.Split(scope, "/") {
		key = mac(key, p)
	}
	if want := hex.EncodeToString(mac(key, strings.Join([]string{"AWS4-HMAC-SHA256", moment, scope, digest([]byte(canonical))}, "\n"))); parts["Signature"] != want {
		return "the signature does not match"
	}
	return ""
}

func pemOf(c *x509.Certificate) []byte {
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: c.Raw})
}
