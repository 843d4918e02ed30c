// SPDX-License-Identifier: Apache-2.0

package snapshot

import (
	"k8s.io/apimachinery/pkg/types"

	"github.com/kube-lifeline/lifeline/app/internal/observation"
	"github.com/kube-lifeline/lifeline/app/internal/snapshot/statepb"
)

// Request returns the saved form of a request.
func (w *Writer) Request(o *observation.Write) *statepb.Request {
	return &statepb.Request{
		Ref:             w.Ref(&o.Ref),
		Resource:        w.Text(o.Resource),
		Subresource:     w.Text(o.Subresource),
		Verb:            w.Text(o.Verb),
		ResourceVersion: o.ResourceVersion,
		Generation:      o.Generation,
		Start:           w.Time(o.Start),
		End:             w.Time(o.End),
		Code:            int64(o.Code),
		Reason:          w.Text(o.Reason),
		Message:         w.Text(o.Message),
		AuditId:         w.Text(o.AuditID),
		UserAgent:       w.Text(o.UserAgent),
		User:            w.Text(o.User),
		Impersonator:    w.Text(o.Impersonator),
		Unauthenticated: o.Unauthenticated,
		Manager:         w.Text(o.Manager),
		Precondition:    o.Precondition,
		Removes:         o.Removes,
		Unlisted:        o.Unlisted,
		Controller:      w.Text(string(o.Controller)),
		TraceParent:     w.Text(o.TraceParent),
		Server:          w.Text(o.Server),
	}
}

// Request returns the request.
func (r *Reader) Request(m *statepb.Request) *observation.Write {
	if m == nil {
		return &observation.Write{}
	}
	return &observation.Write{
		Ref:             r.Ref(m.Ref),
		Resource:        r.Text(m.Resource),
		Subresource:     r.Text(m.Subresource),
		Verb:            r.Text(m.Verb),
		ResourceVersion: m.ResourceVersion,
		Generation:      m.Generation,
		Start:           r.Time(m.Start),
		End:             r.Time(m.End),
		Code:            int(m.Code),
		Reason:          r.Text(m.Reason),
		Message:         r.Text(m.Message),
		AuditID:         r.Text(m.AuditId),
		UserAgent:       r.Text(m.UserAgent),
		User:            r.Text(m.User),
		Impersonator:    r.Text(m.Impersonator),
		Unauthenticated: m.Unauthenticated,
		Manager:         r.Text(m.Manager),
		Precondition:    m.Precondition,
		Removes:         m.Removes,
		Unlisted:        m.Unlisted,
		Controller:      types.UID(r.Text(m.Controller)),
		TraceParent:     r.Text(m.TraceParent),
		Server:          r.Text(m.Server),
	}
}

// Audits returns the numbers of requests of the audit log. Several owners may share such a request.
func (w *Writer) Audits(list []*observation.Write) []uint64 {
	return numbers(w, list, func(w *Writer, o *observation.Write) uint64 {
		return share(w, &w.audits, o, &w.Part.Audits, (*Writer).Request)
	})
}

// Audits returns the requests of the audit log with these numbers.
func (r *Reader) Audits(numbers []uint64) []*observation.Write { return all(r, r.audits, numbers) }

// Run returns the saved form of a command.
func (w *Writer) Run(o *observation.Run) *statepb.Run {
	return &statepb.Run{
		TraceParent: w.Text(o.TraceParent),
		Parent:      w.Text(o.Parent),
		Command:     w.Text(o.Command),
		Start:       w.Time(o.Start),
		End:         w.Time(o.End),
		ExitCode:    int64(o.ExitCode),
	}
}

// Run returns the command.
func (r *Reader) Run(m *statepb.Run) *observation.Run {
	return &observation.Run{
		TraceParent: r.Text(m.GetTraceParent()),
		Parent:      r.Text(m.GetParent()),
		Command:     r.Text(m.GetCommand()),
		Start:       r.Time(m.GetStart()),
		End:         r.Time(m.GetEnd()),
		ExitCode:    int(m.GetExitCode()),
	}
}

// Node returns the saved form of a Node.
func (w *Writer) Node(o *observation.Node) *statepb.Node {
	return &statepb.Node{
		Region:       w.Text(o.Region),
		Zone:         w.Text(o.Zone),
		InstanceType: w.Text(o.InstanceType),
		ProviderId:   w.Text(o.ProviderID),
		Runtime:      w.Text(o.Runtime),
	}
}

// Node returns the Node.
func (r *Reader) Node(m *statepb.Node) *observation.Node {
	return &observation.Node{
		Region:       r.Text(m.GetRegion()),
		Zone:         r.Text(m.GetZone()),
		InstanceType: r.Text(m.GetInstanceType()),
		ProviderID:   r.Text(m.GetProviderId()),
		Runtime:      r.Text(m.GetRuntime()),
	}
}
