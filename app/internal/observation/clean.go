// SPDX-License-Identifier: Apache-2.0

package observation

import (
	"strings"

	"github.com/kube-lifeline/lifeline/app/internal/mask"
	"github.com/kube-lifeline/lifeline/app/internal/object"
	"github.com/kube-lifeline/lifeline/internal/message"
)

// Clean removes quoted values from messages. Sources clean their observations; an observation from
// an older recording or journal may still hold quotes. Cleaning again changes nothing.
func (o *Observation) Clean() {
	if w := o.Write; w != nil {
		w.Reason = message.Reason(w.Reason)
		text, unlogged := strings.CutSuffix(w.Message, Unlogged)
		w.Message = again(text, w.Kept, w.Masked)
		if w.Message != "" && (message.Confidential(w.Resource) || message.Confidential(w.Kind.Kind)) {
			w.Message = message.Withheld
		}
		if unlogged {
			w.Message += Unlogged
		}
	}
	if o.Event != nil {
		o.Event.Clean()
	}
	if o.State != nil {
		o.State.Clean()
	}
}

// Unlogged ends the message of a refused request with withheld text, if the audit log lacks its object.
const Unlogged = ", shown at audit level Request"

// Clean removes quoted values from the message, unless its source has masked or kept it.
func (e *Event) Clean() {
	e.CleanBy(func(text string) string { return again(text, e.Kept, e.Masked) })
}

// CleanBy cleans the message by a function.
func (e *Event) CleanBy(clean func(text string) string) {
	e.Reason, e.Note = message.Reason(e.Reason), clean(e.Note)
}

// Clean removes quoted values from the messages of conditions and containers, unless their source has
// masked or kept them.
func (s *State) Clean() {
	clean := func(text string) string { return again(text, s.Kept, s.Masked) }
	s.ProgressMessage = clean(s.ProgressMessage)
	s.CleanBy(clean)
}

// CleanBy cleans the messages of conditions and containers by a function. The last words of a program are
// removed unless messages are kept.
func (s *State) CleanBy(clean func(text string) string) {
	for i := range s.Conditions {
		c := &s.Conditions[i]
		c.Reason, c.Message = message.Reason(c.Reason), clean(c.Message)
	}
	if s.Pod == nil {
		return
	}
	s.Pod.Reason, s.Pod.Message = message.Reason(s.Pod.Reason), clean(s.Pod.Message)
	for _, containers := range [][]Container{s.Pod.Init, s.Pod.Containers} {
		for i := range containers {
			for _, state := range []*ContainerState{containers[i].State, containers[i].Last} {
				state.clean(clean, s.Kept)
			}
		}
	}
}

func (s *ContainerState) clean(by func(string) string, kept bool) {
	if s == nil {
		return
	}
	if s.Reason = message.Reason(s.Reason); s.Waiting || kept {
		s.Message = by(s.Message)
	} else {
		s.Message = message.Termination(s.Reason, s.Message) // of a program that ran, also without times
	}
}

// again cleans a message of an earlier process. A masked one loses credentials: newer rules may find more.
func again(text string, kept, masked bool) string {
	switch {
	case kept:
		return OneLine(text)
	case masked:
		return mask.Credentials(OneLine(text))
	}
	return message.Clean(text)
}

// OneLine returns a text on one line, bounded.
func OneLine(text string) string { return object.Bound(strings.Join(strings.Fields(text), " ")) }
