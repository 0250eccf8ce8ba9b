package file

import "testing"

// FuzzHeaders checks that no output of curl is an answer without a code.
func FuzzHeaders(f *testing.F) {
	f.Add([]byte("HTTP/1.1 302 Found\r\nLocation: /b\r\n\r\nHTTP/2 200\r\nLast-Modified: Mon, 02 Jan 2006 15:04:05 GMT\r\n\r\n"))
	f.Add([]byte("HTTP/1.1 200 OK\r\n"))
	f.Add([]byte("noise"))
	f.Fuzz(func(t *testing.T, text []byte) {
		a, err := parseHeaders(text)
		if (a == nil) == (err == nil) {
			t.Fatalf("%v, %v", a, err)
		}
		if a != nil {
			a.sum("md5")
		}
	})
}
