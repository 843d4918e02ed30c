// SPDX-License-Identifier: Apache-2.0

package cause

import (
	"slices"
	"strings"

	"github.com/kube-lifeline/lifeline/app/internal/audit"
	"github.com/kube-lifeline/lifeline/app/internal/change"
	"github.com/kube-lifeline/lifeline/app/internal/history"
	"github.com/kube-lifeline/lifeline/app/internal/kind"
	"github.com/kube-lifeline/lifeline/app/internal/object"
	"github.com/kube-lifeline/lifeline/app/internal/observation"
	"github.com/kube-lifeline/lifeline/app/internal/span"
)

// ControllerAccounts is the prefix of the users of the controllers in kube-controller-manager.
const ControllerAccounts = "system:serviceaccount:kube-system:"

// author identifies the author of a write (rules A): by the user in an authenticated audit log, or else by the
// field manager.
type author struct{ user, manager string }

func authorOf(s *Scene, w *change.Write) author { return author{userOf(s, w), w.Manager} }

// is reports whether a and b are one author. Users decide if both are known.
func (a author) is(b author) bool {
	if a.user != "" && b.user != "" {
		return a.user == b.user
	}
	return a.manager != "" && a.manager == b.manager
}

// OneAuthor reports whether one author made both writes.
func OneAuthor(s *Scene, a, b *change.Write) bool { return authorOf(s, a).is(authorOf(s, b)) }

// userOf returns the user who made w, by an authenticated audit log or an observed request, or "".
func userOf(s *Scene, w *change.Write) string {
	if q := s.Trail.Audited(w); q != nil && !q.Unauthenticated {
		return q.User
	}
	return ""
}

// userAt returns the user who stored the version v of t, or "".
func userAt(s *Scene, t *change.Timeline, v *history.Version) string {
	if v.Baseline {
		return ""
	}
	return userOf(s, &change.Write{Timeline: t, Version: v, RV: v.ResourceVersion})
}

// auditedController reports whether, by the audit log, the author of w is the controller of the
// owner o (rule A2). known reports whether the log decides this. An event from an unauthenticated
// source decides nothing.
func auditedController(s *Scene, w *change.Write, o *object.Owner) (is, known bool) {
	user := userOf(s, w)
	if user == "" {
		return false, false
	}
	by := AuthorOf(s.Trail.Audited(w).Write)
	if k := kind.Of(o.Group, o.Kind.Kind); k.Controller != "" {
		account, ofController := strings.CutPrefix(user, ControllerAccounts)
		is = user == "system:"+change.Manager || by == k.Controller ||
			ofController && canonical(account) == k.Controller
		// The dependants of a Pod or a Service are the work of other controllers than the owner's.
		return is, is || len(k.Effects) > 0
	}
	var authors []string
	switch up := s.Known.Object(o.UID); {
	case w.Verb == history.Created && up != nil:
		authors = statusAuthors(s, up, "")
	case w.Verb != history.Created && len(w.Timeline.Versions) > 0:
		if maker := userAt(s, w.Timeline, w.Timeline.Versions[0]); maker != "" {
			authors = append(authors, maker)
		}
	}
	if len(authors) == 0 {
		return false, w.Verb == history.Created && change.IsClient(by)
	}
	is = slices.Contains(authors, user)
	return is, !is || w.Verb == history.Created
}

// statusAuthors returns the known users who wrote the status of t with that field manager, or with any but kubectl
// if the name is empty.
func statusAuthors(s *Scene, t *change.Timeline, manager string) []string {
	var out []string
	for i, v := range t.Versions {
		for _, m := range v.Managers {
			if m.Subresource != "status" || manager != "" && m.Name != manager || change.IsClient(m.Name) ||
				i > 0 && slices.ContainsFunc(t.Versions[i-1].Managers, history.Is(m)) {
				continue
			}
			if user := userAt(s, t, v); user != "" && !slices.Contains(out, user) {
				out = append(out, user)
			}
		}
	}
	return out
}

// isMaker reports whether the author of w made the object of t. Without the users, the controllers of
// kube-controller-manager share one field manager.
func isMaker(s *Scene, w *change.Write, t *change.Timeline) bool {
	if len(t.Versions) == 0 {
		return false
	}
	first := t.Versions[0]
	if maker, user := userAt(s, t, first), userOf(s, w); maker != "" && user != "" {
		return maker == user
	}
	return w.Manager != "" && slices.ContainsFunc(first.Managers, func(m *observation.Manager) bool {
		return m.Name == w.Manager && m.Subresource == ""
	})
}

// canonical returns the name of the controller with the service account.
func canonical(account string) string {
	if account == "daemon-set-controller" {
		return kind.DaemonSet.Controller
	}
	return account
}

// AuthorOf returns the component of a request, by its user and user agent. Each controller of
// Kubernetes has its own service account.
func AuthorOf(q *observation.Write) string {
	if c, ok := systems[q.User]; ok {
		return c
	}
	if account, ok := strings.CutPrefix(q.User, ControllerAccounts); ok &&
		strings.HasPrefix(q.UserAgent, change.Manager+"/") {
		return span.Bound(canonical(account))
	}
	if strings.HasPrefix(q.User, "system:node:") && strings.HasPrefix(q.UserAgent, change.Kubelet+"/") {
		return change.Kubelet
	}
	return change.Component(change.ClientOf(q.UserAgent))
}

// systems are the components of Kubernetes with a user of their own, by user.
var systems = map[string]string{
	"system:kube-scheduler":                          change.Scheduler,
	"system:kube-controller-manager":                 change.Manager,
	"system:apiserver":                               "kube-apiserver",
	ControllerAccounts + "generic-garbage-collector": change.Collector,
}

// Author returns the component that made w, also by the audit log, or "".
func Author(s *Scene, w *change.Write) string {
	if q := s.Trail.Audited(w); q != nil && w.Request == nil && !audit.Unnamed(q.Write) {
		return AuthorOf(q.Write)
	}
	if Autoscaler(s, w) != nil {
		return kind.HorizontalPodAutoscaler.Controller
	}
	return w.Actor()
}
