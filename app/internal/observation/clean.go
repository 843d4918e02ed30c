// SPDX-License-Identifier: Apache-2.0

package observation

import (
	"strings"

	"github.com/kube-lifeline/lifeline/app/internal/object"
	"github.com/kube-lifeline/lifeline/internal/message"
)

// Clean removes quoted values from messages. Sources clean their observations; an observation from
// an older recording or journal may still hold quotes. Cleaning again changes nothing.
func (o *Observation) Clean() {
	if w := o.Write; w != nil {
		w.Reason, w.Message = message.Reason(w.Reason), message.Clean(w.Message)
		if w.Message != "" && (message.Confidential(w.Resource) || message.Confidential(w.Kind.Kind)) {
			w.Message = message.Withheld
		}
	}
	if o.Event != nil {
		o.Event.Clean()
	}
	if o.State != nil {
		o.State.Clean()
	}
}

// Clean removes quoted values from the message, unless it is kept.
func (e *Event) Clean() {
	e.Reason, e.Note = message.Reason(e.Reason), cleaned(e.Note, e.Kept)
}

// Clean removes quoted values from the messages of conditions and containers, unless they are kept.
func (s *State) Clean() {
	s.ProgressMessage = s.Cleaned(s.ProgressMessage)
	for i := range s.Conditions {
		c := &s.Conditions[i]
		c.Reason, c.Message = message.Reason(c.Reason), s.Cleaned(c.Message)
	}
	if s.Pod == nil {
		return
	}
	s.Pod.Reason, s.Pod.Message = message.Reason(s.Pod.Reason), s.Cleaned(s.Pod.Message)
	for _, containers := range [][]Container{s.Pod.Init, s.Pod.Containers} {
		for i := range containers {
			for _, state := range []*ContainerState{containers[i].State, containers[i].Last} {
				state.clean(s.Kept)
			}
		}
	}
}

func (s *ContainerState) clean(kept bool) {
	if s == nil {
		return
	}
	if s.Reason = message.Reason(s.Reason); s.Terminated() && !kept {
		s.Message = message.Termination(s.Reason, s.Message)
	} else {
		s.Message = cleaned(s.Message, kept)
	}
}

// Cleaned returns a message of the object without quoted values, or on one line if messages are kept.
func (s *State) Cleaned(text string) string { return cleaned(text, s.Kept) }

func cleaned(text string, kept bool) string {
	if kept {
		return object.Bound(strings.Join(strings.Fields(text), " "))
	}
	return message.Clean(text)
}
