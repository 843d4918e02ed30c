// SPDX-License-Identifier: Apache-2.0

package doctor

// Status says how a check ended.
type Status string

// The ends of a check.
const (
	// OK: all is there.
	OK Status = "ok"
	// Advice: traces work, and could tell more.
	Advice Status = "advice"
	// Missing: something that was asked for is not there.
	Missing Status = "missing"
	// Unknown: it could not be found out.
	Unknown Status = "unknown"
)

// Check is what was found of one thing.
type Check struct {
	// Name is what it is about; it stays the same.
	Name   string `json:"name"`
	Status Status `json:"status"`
	// Found is one line.
	Found string `json:"found"`
	// Lose is what traces lack because of it.
	Lose string `json:"lose,omitempty"`
	// Add is what to write where.
	Add []Lines `json:"add,omitempty"`
}

// Lines are to be added somewhere, as they are.
type Lines struct {
	// Where is a place, and what to do after.
	Where string `json:"where"`
	Text  string `json:"text"`
}

// Report is what Examine found.
type Report struct {
	Checks []Check `json:"checks"`
	Facts  Facts   `json:"facts"`
}

// Examine judges facts. The same facts give the same report.
func Examine(f Facts) Report {
	r := Report{Facts: f}
	for _, check := range []func(*Facts) Check{
		checkCluster, checkVersions, checkClock, checkRights, checkServer, checkWatching,
		checkAudit, checkAPIServer, checkEtcd, checkKubelet, checkRuntime, checkWebhook, checkJoining, checkClocks,
	} {
		if c := check(&f); c.Name != "" {
			r.Checks = append(r.Checks, c)
		}
	}
	return r
}

// Missing reports whether something that was asked for is not there.
func (r *Report) Missing() bool {
	for _, c := range r.Checks {
		if c.Status == Missing {
			return true
		}
	}
	return false
}

// none is for what there is nothing to say of.
var none = Check{}

// cluster and server are those that answered; nil for none.
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
