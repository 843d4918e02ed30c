// SPDX-License-Identifier: Apache-2.0

package node

import (
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"path/filepath"

	"github.com/vishvananda/netlink"
)

// network is the node's bridge with its addresses.
type network struct {
	subnet netip.Prefix
	node   netip.Addr // the bridge's, which is also the Pods' gateway
}

// setUpNetwork makes the node's bridge in a subnet that nothing else on this
// machine uses. The caller holds the machine's lock.
func (l layout) setUpNetwork() (network, error) {
	nw, err := l.freeNetwork()
	if err != nil {
		return network{}, err
	}
	attrs := netlink.NewLinkAttrs()
	attrs.Name = l.bridge()
	// A bridge without a hardware address takes one of a port, and changes it as
	// Pods come and go.
	id, err := hex.DecodeString(l.id)
	if err != nil {
		return network{}, fmt.Errorf("cannot name bridge %s: %w", l.bridge(), err)
	}
	attrs.HardwareAddr = append(net.HardwareAddr{0x02, 0x11}, id...)
	bridge := &netlink.Bridge{LinkAttrs: attrs}
	if err := netlink.LinkAdd(bridge); err != nil {
		return network{}, fmt.Errorf("cannot make bridge %s: %w", l.bridge(), err)
	}
	address := &netlink.Addr{IPNet: &net.IPNet{
		IP: nw.node.AsSlice(), Mask: net.CIDRMask(nw.subnet.Bits(), nw.node.BitLen()),
	}}
	if err := netlink.AddrAdd(bridge, address); err != nil {
		return network{}, fmt.Errorf("cannot give bridge %s the address %s: %w", l.bridge(), nw.node, err)
	}
	if err := netlink.LinkSetUp(bridge); err != nil {
		return network{}, fmt.Errorf("cannot switch bridge %s on: %w", l.bridge(), err)
	}
	return nw, nil
}

// freeNetwork picks one of the 256 networks 10.213.x.0/24.
func (l layout) freeNetwork() (network, error) {
	routes, err := whole(func() ([]netlink.Route, error) { return netlink.RouteList(nil, netlink.FAMILY_V4) })
	if err != nil {
		return network{}, fmt.Errorf("cannot list routes: %w", err)
	}
	var taken []netip.Prefix
	for _, route := range routes {
		if route.Dst == nil {
			continue
		}
		if p, err := netip.ParsePrefix(route.Dst.String()); err == nil && p.Bits() > 0 {
			taken = append(taken, p)
		}
	}
	return chooseNetwork(taken, hexByte(l.id))
}

// chooseNetwork returns a network that overlaps none of the others. Its first candidate differs
// from node to node. So the remains of an earlier node, such as cached neighbours, rarely matter.
func chooseNetwork(taken []netip.Prefix, first byte) (network, error) {
	for i := range 256 {
		subnet := netip.PrefixFrom(netip.AddrFrom4([4]byte{10, 213, first + byte(i), 0}), 24)
		if !overlaps(subnet, taken) {
			return network{subnet: subnet, node: subnet.Addr().Next()}, nil
		}
	}
	return network{}, errors.New("cannot find a free network for the node: all of 10.213.0.0/16 is in use")
}

func overlaps(p netip.Prefix, others []netip.Prefix) bool {
	for _, other := range others {
		if p.Overlaps(other) {
			return true
		}
	}
	return false
}

func hexByte(id string) byte {
	b, err := hex.DecodeString(id[:2])
	if err != nil {
		return 0
	}
	return b[0]
}

// writeCNI writes the CNI configuration, by which Pods join the bridge. There the
// bridge is not a gateway: the plugin would enable forwarding for the machine.
func (l layout) writeCNI(nw network) error {
	conf := map[string]any{
		"cniVersion": "1.0.0",
		"name":       l.network(),
		"plugins": []any{map[string]any{
			"type":        "bridge",
			"bridge":      l.bridge(),
			"hairpinMode": true,
			"ipam": map[string]any{
				"type":    "host-local",
				"dataDir": l.addresses(),
				"ranges":  []any{[]any{map[string]any{"subnet": nw.subnet.String(), "gateway": nw.node.String()}}},
				"routes":  []any{map[string]any{"dst": "0.0.0.0/0"}},
			},
		}},
	}
	return writeJSON(filepath.Join(l.cniDir(), "10-lab.conflist"), conf)
}

// removeNetwork removes the bridge and whatever is attached to it. The other
// ends of the attached pairs, in the Pods' network namespaces, go with them.
func (l layout) removeNetwork() error {
	bridge, err := netlink.LinkByName(l.bridge())
	if errors.As(err, &netlink.LinkNotFoundError{}) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("cannot find bridge %s: %w", l.bridge(), err)
	}
	links, err := whole(netlink.LinkList)
	if err != nil {
		return fmt.Errorf("cannot list interfaces: %w", err)
	}
	var errs []error
	for _, link := range append(links, bridge) {
		attrs := link.Attrs()
		if attrs.MasterIndex != bridge.Attrs().Index && attrs.Name != l.bridge() {
			continue
		}
		if err := netlink.LinkDel(link); err != nil && !gone(attrs.Name) {
			errs = append(errs, fmt.Errorf("cannot remove interface %s: %w", attrs.Name, err))
		}
	}
	return errors.Join(errs...)
}

// whole repeats a list while the kernel marks it as incomplete. Then the list changed meanwhile: by
// another cluster's node, or by a Pod's network that disappeared.
func whole[T any](list func() ([]T, error)) ([]T, error) {
	for attempt := 1; ; attempt++ {
		all, err := list()
		if attempt == listAttempts || !errors.Is(err, netlink.ErrDumpInterrupted) {
			return all, err
		}
	}
}

// listAttempts bounds the lists of whole.
const listAttempts = 100

// gone reports whether an interface does not exist. The interface of a Pod
// disappears together with its network namespace.
func gone(name string) bool {
	_, err := netlink.LinkByName(name)
	return errors.As(err, &netlink.LinkNotFoundError{})
}

func writeJSON(path string, value any) error {
	data, err := json.MarshalIndent(value, "", "  ")
	if err != nil {
		return fmt.Errorf("cannot write %s: %w", path, err)
	}
	if err := os.WriteFile(path, data, 0o600); err != nil {
		return fmt.Errorf("cannot write %s: %w", path, err)
	}
	return nil
}
