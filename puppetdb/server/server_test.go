package server

import (
	"strings"
	"testing"
	"time"
)

// TestDefaults: ports, paths and times that nobody has set.
func TestDefaults(t *testing.T) {
	c, err := New(t.Context(), Service{Port: "8081", ReadTimeout: time.Hour}, Options{ServerURLs: []string{"http://a", "http://b:1/x/", "http://[::1]/"}})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	var urls []string
	for _, u := range c.servers {
		urls = append(urls, u.String())
	}
	if got := strings.Join(urls, " "); got != "http://a:8081 http://b:1/x http://[::1]:8081" || c.o.ConnectTimeout != time.Minute || c.o.ReadTimeout != time.Hour {
		t.Errorf("got %s, %v, %v", got, c.o.ConnectTimeout, c.o.ReadTimeout)
	}
}
