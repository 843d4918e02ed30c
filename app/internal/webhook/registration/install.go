// SPDX-License-Identifier: Apache-2.0

package registration

import (
	"context"
	"encoding/json"
	"fmt"
	"io"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/kube-lifeline/lifeline/app/internal/object"
)

// manager is the field manager of applied fields.
const manager = "lifeline"

// Install is `lifeline webhook install`.
type Install struct {
	Options
	// REST is the cluster.
	REST *rest.Config
	// DryRun makes the API server validate everything, and store nothing.
	DryRun bool
	// Out receives a report of the changes.
	Out io.Writer
}

// Run applies the configuration. It keeps additions of others, and the authorities that the server
// writes. The code is 0, or 1 with an error.
func (c *Install) Run(ctx context.Context) (code int, err error) {
	client, end, err := connect(c.REST)
	if err != nil {
		return 1, err
	}
	defer end()
	done, err := c.apply(ctx, client)
	if err != nil {
		return 1, fmt.Errorf("cannot install MutatingWebhookConfiguration %q: %w", c.Name, err)
	}
	if c.DryRun {
		done += " (dry run)"
	}
	fmt.Fprintf(c.Out, "MutatingWebhookConfiguration %s %s\n", c.Name, done)
	if !c.DryRun {
		fmt.Fprintf(c.Out, "The API server now sends writes to %s. \"lifeline doctor\" checks the answers.\n",
			c.where())
	}
	return 0, nil
}

// where is the address of the webhook.
func (o *Options) where() string {
	if o.URL != "" {
		return object.Bound(o.URL)
	}
	return fmt.Sprintf("Service %s, port %d", o.Service.NamespacedName, o.Service.Port)
}

func (c *Install) apply(ctx context.Context, client kubernetes.Interface) (done string, err error) {
	configurations := client.AdmissionregistrationV1().MutatingWebhookConfigurations()
	before, err := configurations.Get(ctx, c.Name, metav1.GetOptions{})
	switch {
	case apierrors.IsNotFound(err):
		before = nil
	case err != nil:
		return "", err
	default:
		if err := ours(before); err != nil {
			return "", err
		}
	}
	text, err := json.Marshal(Configuration(c.Options))
	if err != nil {
		return "", err
	}
	o := metav1.PatchOptions{FieldManager: manager, Force: ptr(true)}
	if c.DryRun {
		o.DryRun = []string{metav1.DryRunAll}
	}
	after, err := configurations.Patch(ctx, c.Name, types.ApplyPatchType, text, o)
	switch {
	case err != nil:
		return "", err
	case before == nil:
		return "created", nil
	case before.ResourceVersion != after.ResourceVersion || c.DryRun && before.Generation != after.Generation:
		return "configured", nil
	}
	return "unchanged", nil
}

// ours returns an error if a configuration is not ours.
func ours(c *admissionregistrationv1.MutatingWebhookConfiguration) error {
	if c.Labels[label] == labelValue {
		return nil
	}
	return fmt.Errorf("one of this name is there that is not lifeline's (it has no label %s=%s): choose another with "+
		"--name", label, labelValue)
}
