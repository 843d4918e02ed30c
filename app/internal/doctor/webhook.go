// SPDX-License-Identifier: Apache-2.0

package doctor

import (
	"fmt"
	"strings"
	"time"

	"github.com/kube-lifeline/lifeline/app/internal/docs"
	"github.com/kube-lifeline/lifeline/app/internal/webhook/registration"
)

// near is the remaining life below which an authority or a certificate is reported.
const near = 14 * 24 * time.Hour

const loseWebhook = "the exact cause of writes by controllers and others that supply no context: it is told by " +
	"owners, annotations that are copied, and the audit log"

// checkWebhook reports whether the API server calls the admission webhook, and reaches it. The
// webhook is optional.
func checkWebhook(f *Facts) Check {
	is := f.cluster()
	if is == nil {
		return none
	}
	c := Check{Name: "admission", Status: OK}
	w := is.Webhook.Value
	switch {
	case !is.Webhook.Is():
		c.Status, c.Found = Unknown, is.Webhook.Unknown
		return c
	case w == nil:
		c.Status, c.Found, c.Lose = Advice, "it is not installed", loseWebhook
		c.Add = []Lines{
			{Where: "a shell; its needs: " + docs.Webhook, Text: "lifeline webhook install\n"},
		}
		return c
	}
	c.Found = "the API server asks " + w.Where
	if w.Calls.Is() {
		c.Found += fmt.Sprintf("; %.0f calls since its start, %.0f of them in vain", w.Calls.Value.All,
			w.Calls.Value.Failed)
	}
	if text, add := w.broken(f.At); text != "" {
		c.Status, c.Lose, c.Add = Missing, loseWebhook, []Lines{add}
		c.Found += "; " + text
		return c
	}
	if text, add := w.doubtful(f.At); text != "" {
		c.Status, c.Lose, c.Add = Advice, "contexts, from then on", []Lines{add}
		c.Found += "; " + text
	}
	if len(w.Differs) > 0 {
		c.Status, c.Lose = Missing,
			strings.TrimPrefix(c.Lose+"; that it is never in the way: the configuration was changed", "; ")
		c.Found += "; it was changed: " + some(w.Differs)
		c.Add = append(c.Add, Lines{
			Where: "a shell, with the flags that it was installed with", Text: "lifeline webhook install\n",
		})
	}
	return c
}

// namespaceOf returns the namespace of a Service such as lifeline/lifeline-webhook:443.
func namespaceOf(where string) string {
	namespace, _, _ := strings.Cut(where, "/")
	return namespace
}

// broken returns the reason why no call can succeed, and the lines to add.
func (w *Webhook) broken(now time.Time) (text string, add Lines) {
	switch {
	case w.Ready.Is() && w.Ready.Value == 0:
		return "nobody who is ready is behind that Service", Lines{
			Where: "a shell; then see why its Pods are not ready, or name another Service (lifeline webhook install " +
				"--service)",
			Text: "kubectl -n " + namespaceOf(w.Where) + " get pods\n",
		}
	case w.Authorities == 0 && w.Authority == registration.CAManaged:
		return "the server has not told it its certificate", Lines{
			Where: "configuration of lifeline serve (its log says if it may not); or give the authority yourself " +
				"(lifeline webhook install --ca-file)",
			Text: "webhook:\n  certificate:\n    managed: true\n",
		}
	case w.Authorities == 0 && w.Authority == "cert-manager":
		return "cert-manager has not told it the authority", Lines{
			Where: "a shell, for the Certificate that the configuration names", Text: "kubectl get certificates -A\n",
		}
	case w.Authorities > 0 && !now.Before(w.Until):
		return "what it knows of certificates ended on " + w.Until.Format(time.DateOnly), w.renew()
	case w.Served.Is() && w.Served.Value.Wrong != "":
		return "the certificate there does not fit: " + w.Served.Value.Wrong, w.renew()
	}
	return "", add
}

// doubtful returns problems to come, or occasional ones.
func (w *Webhook) doubtful(now time.Time) (text string, add Lines) {
	switch {
	case w.Authorities > 0 && w.Until.Sub(now) < near:
		return "what it knows of certificates ends on " + w.Until.Format(time.DateOnly), w.renew()
	case w.Served.Is() && w.Served.Value.Until.Sub(now) < near:
		return "the certificate there ends on " + w.Served.Value.Until.Format(time.DateOnly), w.renew()
	case w.Calls.Is() && w.Calls.Value.Failed > 0 && w.Calls.Value.Failed*100 >= w.Calls.Value.All:
		return "that is more than one of a hundred, be it of long ago", Lines{
			Where: "a shell: why they fail, the API server's log says (failing open)",
			Text:  "kubectl logs -n kube-system -l component=kube-apiserver | grep 'failing open'\n",
		}
	}
	return "", add
}

// renew returns the lines that give the API server another certificate.
func (w *Webhook) renew() Lines {
	switch w.Authority {
	case registration.CAManaged:
		return Lines{
			Where: "a shell: a new certificate is made, and told within seconds; if not, the server's log says why",
			Text:  "kubectl delete secret -n lifeline lifeline-webhook\n",
		}
	case "cert-manager":
		return Lines{
			Where: "a shell, for the Certificate that the configuration names", Text: "kubectl get certificates -A\n",
		}
	}
	return Lines{
		Where: "a shell, with the authority of the certificate that is served",
		Text:  "lifeline webhook install --ca-file ca.crt\n",
	}
}
