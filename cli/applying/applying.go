// Package applying carries out the commands that apply catalogs on targets or show resources of
// targets, and reads their options. It also makes the actions for plans that do this.
//
// Usage errors are *cli.UsageError. If the user stops bolt, the error is run.ErrStopped.
package applying

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"sync"
	"time"

	"bolt/apply/fleet"
	"bolt/apply/remote"
	"bolt/apply/remote/embedded"
	"bolt/apply/report"
	"bolt/catalog"
	"bolt/cli/acting"
	"bolt/cli/input"
	"bolt/environment"
	"bolt/facts"
	"bolt/format/ordered"
	"bolt/internal/logging"
	"bolt/inventory"
	"bolt/output/listing"
	"bolt/project"
	"bolt/puppet/eval"
	"bolt/puppetdb"
	"bolt/run"
	"bolt/tasks"
)

// An Invocation has the parts of one invocation of bolt that the commands use.
type Invocation struct {
	Version string // of bolt
	Host    string // the machine that bolt runs on
	Logs    *logging.Log
	Log     *slog.Logger
	Input   *input.Input
	Code    environment.Options // of the project
	Timeout time.Duration       // for each compilation; 0 is no limit
	// Compilations is the number of catalogs that are compiled at a time; 0 is the number of processors.
	Compilations int
	// Say prints a message of a compilation for the target with the name.
	Say     func(target string, l eval.Log)
	Setting project.Apply
	By      string // USER@HOST, for reports
	Project *project.Project
	// Policies returns the policies of the project.
	Policies func() ([]string, error)
	Out      io.Writer
	How      listing.Options
	Store    *facts.Store
	// CachedFacts returns collected facts of a target.
	CachedFacts func(ctx context.Context, name string, names []string) (*ordered.Map, error)
	PuppetDB    func() *puppetdb.Instances
	// Keeper returns the keeper of reports in a state directory, "" for the project's state directory. It
	// returns nil if reports are not kept.
	Keeper func(state string) *fleet.Keeper
	// Act performs an action on the targets that options select, and prints its results.
	Act func(ctx context.Context, o *acting.Options, name, object string, prepare func([]*inventory.Target) (run.Action, error)) error
}

// Delivery returns the settings of all helpers: Dir, Setting, Diffs and By.
func (v *Invocation) Delivery() fleet.Delivery {
	return fleet.Delivery{Dir: v.Setting.Dir, Setting: project.ApplyDirSetting, Diffs: !v.Setting.HideDiffs, By: v.By}
}

// Action returns the action of applying the catalogs that m makes, with the facts of the inventory.
// d has the options of the command or plan. engine applies all catalogs; if it is "", the inventory chooses the engine of each target.
func (v *Invocation) Action(m *fleet.Manifest, d *fleet.Delivery, engine string) (*fleet.Apply, error) {
	helpers, err := embedded.Built()
	if err != nil {
		return nil, err
	}
	m.Timeout = v.Timeout
	of := v.Delivery()
	d.Helpers, d.By, d.Diffs, d.Dir, d.Setting = helpers, of.By, of.Diffs, of.Dir, of.Setting
	d.Puppet = v.puppet(engine)
	action := fleet.New(m, d, v.Version)
	action.Compiles(v.Compilations)
	return action, nil
}

// States returns the action of reading the states of the resources of s. It sets s.Delivery.
func (v *Invocation) States(s *fleet.States) (run.Action, error) {
	helpers, err := embedded.Built()
	d := v.Delivery()
	d.Helpers = helpers
	s.Delivery = &d
	return s, err
}

// Helpers returns the tasks that the helper can do, by their names in the metadata of tasks. It returns none
// if bolt was built without helpers.
func (v *Invocation) Helpers() map[string]tasks.Helper {
	helpers, err := embedded.Built()
	if err != nil {
		return nil
	}
	d := v.Delivery()
	d.Helpers = helpers
	return map[string]tasks.Helper{"package": d.Package}
}

// puppet returns the function for fleet.Delivery.Puppet. The Ruby code of the modules is packed for the first target that needs it.
func (v *Invocation) puppet(engine string) func(context.Context, *inventory.Target) (*fleet.Puppet, error) {
	if engine == fleet.EngineBolt {
		return nil
	}
	packed := sync.OnceValues(func() (*fleet.Puppet, error) {
		code, err := fleet.PackPlugins(v.Code.Modules)
		return &fleet.Puppet{Plugins: code}, err
	})
	return func(ctx context.Context, t *inventory.Target) (*fleet.Puppet, error) {
		with := engine
		if with == "" {
			var err error
			if with, err = fleet.EngineOf(ctx, t); err != nil {
				return nil, err
			}
		}
		if with != fleet.EnginePuppet {
			return nil, nil
		}
		return packed()
	}
}

// Collector returns a function that collects the facts of a target through the helper.
func (v *Invocation) Collector(helpers *embedded.Set) func(context.Context, *run.Site) (*ordered.Map, error) {
	d := v.Delivery()
	d.Helpers = helpers
	return func(ctx context.Context, site *run.Site) (*ordered.Map, error) {
		f, err := remote.Facts(ctx, site.Conn, d.Target(site))
		if err != nil {
			return nil, err
		}
		for _, n := range f.Notes {
			v.Log.Info("a fact is missing", "target", site.Target.SafeName(), "fact", n.Fact, "reason", n.Reason)
		}
		return f.Facts, nil
	}
}

// findFacts sets the source of the facts for an apply. The facts of the inventory override collected facts.
// Collected facts are stored, as with "facts collect". If collect is not set, stored facts are used in their
// place.
func (v *Invocation) findFacts(action *fleet.Apply, collect bool) error {
	over := func(ctx context.Context, s *run.Site, others *ordered.Map) (*ordered.Map, error) {
		data, err := s.Target.Data(ctx)
		if err != nil {
			return nil, err
		}
		return data.FactsOver(others), nil
	}
	if !collect {
		action.Facts = func(ctx context.Context, s *run.Site) (*ordered.Map, error) {
			others, err := v.CachedFacts(ctx, s.Target.Name, nil)
			if err != nil {
				return nil, err
			}
			return over(ctx, s, others)
		}
		return nil
	}
	helpers, err := embedded.Built()
	if err != nil {
		return err
	}
	prepare := sync.OnceValue(func() error { return v.Store.Prepare(v.Store.Now) })
	find := v.Collector(helpers)
	action.Collect = func(ctx context.Context, s *run.Site) (*ordered.Map, error) {
		found, err := find(ctx, s)
		if err != nil {
			return nil, err
		}
		if err := prepare(); err != nil {
			v.Logs.WarnOnce("facts_not_stored", fmt.Sprintf("The facts of targets are not stored: %v", err))
		} else if err := v.Store.Save(s.Target, found, facts.FromHelper, v.Version); err != nil {
			v.Logs.WarnOnce("facts_not_stored", fmt.Sprintf("The facts of %s are not stored: %v", s.Target.SafeName(), err))
		}
		return over(ctx, s, found)
	}
	return nil
}

// sendReports returns a function that sends the report of a target to PuppetDB. If a report cannot be sent,
// the function calls lost, but the target does not fail, because its catalog has been applied.
func (v *Invocation) sendReports(lost func()) fleet.ReportFunc {
	return func(ctx context.Context, t *inventory.Target, c *catalog.Catalog, done *report.Run) error {
		_, err := v.PuppetDB().Command(ctx, "store_report", report.PuppetDBVersion, done.PuppetDB(c, v.Version, v.Host, time.Now()), "")
		if err != nil {
			lost()
			v.Logs.Warn("report_lost", fmt.Sprintf("The report of %s was not sent to PuppetDB: %v", t.SafeName(), err))
		}
		return nil
	}
}
