// SPDX-License-Identifier: Apache-2.0

package doctor

import (
	"fmt"
	"slices"
)

// loseAudit is the information that only the audit log has.
const loseAudit = "the user of each write (without it, WHO in lists is a component or unknown), when exactly, what was " +
	"refused and why; and kube-apiserver's spans of a write " +
	"are not joined, for it is the audit log that says which request was which write"

// lateAudit is the longest acceptable average delay of events, in seconds.
const lateAudit = 5

// checkAudit reports on the audit log.
func checkAudit(f *Facts) Check {
	c := Check{Name: "audit", Status: Advice, Lose: loseAudit}
	is, s := f.cluster(), f.server()
	if is != nil {
		if m, ok := is.managed(); ok && (s == nil || s.From.Received.Audit.Writes == 0) {
			c.Found = fmt.Sprintf("%s does not hand it on: %s", m.name, m.audit)
			c.Lose += ". Used instead: watches, field managers and Events"
			return c
		}
	}
	switch {
	case s == nil:
		c.Found = "there is no server to receive it" + f.auditSeen()
		c.Add = append([]Lines{auditReceiverLines()}, f.auditLines()...)
		return c
	case !s.receivesAudit():
		c.Found = "the server does not receive it (receivers.audit)" + f.auditSeen()
		c.Add = append([]Lines{auditReceiverLines()}, f.auditLines()...)
		return c
	}
	got := s.From.Received.Audit
	if got.Writes == 0 {
		return f.noAudit(c, s)
	}
	c.Status, c.Lose = OK, ""
	c.Found = fmt.Sprintf("%d writes in %s, %.1f s after each on average", got.Writes, f.window(), got.Delay)
	if got.Refused > 0 {
		c.Found += fmt.Sprintf(", %d refused", got.Refused)
	}
	switch {
	case got.Delay > lateAudit:
		c.Status = Advice
		c.Lose = "exact times of writes: what comes after a trace is handed out makes no time of it better"
		c.Add = []Lines{{Where: "flags of kube-apiserver", Text: "--audit-webhook-batch-max-wait=1s\n"}}
	case got.Answers.Of > 0 && got.Answers.With == 0:
		c.Status = Advice
		c.Found += "; none shows what was stored (level Metadata or Request)"
		c.Lose = "certainty which version a write stored: creations with generateName, and two writes of one object " +
			"at once, are told apart by content and time order only"
		c.Add = []Lines{
			{
				Where: "the audit policy, last rule (it makes the log larger); then restart kube-apiserver",
				Text:  "- level: RequestResponse\n",
			},
		}
	case s.From.Receives.Damaged > 0:
		c.Status = Advice
		c.Found += fmt.Sprintf("; %d events or lines could not be read", s.From.Receives.Damaged)
		c.Lose = "the writes that these told of"
	}
	return c
}

// noAudit reports on a server with an audit receiver that gets no events.
func (f *Facts) noAudit(c Check, s *Server) Check {
	switch {
	case s.From.Receives.AuditLogMissing:
		c.Status, c.Found = Missing, "the file that the server follows is not there (receivers.audit.logFile)"
	case s.From.Receives.Refused > 0:
		c.Status = Missing
		c.Found = fmt.Sprintf("the server refused %s of kube-apiserver's: its log says why",
			plural(int(s.From.Receives.Refused), "request"))
	case s.counted() < young || s.From.Received.Coverage.Changes.Of == 0:
		c.Status, c.Lose = Unknown, ""
		c.Found = "nothing came yet, but nothing was written either, as far as was seen in " + f.window()
		return c
	default:
		c.Status = Missing
		c.Found = fmt.Sprintf("the server receives it, but nothing came in %s, while %d changes were seen%s",
			f.window(), s.From.Received.Coverage.Changes.Of, f.auditSeen())
	}
	c.Add = f.auditLines()
	return c
}

// auditSeen describes the API server's audit log, by its metrics.
func (f *Facts) auditSeen() string {
	is := f.cluster()
	switch {
	case f.audits():
		return "; kube-apiserver keeps one, so its policy is there already"
	case is != nil && is.Audited.Is():
		return "; kube-apiserver keeps none"
	}
	return ""
}

// audits reports whether the API server is known to keep an audit log.
func (f *Facts) audits() bool {
	is := f.cluster()
	if is == nil {
		return false
	}
	return is.Audited.Is() && is.Audited.Value > 0 ||
		slices.ContainsFunc(is.APIServers.Value, func(p Process) bool { return p.Flags["audit-policy-file"] != "" })
}
