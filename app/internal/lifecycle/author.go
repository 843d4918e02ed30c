// SPDX-License-Identifier: Apache-2.0

package lifecycle

import (
	"strings"

	"github.com/kube-lifeline/lifeline/app/internal/kind"
	"github.com/kube-lifeline/lifeline/app/internal/object"
)

// controllerAccounts begins the users of the controllers of kube-controller-manager.
const controllerAccounts = "system:serviceaccount:kube-system:"

// auditedController reports whether the audit log names the author of w, and whether that is the
// controller of the owner o (rule A2). An event from an unauthenticated source decides nothing.
func (d *derivation) auditedController(w *write, o *object.Owner) (is, known bool) {
	q := d.audited(w)
	if q == nil || q.User == "" || q.Unauthenticated {
		return false, false
	}
	if k := kind.Of(o.Group, o.Kind.Kind); k.Controller != "" {
		account, ofController := strings.CutPrefix(q.User, controllerAccounts)
		is = q.User == "system:"+manager || ofController && canonical(account) == k.Controller ||
			authorOf(q.Write) == k.Controller
		// What a Pod or a Service owns is made by other controllers than the object's own.
		return is, is || len(k.Effects) > 0
	}
	maker := d.makerOf(w.t)
	return maker == q.User, maker != "" && maker != q.User
}

// makerOf returns the user that made the object of t, by the audit log, or "".
func (d *derivation) makerOf(t *timeline) string {
	if len(t.versions) == 0 {
		return ""
	}
	v := t.versions[0]
	q := d.audited(&write{t: t, v: v, rv: v.ResourceVersion})
	if q == nil || v.baseline || q.Unauthenticated {
		return ""
	}
	return q.User
}

// canonical returns the name of the controller that uses a service account.
func canonical(account string) string {
	if account == "daemon-set-controller" {
		return kind.DaemonSet.Controller
	}
	return account
}
