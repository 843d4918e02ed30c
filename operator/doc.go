// SPDX-License-Identifier: Apache-2.0

// Package operator makes an operator part of every trace: its reconciles, its
// waits in the queue, its writes, and the trace context on every child that it
// writes. With tracing set up, two names are replaced:
//
//	mgr, err := operator.NewManager(cfg, ctrl.Options{...}, operator.WithTracerProvider(tracer)) // ctrl.NewManager(cfg, ctrl.Options{...})
//
//	operator.NewControllerManagedBy(mgr). // ctrl.NewControllerManagedBy(mgr).
//		For(&webv1.Site{}).
//		Owns(&appsv1.Deployment{}).
//		Complete(r)
//
// A mutating webhook that gives new objects a context is the third:
//
//	server.Register(path, operator.Webhook(mgr, webhook, operator.GivingContexts()))
//
// It decorates what controller-runtime gives: the manager, the client, a
// reconciler, an admission handler. It sends no request of its own. Setting up
// OpenTelemetry is left to package tracing or to the user; what a context on an
// object is, to package lifeline. Controllers without controller-runtime's
// manager find the parts they need in packages queue and transport.
package operator
