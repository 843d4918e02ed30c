// SPDX-License-Identifier: Apache-2.0

// Package webhook holds the admission webhook: a mutating webhook that writes a trace context to
// created and changed objects. Each part is a package:
//
//   - decision chooses the context of an object;
//   - review reads the API server's calls and answers them with a patch;
//   - serving runs the webhook inside a server, with metrics and a log;
//   - registration adds the webhook to a cluster, compares it, and removes it;
//   - certificate keeps the serving certificate.
//
// No part blocks a write. After an error the write has no context, but it succeeds.
package webhook

// Path is the URL path for admission reviews.
const Path = "/admission"
