// SPDX-License-Identifier: Apache-2.0

package lifecycle

import "github.com/kube-lifeline/lifeline/app/internal/observation"

func (c *oldReader) managerPointer(m **observation.Manager) {
	one(c, &c.managers, m, func(c *oldReader, m *observation.Manager) {
		text(c, &m.Name)
		text(c, &m.Operation)
		text(c, &m.Subresource)
		c.time(&m.Time)
		c.uint(&m.Fields)
	})
}

func (c *oldReader) conditionPointer(p **observation.Condition) {
	one(c, &c.conditions, p, func(c *oldReader, o *observation.Condition) {
		text(c, &o.Type)
		text(c, &o.Status)
		text(c, &o.Reason)
		text(c, &o.Message)
		c.time(&o.Since)
	})
}

func (c *oldReader) workload(w *observation.Workload) {
	c.int32(&w.Replicas)
	c.bool(&w.Paused)
	c.int32(&w.Total)
	c.int32(&w.Updated)
	c.int32(&w.Ready)
	c.int32(&w.Available)
	if c.format > 9 {
		c.int32(&w.HistoryLimit)
	}
	text(c, &w.Revision)
	if c.format > 10 {
		c.time(&w.Complete)
	}
}

func (c *oldReader) containerPointer(p **observation.Container) {
	one(c, &c.containers, p, func(c *oldReader, o *observation.Container) {
		text(c, &o.Name)
		text(c, &o.Image)
		c.bool(&o.Sidecar)
		c.bool(&o.PostStart)
		c.bool(&o.PreStop)
		c.bool(&o.StartupProbe)
		c.bool(&o.ReadinessProbe)
		text(c, &o.ID)
		c.bool(&o.Ready)
		c.bool(&o.Started)
		c.int32(&o.Restarts)
		maybe(c, &c.states, &o.State, (*oldReader).containerState)
		maybe(c, &c.states, &o.Last, (*oldReader).containerState)
	})
}

func (c *oldReader) containerState(s *observation.ContainerState) {
	c.bool(&s.Waiting)
	text(c, &s.Reason)
	text(c, &s.Message)
	c.time(&s.Started)
	c.time(&s.Finished)
	c.int32(&s.ExitCode)
	c.int32(&s.Signal)
}

func (c *oldReader) requestPointer(w **observation.Write) { sole(c, w, (*oldReader).request) }

// auditPointer reads a request that several timelines may share.
func (c *oldReader) auditPointer(w **observation.Write) { one(c, &c.audits, w, (*oldReader).request) }

func (c *oldReader) request(w *observation.Write) {
	c.ref(&w.Ref)
	text(c, &w.Resource)
	text(c, &w.Subresource)
	text(c, &w.Verb)
	c.uint(&w.ResourceVersion)
	c.int64(&w.Generation)
	c.time(&w.Start)
	c.time(&w.End)
	c.int(&w.Code)
	text(c, &w.Reason)
	text(c, &w.Message)
	text(c, &w.AuditID)
	text(c, &w.UserAgent)
	text(c, &w.User)
	text(c, &w.Impersonator)
	c.bool(&w.Unauthenticated)
	text(c, &w.Manager)
	c.uint(&w.Precondition)
	c.bool(&w.Removes)
	text(c, &w.Controller)
	text(c, &w.TraceParent)
	text(c, &w.Server)
}

func (c *oldReader) run(r *observation.Run) {
	text(c, &r.TraceParent)
	text(c, &r.Parent)
	text(c, &r.Command)
	c.time(&r.Start)
	c.time(&r.End)
	c.int(&r.ExitCode)
}

func (c *oldReader) node(n *observation.Node) {
	text(c, &n.Region)
	text(c, &n.Zone)
	text(c, &n.InstanceType)
	text(c, &n.ProviderID)
}
