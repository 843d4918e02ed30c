// SPDX-License-Identifier: Apache-2.0

package doctor

// Status is the result of a check.
type Status string

// The results of a check.
const (
	// OK: everything is there.
	OK Status = "ok"
	// Advice: traces work, and could hold more.
	Advice Status = "advice"
	// Missing: something that was configured is missing.
	Missing Status = "missing"
	// Unknown: the check could not be made.
	Unknown Status = "unknown"
)

// Check is the result for one topic.
type Check struct {
	// Name is the topic; it is stable.
	Name   string `json:"name"`
	Status Status `json:"status"`
	// Found is one line.
	Found string `json:"found"`
	// Lose is the information that traces lack as a result.
	Lose string `json:"lose,omitempty"`
	// Add are the lines to add.
	Add []Lines `json:"add,omitempty"`
}

// Lines are lines to copy into a place unchanged.
type Lines struct {
	// Where is the place, and the action afterwards.
	Where string `json:"where"`
	Text  string `json:"text"`
}

// Report is the result of Examine.
type Report struct {
	Checks []Check `json:"checks"`
	Facts  Facts   `json:"facts"`
}

// Examine evaluates facts. The same facts give the same report.
func Examine(f Facts) Report {
	r := Report{Facts: f}
	for _, check := range []func(*Facts) Check{
		checkCluster, checkVersions, checkClock, checkRights, checkServer, checkWatching, checkRelations, checkHealth,
		checkAudit, checkAPIServer, checkEtcd, checkScheduler, checkKubelet, checkRuntime, checkDrivers,
		checkDevices,
		checkPath, checkWebhook, checkJoining, checkClocks,
	} {
		if c := check(&f); c.Name != "" {
			r.Checks = append(r.Checks, c)
		}
	}
	return r
}

// Missing reports whether something that was configured is missing.
func (r *Report) Missing() bool {
	for _, c := range r.Checks {
		if c.Status == Missing {
			return true
		}
	}
	return false
}

// none is the check for topics that do not apply.
var none = Check{}

// cluster and server return the facts of those that answered; nil otherwise.
func (f *Facts) cluster() *Cluster {
	if !f.Cluster.Is() {
		return nil
	}
	return &f.Cluster.Value
}

func (f *Facts) server() *Server {
	if !f.Server.Is() {
		return nil
	}
	return &f.Server.Value
}
