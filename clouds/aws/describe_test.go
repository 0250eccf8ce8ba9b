package aws

import (
	"context"
	"testing"

	sdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/config"
)

func TestSnake(t *testing.T) {
	for name, want := range map[string]string{
		"instanceId": "instance_id", "ipv6Address": "ipv_6_address", "ebs": "ebs", "vpcId": "vpc_id", "httpPutResponseHopLimit": "http_put_response_hop_limit", "enaSupport": "ena_support",
		"amiLaunchIndex": "ami_launch_index", "enableDnsAAAARecord": "enable_dns_aaaa_record", "": "",
	} {
		if got := snake(name); got != want {
			t.Errorf("%s: got %s, want %s", name, got, want)
		}
	}
}

func TestEndpoint(t *testing.T) {
	for _, tt := range []struct{ region, fips, dual, custom, want string }{
		{"eu-central-1", "", "", "", "https://ec2.eu-central-1.amazonaws.com/"},
		{"cn-north-1", "", "", "", "https://ec2.cn-north-1.amazonaws.com.cn/"},
		{"us-gov-west-1", "true", "", "", "https://ec2-fips.us-gov-west-1.amazonaws.com/"},
		{"us-iso-east-1", "", "", "", "https://ec2.us-iso-east-1.c2s.ic.gov/"},
		{"eu-central-1", "", "true", "", "https://ec2.eu-central-1.api.aws/"},
		{"eu-central-1", "", "", "https://vpce-1.ec2.example", "https://vpce-1.ec2.example/"},
		{"evil.example/", "", "", "", ""},
		{"eu-central-1", "", "", "ftp://x", ""},
	} {
		t.Setenv("AWS_CONFIG_FILE", "/dev/null")
		t.Setenv("AWS_SHARED_CREDENTIALS_FILE", "/dev/null")
		t.Setenv("AWS_USE_FIPS_ENDPOINT", tt.fips)
		t.Setenv("AWS_USE_DUALSTACK_ENDPOINT", tt.dual)
		t.Setenv("AWS_ENDPOINT_URL_EC2", "")
		t.Setenv("AWS_ENDPOINT_URL", tt.custom)
		c, err := config.LoadDefaultConfig(t.Context(), config.WithRegion(tt.region))
		if err != nil {
			t.Fatal(err)
		}
		u, err := endpoint(t.Context(), c)
		if (err != nil) != (tt.want == "") || err == nil && u.String() != tt.want {
			t.Errorf("%+v: got %v, %v", tt, u, err)
		}
	}
	if _, err := endpoint(context.Background(), sdk.Config{}); err == nil {
		t.Error("no region has an endpoint")
	}
}

func FuzzParse(f *testing.F) {
	f.Add([]byte("<DescribeInstancesResponse><reservationSet><item><instancesSet>" + full + "</instancesSet></item></reservationSet></DescribeInstancesResponse>"))
	f.Add([]byte("<a><b/></a>"))
	f.Fuzz(func(t *testing.T, body []byte) {
		n, err := parse(body)
		if (n == nil) == (err == nil) {
			t.Fatal("neither an answer nor an error, or both")
		}
		if err == nil {
			if m := instance(n); m == nil {
				t.Error("no instance")
			}
		}
		failure(body)
	})
}
