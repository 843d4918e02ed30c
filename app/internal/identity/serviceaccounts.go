// SPDX-License-Identifier: Apache-2.0

package identity

import (
	"context"
	"errors"
	"slices"

	authenticationv1 "k8s.io/api/authentication/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apiserver/pkg/authentication/user"
	authenticationclient "k8s.io/client-go/kubernetes/typed/authentication/v1"
)

// ServiceAccounts returns the tokens that the API server has issued for one of the audiences. The API server
// checks them by a TokenReview. A token without such an audience is never sent to it.
func ServiceAccounts(client authenticationclient.TokenReviewInterface, audiences []string) Kind {
	return Kind{&serviceAccounts{client, audiences}}
}

type serviceAccounts struct {
	client    authenticationclient.TokenReviewInterface
	audiences []string
}

func (s *serviceAccounts) ours(audience string) bool { return slices.Contains(s.audiences, audience) }

func (s *serviceAccounts) knows(c claims) bool { return slices.ContainsFunc(c.Audience, s.ours) }

// errNoTokenReviews is the error of a server without the right to review tokens.
var errNoTokenReviews = errors.New("the server of Lifeline may not create tokenreviews.authentication.k8s.io: " +
	"bind its ServiceAccount to the ClusterRole system:auth-delegator")

func (s *serviceAccounts) check(ctx context.Context, token string) (user.Info, error) {
	review, err := s.client.Create(ctx, &authenticationv1.TokenReview{
		Spec: authenticationv1.TokenReviewSpec{Token: token, Audiences: s.audiences},
	}, metav1.CreateOptions{})
	switch {
	case apierrors.IsForbidden(err):
		return nil, undecided(errNoTokenReviews)
	case err != nil:
		return nil, undecided(err)
	case !review.Status.Authenticated:
		return nil, errors.New("the API server does not know it, or it has expired")
	// An authenticator that ignores audiences returns none.
	case !slices.ContainsFunc(review.Status.Audiences, s.ours):
		return nil, errors.New("the API server has not checked its audience")
	}
	of := review.Status.User
	extra := make(map[string][]string, len(of.Extra))
	for key, values := range of.Extra {
		extra[key] = values
	}
	return &user.DefaultInfo{Name: of.Username, UID: of.UID, Groups: of.Groups, Extra: extra}, nil
}
