// SPDX-License-Identifier: Apache-2.0

package cause

import (
	"strings"

	"github.com/kube-lifeline/lifeline/app/internal/audit"
	"github.com/kube-lifeline/lifeline/app/internal/change"
	"github.com/kube-lifeline/lifeline/app/internal/kind"
	"github.com/kube-lifeline/lifeline/app/internal/object"
	"github.com/kube-lifeline/lifeline/app/internal/observation"
	"github.com/kube-lifeline/lifeline/app/internal/span"
)

// ControllerAccounts is the prefix of the users of the controllers in kube-controller-manager.
const ControllerAccounts = "system:serviceaccount:kube-system:"

// auditedController reports whether, by the audit log, the author of w is the controller of the
// owner o (rule A2). known reports whether the log decides this. An event from an unauthenticated
// source decides nothing.
func auditedController(s *Scene, w *change.Write, o *object.Owner) (is, known bool) {
	q := s.Trail.Audited(w)
	if q == nil || q.User == "" || q.Unauthenticated {
		return false, false
	}
	if k := kind.Of(o.Group, o.Kind.Kind); k.Controller != "" {
		account, ofController := strings.CutPrefix(q.User, ControllerAccounts)
		is = q.User == "system:"+change.Manager || ofController && canonical(account) == k.Controller ||
			AuthorOf(q.Write) == k.Controller
		// The dependants of a Pod or a Service are the work of other controllers than the owner's.
		return is, is || len(k.Effects) > 0
	}
	maker := makerOf(s, w.Timeline)
	return maker == q.User, maker != "" && maker != q.User
}

// makerOf returns the user in the audit log for the creation of the object of t, or "".
func makerOf(s *Scene, t *change.Timeline) string {
	if len(t.Versions) == 0 {
		return ""
	}
	v := t.Versions[0]
	q := s.Trail.Audited(&change.Write{Timeline: t, Version: v, RV: v.ResourceVersion})
	if q == nil || v.Baseline || q.Unauthenticated {
		return ""
	}
	return q.User
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
