// SPDX-License-Identifier: Apache-2.0

package csi

// WaitForName waits until the proxy has the name of its driver.
func (p *Proxy) WaitForName() {
	for p.name.Load() == nil {
		p.askName()
		p.asking <- struct{}{}
		<-p.asking
	}
}
