package event

import (
	"encoding/json"
	"fmt"
	"time"
)

// Applied has the outcomes of a catalog's resources on one target.
type Applied struct {
	Changed, Failed, Unchanged, Skipped, Noop int
	// Resources are the resources that are not unchanged or whose audited properties changed
	// between two runs, in the order in which they ended.
	Resources []Resource
	// Logs are messages about resources, such as the output of a program.
	Logs []ResourceLog
	// Catalog is the catalog that was applied; nil if it is unknown.
	Catalog json.Marshaler `json:"-"`
}

// String returns the numbers of resources in Puppet Bolt's form.
func (a *Applied) String() string {
	return fmt.Sprintf("changed: %d, failed: %d, unchanged: %d skipped: %d, noop: %d", a.Changed, a.Failed, a.Unchanged, a.Skipped, a.Noop)
}

// A Resource is the outcome of one resource on a target.
type Resource struct {
	Ref    string // such as File[/etc/motd]
	Status string // changed, failed, skipped, noop, unchanged
	// Refreshed is set if a refresh was carried out successfully.
	Refreshed bool
	// Attempts is the number of attempts if the resource was tried again after a failure; otherwise 0.
	Attempts int
	Reason   string // why it was skipped
	Place    string // of the declaration, FILE:LINE; "" if it has none
	Changes  []Change
	// At is the time of a check of a watch; zero for a run without a watch.
	At time.Time
}

// A Change is the change of one property of a resource, or a refresh.
type Change struct {
	Property string // "" for a refresh
	Status   string // success, failure, noop, audit
	Message  string
	Diff     string // of contents; "" if there is none
}

// A ResourceLog is a message about a resource.
type ResourceLog struct {
	Ref     string // "" if it is about no resource
	Level   string // debug, info, notice, warning, err
	Message string
}
