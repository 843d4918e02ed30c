// SPDX-License-Identifier: Apache-2.0

package csi

import "google.golang.org/grpc"

// WaitForName waits until the proxy has the name of its driver.
func (p *Proxy) WaitForName() {
	for !p.isNamed() {
		p.askName()
	}
}

// isNamed waits for the end of a question, and reports whether the name is known.
func (p *Proxy) isNamed() bool {
	p.asking.Lock()
	defer p.asking.Unlock()
	return p.name.Load() != nil
}

// Handle forwards a call.
func (p *Proxy) Handle(from grpc.ServerStream) error { return p.relay.Handle(nil, from) }
