package gate

import "bolt/rollout/quantity"

// A Spec is a gate of a strategy file. Exactly one of HTTP, Command, Script, Task, Plan and PQL
// is set: the way to measure.
type Spec struct {
	Name string  `json:"name" doc:"The name in messages and events."`
	At   []Place `json:"at" doc:"The places of the rollout at which the gate is measured."`

	HTTP    *HTTP          `json:"http,omitempty" doc:"A request by HTTP from the controller."`
	Command string         `json:"command,omitempty" doc:"A command. Its exit status 0 is a success."`
	Script  string         `json:"script,omitempty" doc:"A script of the project. Its exit status 0 is a success."`
	Task    string         `json:"task,omitempty" doc:"A task. It is a success if the task succeeds."`
	Plan    string         `json:"plan,omitempty" doc:"A plan. It is a success if the plan succeeds."`
	PQL     string         `json:"pql,omitempty" doc:"A query to PuppetDB. {{start}} is the start of the rollout, {{node}} a node."`
	Params  map[string]any `json:"params,omitempty" doc:"The parameters of the task or plan."`

	On     Machine         `json:"on,omitempty" doc:"The machine on which a command, script or task runs: node or controller."`
	Sample quantity.Amount `json:"sample,omitzero" doc:"The number of measured nodes of a wave. The default is all of them."`
	OK     string          `json:"ok,omitempty" doc:"The condition under which a value is a success, as in --where. The value is named result."`
	Bad    string          `json:"bad,omitempty" doc:"The condition under which a value is a failure. If neither ok nor bad is true, the measurement is inconclusive. The default is the opposite of ok."`

	InitialDelay      quantity.Duration `json:"initial_delay" doc:"The time before the first measurement."`
	Interval          quantity.Duration `json:"interval" doc:"The time between two measurements."`
	Timeout           quantity.Duration `json:"timeout" doc:"The longest time of one measurement. A longer one is an error."`
	Count             int               `json:"count" doc:"The number of measurements that must succeed. With 0, a background gate is measured until the rollout ends, and any other gate once."`
	FailureLimit      int               `json:"failure_limit" doc:"The number of tolerated failures. One more fails the gate."`
	ErrorLimit        int               `json:"error_limit" doc:"The number of tolerated errors in a row. One more ends the gate with an error."`
	InconclusiveLimit int               `json:"inconclusive_limit" doc:"The number of tolerated inconclusive measurements. One more ends the gate as inconclusive."`
}

// An HTTP is a request and the response that it must have.
type HTTP struct {
	URL     string            `json:"url" doc:"The address. {{node}} stands for the name of a node, {{host}} for its host."`
	Method  string            `json:"method,omitempty" doc:"The method of the request."`
	Headers map[string]string `json:"headers,omitempty" doc:"The headers of the request."`
	Body    string            `json:"body,omitempty" doc:"The body of the request."`
	Status  int               `json:"status" doc:"The status code of a success."`
	Match   string            `json:"match,omitempty" doc:"A regular expression that the body of a success matches."`
}

// Default returns a request with its defaults.
func (HTTP) Default() HTTP { return HTTP{Method: "GET", Status: 200} }

// A Machine is where a measurement runs.
type Machine string

// The machines.
const (
	OnNode       Machine = "node"
	OnController Machine = "controller"
)

// Values lists the machines.
func (Machine) Values() []string { return []string{string(OnNode), string(OnController)} }

// Default returns a gate with the values of the keys that a file leaves out.
func (Spec) Default() Spec {
	return Spec{On: OnNode, Interval: quantity.Duration(defaultInterval), Timeout: quantity.Duration(defaultTimeout)}
}

// Limits returns the limits that judge the measurements of the gate at a place.
func (s *Spec) Limits(p Place) Limits {
	return Limits{
		Count: s.Count, FailureLimit: s.FailureLimit, ErrorLimit: s.ErrorLimit, InconclusiveLimit: s.InconclusiveLimit,
		Endless: p == Background,
	}
}
