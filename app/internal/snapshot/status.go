// SPDX-License-Identifier: Apache-2.0

package snapshot

import (
	"github.com/kube-lifeline/lifeline/app/internal/history"
	"github.com/kube-lifeline/lifeline/app/internal/observation"
	"github.com/kube-lifeline/lifeline/app/internal/snapshot/statepb"
)

func savedStatus(w *Writer, s *history.Status) *statepb.Status {
	m := w.slabs.statuses.next()
	*m = statepb.Status{
		Verdict:            share(w, &w.verdicts, s.Verdict, &w.Part.Verdicts, savedVerdict),
		ObservedGeneration: s.ObservedGeneration,
		Conditions:         savedConditionList(w, s.Conditions),
		Pod:                share(w, &w.pods, s.Pod, &w.Part.Pods, savedPod),
		Workload:           share(w, &w.workloads, s.Workload, &w.Part.Workloads, savedWorkload),
	}
	if a := s.Autoscaler; a != nil {
		m.Autoscaler = &statepb.Autoscaler{Scaled: w.Time(a.Scaled), Metrics: w.Text(a.Metrics)}
	}
	if v := s.Revision; v != nil {
		m.Revision = &statepb.Revision{
			Id: w.Text(v.ID), Phase: w.Text(string(v.Phase)), By: w.Text(v.By), Heals: v.Heals,
		}
	}
	if e := s.Endpoints; e != nil {
		m.Endpoints = &statepb.Endpoints{Service: w.Text(e.Service), Ready: e.Ready}
	}
	return m
}

func readStatus(r *Reader, m *statepb.Status) *history.Status {
	s := &history.Status{
		Verdict:            must(r, r.verdicts, m.Verdict),
		ObservedGeneration: m.ObservedGeneration,
		Conditions:         at(r, r.conditionLists, m.Conditions),
		Pod:                at(r, r.pods, m.Pod),
		Workload:           at(r, r.workloads, m.Workload),
	}
	var extra history.StatusExtra
	if a := m.Autoscaler; a != nil {
		extra.Autoscaler = &observation.Autoscaler{Scaled: r.Time(a.Scaled), Metrics: r.Text(a.Metrics)}
	}
	if v := m.Revision; v != nil {
		extra.Revision = &observation.Revision{
			ID: r.Text(v.Id), Phase: observation.RevisionPhase(r.Text(v.Phase)), By: r.Text(v.By), Heals: v.Heals,
		}
	}
	if e := m.Endpoints; e != nil {
		extra.Endpoints = &observation.Endpoints{Service: r.Text(e.Service), Ready: e.Ready}
	}
	s.StatusExtra = extra.Kept()
	return s
}

func savedVerdict(w *Writer, v *history.Verdict) *statepb.Verdict {
	return &statepb.Verdict{
		Progress: w.Text(string(v.Progress)), ProgressMessage: w.Text(v.ProgressMessage),
		JudgedBy: w.Text(string(v.JudgedBy)),
	}
}

func readVerdict(r *Reader, m *statepb.Verdict) *history.Verdict {
	return &history.Verdict{
		Progress:        observation.Progress(r.Text(m.Progress)),
		ProgressMessage: r.Text(m.ProgressMessage),
		JudgedBy:        observation.Judge(r.Text(m.JudgedBy)),
	}
}

func savedConditionList(w *Writer, list []*observation.Condition) uint64 {
	return shareList(
		w,
		&w.conditionLists,
		list,
		&w.Part.ConditionLists,
		func(w *Writer, c *observation.Condition) uint64 {
			return share(w, &w.conditions, c, &w.Part.Conditions, savedCondition)
		},
	)
}

func savedCondition(w *Writer, c *observation.Condition) *statepb.Condition {
	return &statepb.Condition{
		Type:    w.Text(c.Type),
		Status:  w.Text(c.Status),
		Reason:  w.Text(c.Reason),
		Message: w.Text(c.Message),
		Since:   w.Time(c.Since),
	}
}

func readCondition(r *Reader, m *statepb.Condition) *observation.Condition {
	return &observation.Condition{
		Type:    r.Text(m.Type),
		Status:  r.Text(m.Status),
		Reason:  r.Text(m.Reason),
		Message: r.Text(m.Message),
		Since:   r.Time(m.Since),
	}
}

func savedWorkload(w *Writer, o *observation.Workload) *statepb.Workload {
	return &statepb.Workload{
		Replicas:     o.Replicas,
		Paused:       o.Paused,
		Total:        o.Total,
		Updated:      o.Updated,
		Ready:        o.Ready,
		Available:    o.Available,
		HistoryLimit: o.HistoryLimit,
		Revision:     w.Text(o.Revision),
		Complete:     w.Time(o.Complete),
	}
}

func readWorkload(r *Reader, m *statepb.Workload) *observation.Workload {
	return &observation.Workload{
		Replicas:     m.Replicas,
		Paused:       m.Paused,
		Total:        m.Total,
		Updated:      m.Updated,
		Ready:        m.Ready,
		Available:    m.Available,
		HistoryLimit: m.HistoryLimit,
		Revision:     r.Text(m.Revision),
		Complete:     r.Time(m.Complete),
	}
}

func savedPod(w *Writer, p *history.PodState) *statepb.Pod {
	m := w.slabs.pods.next()
	*m = statepb.Pod{
		Spec:       share(w, &w.podSpecs, p.PodSpec, &w.Part.PodSpecs, savedPodSpec),
		Phase:      share(w, &w.podPhases, p.PodPhase, &w.Part.PodPhases, savedPodPhase),
		Init:       savedContainerList(w, p.Init),
		Containers: savedContainerList(w, p.Containers),
		Scheduled:  p.Scheduled,
	}
	return m
}

func readPod(r *Reader, m *statepb.Pod) *history.PodState {
	extra := history.PodExtra{Init: at(r, r.containerLists, m.Init), Scheduled: m.Scheduled}
	return &history.PodState{
		PodSpec:    must(r, r.podSpecs, m.Spec),
		PodPhase:   must(r, r.podPhases, m.Phase),
		PodExtra:   extra.Kept(),
		Containers: at(r, r.containerLists, m.Containers),
	}
}

func savedPodSpec(w *Writer, s *history.PodSpec) *statepb.PodSpec {
	return &statepb.PodSpec{
		Node:            w.Text(s.Node),
		Scheduler:       w.Text(s.Scheduler),
		ReadinessGates:  numbers(w, s.ReadinessGates, (*Writer).Text),
		SchedulingGates: numbers(w, s.SchedulingGates, (*Writer).Text),
		Volumes:         int64(s.Volumes),
	}
}

func readPodSpec(r *Reader, m *statepb.PodSpec) *history.PodSpec {
	return &history.PodSpec{
		Node:            r.Text(m.Node),
		Scheduler:       r.Text(m.Scheduler),
		ReadinessGates:  texts(r, m.ReadinessGates),
		SchedulingGates: texts(r, m.SchedulingGates),
		Volumes:         int(m.Volumes),
	}
}

func savedPodPhase(w *Writer, p *history.PodPhase) *statepb.PodPhase {
	return &statepb.PodPhase{Phase: w.Text(p.Phase), Reason: w.Text(p.Reason), Message: w.Text(p.Message)}
}

func readPodPhase(r *Reader, m *statepb.PodPhase) *history.PodPhase {
	return &history.PodPhase{Phase: r.Text(m.Phase), Reason: r.Text(m.Reason), Message: r.Text(m.Message)}
}

func savedContainerList(w *Writer, list []*observation.Container) uint64 {
	return shareList(
		w,
		&w.containerLists,
		list,
		&w.Part.ContainerLists,
		func(w *Writer, c *observation.Container) uint64 {
			return share(w, &w.containers, c, &w.Part.Containers, savedContainer)
		},
	)
}

func savedContainer(w *Writer, c *observation.Container) *statepb.Container {
	return &statepb.Container{
		Name:           w.Text(c.Name),
		Image:          w.Text(c.Image),
		Sidecar:        c.Sidecar,
		PostStart:      c.PostStart,
		PreStop:        c.PreStop,
		StartupProbe:   c.StartupProbe,
		ReadinessProbe: c.ReadinessProbe,
		Id:             w.Text(c.ID),
		Ready:          c.Ready,
		Started:        c.Started,
		Restarts:       c.Restarts,
		State:          share(w, &w.states, c.State, &w.Part.ContainerStates, savedContainerState),
		Last:           share(w, &w.states, c.Last, &w.Part.ContainerStates, savedContainerState),
	}
}

func readContainer(r *Reader, m *statepb.Container) *observation.Container {
	return &observation.Container{
		Name:           r.Text(m.Name),
		Image:          r.Text(m.Image),
		Sidecar:        m.Sidecar,
		PostStart:      m.PostStart,
		PreStop:        m.PreStop,
		StartupProbe:   m.StartupProbe,
		ReadinessProbe: m.ReadinessProbe,
		ID:             r.Text(m.Id),
		Ready:          m.Ready,
		Started:        m.Started,
		Restarts:       m.Restarts,
		State:          at(r, r.states, m.State),
		Last:           at(r, r.states, m.Last),
	}
}

func savedContainerState(w *Writer, s *observation.ContainerState) *statepb.ContainerState {
	return &statepb.ContainerState{
		Waiting:  s.Waiting,
		Reason:   w.Text(s.Reason),
		Message:  w.Text(s.Message),
		Started:  w.Time(s.Started),
		Finished: w.Time(s.Finished),
		ExitCode: s.ExitCode,
		Signal:   s.Signal,
	}
}

func readContainerState(r *Reader, m *statepb.ContainerState) *observation.ContainerState {
	return &observation.ContainerState{
		Waiting:  m.Waiting,
		Reason:   r.Text(m.Reason),
		Message:  r.Text(m.Message),
		Started:  r.Time(m.Started),
		Finished: r.Time(m.Finished),
		ExitCode: m.ExitCode,
		Signal:   m.Signal,
	}
}
