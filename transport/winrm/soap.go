package winrm

import (
	"bytes"
	"encoding/base64"
	"encoding/xml"
	"fmt"
	"io"
	"strings"
	"time"

	"bolt/transport"
)

// The messages of WS-Management (DSP0226) for remote shells, as in MS-WSMV
// section 3.1.4.
const (
	resourceCmd = "http://schemas.microsoft.com/wbem/wsman/1/windows/shell/cmd"

	actionCreate  = "http://schemas.xmlsoap.org/ws/2004/09/transfer/Create"
	actionDelete  = "http://schemas.xmlsoap.org/ws/2004/09/transfer/Delete"
	actionCommand = "http://schemas.microsoft.com/wbem/wsman/1/windows/shell/Command"
	actionSend    = "http://schemas.microsoft.com/wbem/wsman/1/windows/shell/Send"
	actionReceive = "http://schemas.microsoft.com/wbem/wsman/1/windows/shell/Receive"
	actionSignal  = "http://schemas.microsoft.com/wbem/wsman/1/windows/shell/Signal"

	signalTerminate = "http://schemas.microsoft.com/wbem/wsman/1/windows/shell/signal/terminate"
	stateDone       = "http://schemas.microsoft.com/wbem/wsman/1/windows/shell/CommandState/Done"
)

const (
	// maxEnvelope is the requested maximum size of an answer. It is the default
	// maximum of servers since Windows Server 2012.
	maxEnvelope = 512000
	// maxAnswer limits the size of an answer, whatever size was requested.
	maxAnswer = 2 << 20
	// sendPiece is the amount of standard input in one message: less than 150
	// KiB in base64, which older servers accept.
	sendPiece = 96 << 10
	// idle is the time without a request after which a server removes a shell
	// and ends its commands, if this process has disappeared.
	idle = 3 * time.Minute
)

// A message is a request without its envelope.
type message struct {
	action  string
	shell   string // "" before there is a shell
	options []string
	body    string        // XML
	wait    time.Duration // time after which the server answers in any case
}

func createShell(wait time.Duration) message {
	return message{action: actionCreate, wait: wait, options: []string{"WINRS_NOPROFILE", "FALSE", "WINRS_CODEPAGE", "65001"},
		body: "<rsp:Shell><rsp:InputStreams>stdin</rsp:InputStreams><rsp:OutputStreams>stdout stderr</rsp:OutputStreams><rsp:IdleTimeOut>" + duration(idle) + "</rsp:IdleTimeOut></rsp:Shell>"}
}

func deleteShell(shell string, wait time.Duration) message {
	return message{action: actionDelete, shell: shell, wait: wait}
}

// runLine starts a line. Its standard input is a pipe and not a console.
func runLine(shell, line string, wait time.Duration) message {
	return message{action: actionCommand, shell: shell, wait: wait,
		options: []string{"WINRS_CONSOLEMODE_STDIN", "FALSE", "WINRS_SKIP_CMD_SHELL", "FALSE"},
		body:    "<rsp:CommandLine><rsp:Command>" + escape(line) + "</rsp:Command></rsp:CommandLine>"}
}

func sendInput(shell, command string, data []byte, end bool, wait time.Duration) message {
	last := ""
	if end {
		last = ` End="true"`
	}
	return message{action: actionSend, shell: shell, wait: wait,
		body: `<rsp:Send><rsp:Stream Name="stdin" CommandId="` + escape(command) + `"` + last + `>` +
			base64.StdEncoding.EncodeToString(data) + "</rsp:Stream></rsp:Send>"}
}

func receiveOutput(shell, command string, wait time.Duration) message {
	return message{action: actionReceive, shell: shell, wait: wait,
		body: `<rsp:Receive><rsp:DesiredStream CommandId="` + escape(command) + `">stdout stderr</rsp:DesiredStream></rsp:Receive>`}
}

func terminate(shell, command string, wait time.Duration) message {
	return message{action: actionSignal, shell: shell, wait: wait,
		body: `<rsp:Signal CommandId="` + escape(command) + `"><rsp:Code>` + signalTerminate + "</rsp:Code></rsp:Signal>"}
}

// envelope returns the whole message for a URL.
func (m *message) envelope(url string) []byte {
	var b bytes.Buffer
	b.WriteString(`<?xml version="1.0" encoding="UTF-8"?><s:Envelope xmlns:s="http://www.w3.org/2003/05/soap-envelope"` +
		` xmlns:a="http://schemas.xmlsoap.org/ws/2004/08/addressing" xmlns:w="http://schemas.dmtf.org/wbem/wsman/1/wsman.xsd"` +
		` xmlns:p="http://schemas.microsoft.com/wbem/wsman/1/wsman.xsd" xmlns:rsp="http://schemas.microsoft.com/wbem/wsman/1/windows/shell"><s:Header>`)
	fmt.Fprintf(&b, `<a:To>%s</a:To><w:ResourceURI s:mustUnderstand="true">%s</w:ResourceURI>`, escape(url), resourceCmd)
	b.WriteString(`<a:ReplyTo><a:Address s:mustUnderstand="true">http://schemas.xmlsoap.org/ws/2004/08/addressing/role/anonymous</a:Address></a:ReplyTo>`)
	fmt.Fprintf(&b, `<a:Action s:mustUnderstand="true">%s</a:Action><w:MaxEnvelopeSize s:mustUnderstand="true">%d</w:MaxEnvelopeSize>`, m.action, maxEnvelope)
	fmt.Fprintf(&b, `<a:MessageID>uuid:%s</a:MessageID>`, strings.ToUpper(transport.NewPrivateName()))
	b.WriteString(`<w:Locale xml:lang="en-US" s:mustUnderstand="false"/><p:DataLocale xml:lang="en-US" s:mustUnderstand="false"/>`)
	fmt.Fprintf(&b, `<w:OperationTimeout>%s</w:OperationTimeout>`, duration(m.wait))
	if m.shell != "" {
		fmt.Fprintf(&b, `<w:SelectorSet><w:Selector Name="ShellId">%s</w:Selector></w:SelectorSet>`, escape(m.shell))
	}
	if len(m.options) > 0 {
		b.WriteString(`<w:OptionSet>`)
		for i := 0; i < len(m.options); i += 2 {
			fmt.Fprintf(&b, `<w:Option Name="%s">%s</w:Option>`, m.options[i], m.options[i+1])
		}
		b.WriteString(`</w:OptionSet>`)
	}
	b.WriteString(`</s:Header><s:Body>` + m.body + `</s:Body></s:Envelope>`)
	return b.Bytes()
}

// duration returns a duration in the format of XML Schema.
func duration(d time.Duration) string { return fmt.Sprintf("PT%.3fS", d.Seconds()) }

func escape(text string) string {
	var b strings.Builder
	_ = xml.EscapeText(&b, []byte(text)) // a Builder never fails
	return b.String()
}

// An answer holds the used parts of a response's body. Names are matched
// without their namespaces.
type answer struct {
	Fault    *fault           `xml:"Body>Fault"`
	Selector []selector       `xml:"Body>ResourceCreated>ReferenceParameters>SelectorSet>Selector"`
	ShellID  string           `xml:"Body>Shell>ShellId"`
	Command  string           `xml:"Body>CommandResponse>CommandId"`
	Sent     *struct{}        `xml:"Body>SendResponse"`
	Receive  *receiveResponse `xml:"Body>ReceiveResponse"`
}

type selector struct {
	Name  string `xml:"Name,attr"`
	Value string `xml:",chardata"`
}

type receiveResponse struct {
	Streams []struct {
		Name string `xml:"Name,attr"`
		Data string `xml:",chardata"`
	} `xml:"Stream"`
	State struct {
		State string `xml:"State,attr"`
		Code  string `xml:"ExitCode"`
	} `xml:"CommandState"`
}

// A fault is the refusal of a server (SOAP 1.2 part 1 section 5.4).
type fault struct {
	Subcode string `xml:"Code>Subcode>Value"`
	Reason  string `xml:"Reason>Text"`
	WSMan   struct {
		Code    string `xml:"Code,attr"`
		Message string `xml:"Message"`
	} `xml:"Detail>WSManFault"`
}

func (f *fault) Error() string {
	text := strings.TrimSpace(f.Reason)
	if m := strings.TrimSpace(f.WSMan.Message); m != "" {
		text = m
	}
	if text == "" {
		text = "a fault without a reason"
	}
	if f.WSMan.Code != "" {
		text += " (" + f.WSMan.Code + ")"
	}
	return printable(text)
}

// timedOut reports whether nothing has happened for the requested time.
func (f *fault) timedOut() bool {
	return strings.HasSuffix(f.Subcode, ":TimedOut") || f.WSMan.Code == "2150858793"
}

// noShell reports whether the server does not know the shell, or no longer
// knows it.
func (f *fault) noShell() bool {
	return strings.HasSuffix(f.Subcode, ":InvalidSelectors") || f.WSMan.Code == "2150858843"
}

// pipeClosed reports whether a command has closed its standard input
// (ERROR_NO_DATA, ERROR_BROKEN_PIPE).
func (f *fault) pipeClosed() bool {
	return f.WSMan.Code == "2147942632" || f.WSMan.Code == "2147942509"
}

// parse parses an answer. It returns a fault as the error.
func parse(body []byte) (*answer, error) {
	a := &answer{}
	d := xml.NewDecoder(bytes.NewReader(body))
	d.CharsetReader = func(string, io.Reader) (io.Reader, error) { return nil, fmt.Errorf("it is not in UTF-8") }
	if err := d.Decode(a); err != nil {
		return nil, fmt.Errorf("the answer is not a SOAP message: %w", err)
	}
	if a.Fault != nil {
		return nil, a.Fault
	}
	return a, nil
}

// shellID returns the ID of a new shell.
func (a *answer) shellID() string {
	for _, s := range a.Selector {
		if s.Name == "ShellId" {
			return strings.TrimSpace(s.Value)
		}
	}
	return strings.TrimSpace(a.ShellID)
}

// maxReason limits the remote text in a message.
const maxReason = 1 << 10

// printable prepares remote text for a message.
func printable(s string) string {
	if len(s) > maxReason {
		s = s[:maxReason] + " …"
	}
	s = strings.Map(func(r rune) rune {
		if r == '\n' || r == '\t' || r == '\r' {
			return ' '
		}
		if r < ' ' || 0x7f <= r && r < 0xa0 {
			return -1
		}
		return r
	}, strings.ToValidUTF8(s, "?"))
	return strings.TrimSpace(s)
}
