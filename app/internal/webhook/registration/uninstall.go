// SPDX-License-Identifier: Apache-2.0

package registration

import (
	"context"
	"fmt"
	"io"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/kube-lifeline/lifeline"
	"github.com/kube-lifeline/lifeline/app/internal/object"
)

// Uninstall is `lifeline webhook uninstall`.
type Uninstall struct {
	// Name is the name of the configuration.
	Name string
	// Convention is the convention of the contexts on objects.
	Convention lifeline.Convention
	REST       *rest.Config
	DryRun     bool
	// Out receives a report of the changes, and of the remaining annotations.
	Out io.Writer
}

// Run removes the configuration; a missing one is not an error. It prints the command that removes
// the remaining annotations. It does not write other objects.
func (c *Uninstall) Run(ctx context.Context) (code int, err error) {
	client, end, err := connect(c.REST)
	if err != nil {
		return 1, err
	}
	defer end()
	done, err := c.remove(ctx, client)
	if err != nil {
		return 1, fmt.Errorf("cannot uninstall MutatingWebhookConfiguration %q: %w", c.Name, err)
	}
	if c.DryRun {
		done += " (dry run)"
	}
	fmt.Fprintf(c.Out, "MutatingWebhookConfiguration %s %s\n", c.Name, done)
	kinds, err := bearers(client.Discovery())
	if len(kinds) == 0 && err != nil {
		return 1, fmt.Errorf("cannot list the kinds whose objects may still carry annotations: %w", err)
	}
	if err != nil {
		fmt.Fprintf(c.Out, "\nThe kinds of some APIs are unknown: %s\n", object.Bound(err.Error()))
	}
	c.printLeft(kinds)
	return 0, nil
}

func (c *Uninstall) remove(ctx context.Context, client kubernetes.Interface) (done string, err error) {
	configurations := client.AdmissionregistrationV1().MutatingWebhookConfigurations()
	there, err := configurations.Get(ctx, c.Name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return "is not there", nil
	}
	if err != nil {
		return "", err
	}
	if err := ours(there); err != nil {
		return "", err
	}
	o := metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: &there.UID}}
	if c.DryRun {
		o.DryRun = []string{metav1.DryRunAll}
	}
	if err := configurations.Delete(ctx, c.Name, o); err != nil && !apierrors.IsNotFound(err) {
		return "", err
	}
	return "deleted", nil
}
