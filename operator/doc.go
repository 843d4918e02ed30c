// SPDX-License-Identifier: Apache-2.0

// Package operator adds an operator to every trace: its reconciles, queue waits and writes. It also
// puts a trace context on each child that the operator writes. With tracing set up, an operator
// replaces two calls:
//
//	// instead of ctrl.NewManager(cfg, ctrl.Options{...})
//	mgr, err := operator.NewManager(cfg, ctrl.Options{...}, operator.WithTracerProvider(tracer))
//
//	// instead of ctrl.NewControllerManagedBy(mgr)
//	operator.NewControllerManagedBy(mgr).
//		For(&webv1.Site{}).
//		Owns(&appsv1.Deployment{}).
//		Complete(r)
//
// A mutating webhook that gives contexts to new objects needs a third call:
//
//	server.Register(path, operator.Webhook(mgr, webhook, operator.GivingContexts()))
//
// The package decorates the types of controller-runtime: the manager, the client, a reconciler, an
// admission handler. It sends no requests itself. Package tracing or the user sets up
// OpenTelemetry. Package lifeline defines the context on an object. Controllers without
// controller-runtime's manager can use packages queue and transport.
package operator
