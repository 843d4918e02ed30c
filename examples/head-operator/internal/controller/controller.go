// SPDX-License-Identifier: Apache-2.0

// Package controller brings the world in line with Heads and ChildAs: a ChildA
// for each Head, a Deployment for each ChildA, and on the way back the
// readiness of each child in its owner's status. Nothing is written that is
// already so, and nothing is deleted: that is the garbage collector's, by owner
// references.
package controller

import (
	"context"

	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
	"sigs.k8s.io/controller-runtime/pkg/log"
)

//go:generate go run sigs.k8s.io/controller-tools/cmd/controller-gen@v0.23.0 rbac:roleName=head-operator paths=. output:rbac:dir=../../config/rbac

// logWrite says what was done to a child, if anything was.
func logWrite(ctx context.Context, child client.Object, result controllerutil.OperationResult) {
	if result != controllerutil.OperationResultNone {
		log.FromContext(ctx).Info(
			"child "+string(result),
			"child",
			client.ObjectKeyFromObject(child),
			"resourceVersion",
			child.GetResourceVersion(),
		)
	}
}
