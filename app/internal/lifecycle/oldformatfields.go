// SPDX-License-Identifier: Apache-2.0

package lifecycle

import (
	"github.com/kube-lifeline/lifeline/app/internal/cause"
	"github.com/kube-lifeline/lifeline/app/internal/change"
	"github.com/kube-lifeline/lifeline/app/internal/history"
	"github.com/kube-lifeline/lifeline/app/internal/object"
	"github.com/kube-lifeline/lifeline/app/internal/observation"
)

func (c *oldReader) timeline(t *change.Timeline) {
	c.of, c.intents = t, known[*history.Intent]{}
	c.ref(&t.Ref)
	list(c, &t.Versions, func(c *oldReader, v **history.Version) { sole(c, v, (*oldReader).version) })
	optional(c, &t.Removal, (*oldReader).removal)
	list(c, &t.Events, func(c *oldReader, e **history.Event) { sole(c, e, (*oldReader).event) })
	var requests []*observation.Write
	list(c, &requests, (*oldReader).requestPointer)
	t.SetRequests(requests)
	optional(c, &t.Audits, (*oldReader).auditLists)
	optional(c, &t.Past, (*oldReader).past)
	c.bool(&t.Folded)
	if t.Folded && len(t.Versions) == 0 {
		c.fail("something is missing")
	}
}

func (c *oldReader) seriesList(l *seriesList) {
	c.ref(&l.ref)
	list(c, &l.all, (*oldReader).series)
}

func (c *oldReader) series(s *series) {
	text(c, &s.author)
	text(c, &s.fields)
	c.traceID(&s.line)
	c.spanID(&s.span)
	c.int64(&s.writes)
	c.int64(&s.reported)
	c.uint(&s.rv)
	c.time(&s.last)
	c.time(&s.reportedAt)
}

func (c *oldReader) ref(r *object.Ref) {
	c.kind(&r.Kind)
	text(c, &r.Namespace)
	text(c, &r.Name)
	text(c, &r.UID)
}

func (c *oldReader) kind(k *object.Kind) {
	text(c, &k.Group)
	text(c, &k.Version)
	text(c, &k.Kind)
}

func (c *oldReader) removal(r *history.Removal) {
	c.uint(&r.RV)
	c.time(&r.Seen)
	c.bool(&r.Listed)
	if c.format > 9 {
		c.bool(&r.HandedOut)
	}
}

func (c *oldReader) version(v *history.Version) {
	one(c, &c.intents, &v.Intent, (*oldReader).intent)
	one(c, &c.statuses, &v.Status, (*oldReader).status)
	c.uint(&v.ResourceVersion)
	alikes(c, &c.managerLists, &v.Managers, (*oldReader).managerPointer)
	c.time(&v.Seen)
	c.bool(&v.Listed)
	c.bool(&v.Late)
	c.bool(&v.Baseline)
	if c.format > 9 {
		c.bool(&v.HandedOut)
	}
}

func (c *oldReader) intent(i *history.Intent) {
	i.Ref = &c.of.Ref
	one(c, &c.leaves, &i.Leave, (*oldReader).leave)
	one(c, &c.origins, &i.Origin, (*oldReader).origin)
	c.time(&i.Created)
	alikes(c, &c.owners, &i.Owners, (*oldReader).owner)
	var extra history.IntentExtra
	alikes(c, &c.finalizers, &extra.Finalizers, text[string])
	i.IntentExtra = extra.Kept()
	c.int64(&i.Generation)
	c.uint(&i.Desired)
	c.bool(&i.Reconciled)
	if c.format > 9 {
		maybe(c, &c.alike.fields, &i.Fields, (*oldReader).fieldTable)
	}
}

func (c *oldReader) fieldTable(f *history.Fields) { list(c, &f.Leaves, (*oldReader).leaf) }

func (c *oldReader) leaf(l *observation.Leaf) {
	text(c, &l.Path)
	c.uint(&l.Value)
	c.uint(&l.Managers)
}

func (c *oldReader) leave(l *history.Leave) {
	c.time(&l.Deleting)
	c.int64(&l.GraceSeconds)
}

func (c *oldReader) origin(o *history.Origin) {
	text(c, &o.TraceParent)
	text(c, &o.TraceState)
	text(c, &o.TraceConvention)
	text(c, &o.GenerateName)
}

func (c *oldReader) owner(o *object.Owner) {
	c.kind(&o.Kind)
	text(c, &o.Name)
	text(c, &o.UID)
	c.bool(&o.Controller)
}

func (c *oldReader) status(s *history.Status) {
	one(c, &c.progresses, &s.Verdict, (*oldReader).progress)
	c.int64(&s.ObservedGeneration)
	alikes(c, &c.conditionLists, &s.Conditions, (*oldReader).conditionPointer)
	maybe(c, &c.pods, &s.Pod, (*oldReader).pod)
	maybe(c, &c.workloads, &s.Workload, (*oldReader).workload)
	s.StatusExtra = history.StatusExtra{}.Kept()
}

func (c *oldReader) progress(p *history.Verdict) {
	text(c, &p.Progress)
	text(c, &p.ProgressMessage)
}

func (c *oldReader) pod(p *history.PodState) {
	one(c, &c.specs, &p.PodSpec, (*oldReader).podSpec)
	one(c, &c.phases, &p.PodPhase, (*oldReader).podPhase)
	var extra history.PodExtra
	alikes(c, &c.containerLists, &extra.Init, (*oldReader).containerPointer)
	alikes(c, &c.containerLists, &p.Containers, (*oldReader).containerPointer)
	c.int64(&extra.Scheduled)
	p.PodExtra = extra.Kept()
}

func (c *oldReader) podSpec(s *history.PodSpec) {
	text(c, &s.Node)
	text(c, &s.Scheduler)
	list(c, &s.ReadinessGates, text[string])
	list(c, &s.SchedulingGates, text[string])
	c.int(&s.Volumes)
}

func (c *oldReader) podPhase(p *history.PodPhase) {
	text(c, &p.Phase)
	text(c, &p.Reason)
	text(c, &p.Message)
}

func (c *oldReader) event(e *history.Event) {
	one(c, &c.notices, &e.Notice, (*oldReader).notice)
	c.uint(&e.ResourceVersion)
	c.int32(&e.Count)
	c.bool(&e.Exact)
	c.bool(&e.Listed)
	c.bool(&e.HandedOut)
	c.time(&e.Stamp)
	c.time(&e.Seen)
}

func (c *oldReader) notice(n *history.Notice) {
	text(c, &n.Type)
	text(c, &n.Reason)
	text(c, &n.FieldPath)
	text(c, &n.Note)
}

func (c *oldReader) past(p *change.Past) {
	c.traceID(&p.TraceID)
	c.spanID(&p.SpanID)
	var verb string
	text(c, &verb)
	p.Verb = history.ParseVerb(verb)
	c.uint(&p.RV)
	c.time(&p.Activity)
	c.bool(&p.Gone)
	c.bool(&p.Lost)
	c.bool(&p.Replaced)
	c.int64(&p.Began)
	optional(c, &p.Before, (*oldReader).before)
}

func (c *oldReader) before(b *change.Before) { list(c, &b.Recs, (*oldReader).earlier) }

func (c *oldReader) earlier(e *change.Earlier) {
	c.traceID(&e.TraceID)
	c.spanID(&e.SpanID)
	c.uint(&e.RV)
	c.int64(&e.Began)
	c.time(&e.Activity)
}

func (c *oldReader) taken(t *cause.Taken) {
	c.time(&t.At)
	c.time(&t.Latest)
	c.bool(&t.Outside)
	list(c, &t.Originations, (*oldReader).uint)
}

func (c *oldReader) amendment(a *amendment) {
	c.ref(&a.ref)
	text(c, &a.service)
	c.past(&a.past)
	text(c, &a.key)
	c.time(&a.at)
	c.uint(&a.rv)
	optional(c, &a.event, (*oldReader).event)
	optional(c, &a.write, (*oldReader).request)
	if c.format > 9 {
		c.int64(&a.repeats)
	}
}

func (c *oldReader) auditLists(a *change.Audits) { list(c, &a.List, (*oldReader).auditPointer) }

func (c *oldReader) trail(t *trail) {
	dict(c, t.sightings, (*oldReader).uint, (*oldReader).sighting)
	dict(c, t.earlier, (*oldReader).uint, (*oldReader).sighting)
	dict(c, t.adrift, (*oldReader).subject, (*oldReader).adrift)
	dict(c, t.longAdrift, (*oldReader).subject, (*oldReader).adrift)
	dict(c, t.refusals, (*oldReader).subject, func(c *oldReader, r **refusals) { sole(c, r, (*oldReader).refusals) })
	c.time(&t.turned)
}

func (c *oldReader) subject(i *subject) {
	text(c, &i.uid)
	text(c, &i.owner)
	text(c, &i.group)
	text(c, &i.kind)
	text(c, &i.namespace)
	text(c, &i.name)
}

func (c *oldReader) sighting(s *sighting) {
	c.uint(&s.content)
	c.bool(&s.twice)
}

func (c *oldReader) adrift(writes *[]*observation.Write) {
	list(c, writes, (*oldReader).auditPointer)
	if len(*writes) == 0 {
		c.fail("something is missing")
	}
}

func (c *oldReader) refusals(r *refusals) {
	list(c, &r.kinds, func(c *oldReader, k **refusal) { sole(c, k, (*oldReader).refusal) })
	c.time(&r.last)
	if len(r.kinds) == 0 {
		c.fail("something is missing")
	}
}

func (c *oldReader) refusal(r *refusal) {
	list(c, &r.writes, (*oldReader).auditPointer)
	c.int(&r.repeats)
	c.time(&r.last)
	c.bool(&r.handedOut)
	if len(r.writes) == 0 {
		c.fail("something is missing")
	}
}
