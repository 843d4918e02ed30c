// SPDX-License-Identifier: Apache-2.0

// Package controller reconciles Heads and ChildAs. It keeps a ChildA for each Head, a Deployment
// for each ChildA, and the readiness of each child in its owner's status. The controllers skip
// writes without a change. They delete nothing; the garbage collector does that, by owner
// references.
package controller

import (
	"context"

	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
	"sigs.k8s.io/controller-runtime/pkg/log"
)

//go:generate go run sigs.k8s.io/controller-tools/cmd/controller-gen@v0.23.0 rbac:roleName=head-operator paths=. output:rbac:dir=../../config/rbac

// logWrite logs a create or an update of a child.
func logWrite(ctx context.Context, child client.Object, result controllerutil.OperationResult) {
	if result != controllerutil.OperationResultNone {
		log.FromContext(ctx).Info("child "+string(result), "child", client.ObjectKeyFromObject(child),
			"resourceVersion", child.GetResourceVersion())
	}
}
