// SPDX-License-Identifier: Apache-2.0

package permission

import (
	"context"
	"errors"

	authorizationv1 "k8s.io/api/authorization/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/client-go/kubernetes"
	authorizationclient "k8s.io/client-go/kubernetes/typed/authorization/v1"
	"k8s.io/client-go/rest"
)

// errNoReviews is the error of a server without the right to review.
var errNoReviews = errors.New("the server of Lifeline may not create subjectaccessreviews.authorization.k8s.io: " +
	"bind its ServiceAccount to the ClusterRole system:auth-delegator")

// FromCluster returns the Review of a cluster's API server: a SubjectAccessReview.
func FromCluster(conf *rest.Config) (Review, error) {
	conf = rest.CopyConfig(conf)
	conf.QPS = -1 // Reviewer bounds its reviews itself
	client, err := kubernetes.NewForConfig(conf)
	if err != nil {
		return nil, err
	}
	return of(client.AuthorizationV1().SubjectAccessReviews()), nil
}

func of(client authorizationclient.SubjectAccessReviewInterface) Review {
	return func(ctx context.Context, u user.Info, r Right) (bool, error) {
		extra := make(map[string]authorizationv1.ExtraValue, len(u.GetExtra()))
		for key, values := range u.GetExtra() {
			extra[key] = values
		}
		answer, err := client.Create(ctx, &authorizationv1.SubjectAccessReview{
			Spec: authorizationv1.SubjectAccessReviewSpec{
				User: u.GetName(), UID: u.GetUID(), Groups: u.GetGroups(), Extra: extra,
				ResourceAttributes: &authorizationv1.ResourceAttributes{
					Namespace: r.Namespace, Verb: r.Verb, Group: r.Group, Version: "*", Resource: r.Resource,
					Subresource: r.Subresource,
				},
			},
		}, metav1.CreateOptions{})
		switch {
		case apierrors.IsForbidden(err):
			return false, errNoReviews
		case err != nil:
			return false, err
		}
		return answer.Status.Allowed && !answer.Status.Denied, nil
	}
}
