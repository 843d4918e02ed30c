// SPDX-License-Identifier: Apache-2.0

package doctor

import (
	"context"
	"fmt"
	"strings"
	"time"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/rand"
	"k8s.io/client-go/kubernetes"

	"github.com/kube-lifeline/lifeline"
	"github.com/kube-lifeline/lifeline/app/internal/object"
	"github.com/kube-lifeline/lifeline/app/internal/webhook/registration"
)

const (
	// probeName is the prefix of the probe's configuration and object, and the value of their name label.
	probeName = "lifeline-doctor"
	// probeKey labels the one object of a probe. No other object has its value.
	probeKey = "lifeline.dev/probe"
	// probeTimeout is the limit of the API server's call, in seconds.
	probeTimeout = 5
	// probeEvery is the pause between two requests, until the API server has read the configuration.
	probeEvery = 250 * time.Millisecond
	// probePatience bounds the whole probe.
	probePatience = 20 * time.Second
)

// Path is the result of a probe: the way from the API server to the webhook.
type Path struct {
	Where   string `json:"where"`
	Reached bool   `json:"reached"`
	// Said is the API server's reason, if it did not reach the webhook.
	Said string `json:"said,omitempty"`
}

// probe has the API server call a webhook that is not registered yet. It registers it for a moment, for a single
// object that is never stored: a ConfigMap with a random label, created as a dry run. Only this object waits for the
// answer, so the failure policy is Fail, which returns the API server's reason.
//
// The configuration has no authority, so the API server refuses the webhook's certificate. This refusal shows that
// it has reached a TLS server at that address.
func probe(ctx context.Context, g *gatherer, to registration.Options) Known[Path] {
	ctx, cancel := context.WithTimeout(ctx, probePatience)
	defer cancel()
	token, namespace := rand.String(10), to.Service.Namespace
	if namespace == "" {
		namespace = metav1.NamespaceDefault
	}
	configurations := g.client.AdmissionregistrationV1().MutatingWebhookConfigurations()
	c, err := configurations.Create(ctx, probeConfiguration(to, namespace, token), metav1.CreateOptions{})
	if err != nil {
		return unknown[Path](g.why(err, "create mutatingwebhookconfigurations"))
	}
	defer func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), patience)
		defer cancel()
		_ = configurations.Delete(ctx, c.Name, metav1.DeleteOptions{}) // left behind, it selects no object
	}()
	path := Path{Where: where(to)}
	tick := time.NewTicker(probeEvery)
	defer tick.Stop()
	for {
		called, said, err := ask(ctx, g.client, namespace, token)
		switch {
		case err != nil:
			return unknown[Path](g.why(err, "create configmaps in "+namespace))
		case called:
			path.Reached, path.Said = answered(said), object.Bound(said)
			return known(path)
		}
		select {
		case <-ctx.Done():
			return unknown[Path](fmt.Sprintf("the API server did not call the webhook within %s", probePatience))
		case <-tick.C:
		}
	}
}

// where is the webhook's address.
func where(to registration.Options) string {
	if to.URL != "" {
		return object.Bound(to.URL)
	}
	return object.Bound(fmt.Sprintf("%s:%d", to.Service.NamespacedName, to.Service.Port))
}

// probeConfiguration is the configuration of a probe.
func probeConfiguration(
	to registration.Options, namespace, token string,
) *admissionregistrationv1.MutatingWebhookConfiguration {
	hook := registration.Configuration(to).Webhooks[0]
	policy, timeout, exact := admissionregistrationv1.Fail, int32(probeTimeout), admissionregistrationv1.Exact
	hook.FailurePolicy, hook.TimeoutSeconds, hook.MatchPolicy = &policy, &timeout, &exact
	hook.MatchConditions, hook.ClientConfig.CABundle = nil, nil
	hook.Rules = []admissionregistrationv1.RuleWithOperations{{
		Operations: []admissionregistrationv1.OperationType{admissionregistrationv1.Create},
		Rule: admissionregistrationv1.Rule{
			APIGroups: []string{""}, APIVersions: []string{"v1"}, Resources: []string{"configmaps"},
		},
	}}
	hook.NamespaceSelector = &metav1.LabelSelector{MatchLabels: map[string]string{corev1.LabelMetadataName: namespace}}
	hook.ObjectSelector = &metav1.LabelSelector{MatchLabels: map[string]string{probeKey: token}}
	return &admissionregistrationv1.MutatingWebhookConfiguration{
		ObjectMeta: metav1.ObjectMeta{
			Name: probeName + "-" + token, Labels: map[string]string{"app.kubernetes.io/name": probeName},
		},
		Webhooks: []admissionregistrationv1.MutatingWebhook{hook},
	}
}

// failedCall is a part of the API server's error when a webhook cannot be called.
const failedCall = "failed calling webhook "

// ask creates the probe's object as a dry run. called is false until the API server has read the configuration.
func ask(
	ctx context.Context, client kubernetes.Interface, namespace, token string,
) (called bool, said string, err error) {
	made, err := client.CoreV1().ConfigMaps(namespace).Create(ctx, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{
		Name: probeName + "-" + token, Labels: map[string]string{probeKey: token},
	}}, metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
	switch {
	case err == nil:
		// An authority of the API server's machine may have signed the certificate.
		return made.Annotations[lifeline.ContextKey] != "", "", nil
	case strings.Contains(err.Error(), failedCall):
		_, said, _ = strings.Cut(err.Error(), failedCall)
		if _, reason, ok := strings.Cut(said, ": "); ok { // behind the webhook's name
			said = reason
		}
		return true, said, nil
	}
	return false, "", err
}

// answered reports whether a TLS server answered the API server.
func answered(said string) bool { return said == "" || strings.Contains(said, "x509: ") }
