// SPDX-License-Identifier: Apache-2.0

package lab

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"syscall"
	"time"
)

// Restart ends a component, starts it again with the same options and waits
// until it is ready. A component that had died is simply started.
func (c *Cluster) Restart(ctx context.Context, component Component) error {
	c.changing.Lock()
	defer c.changing.Unlock()
	return c.restart(ctx, component)
}

// Kill ends a component with SIGKILL, like a crash, and waits for its end. Restart starts it again.
func (c *Cluster) Kill(component Component) error {
	c.changing.Lock()
	defer c.changing.Unlock()
	p := c.group.Get(string(component))
	if p == nil {
		return fmt.Errorf("cannot kill %s: cluster %s has none", component, c.opts.Name)
	}
	return p.Kill()
}

// Pause stops a component with SIGSTOP, as a hang would: it keeps its connections
// and answers nothing. Resume lets it go on.
func (c *Cluster) Pause(component Component) error { return c.signal(component, syscall.SIGSTOP) }

// Resume ends a Pause.
func (c *Cluster) Resume(component Component) error { return c.signal(component, syscall.SIGCONT) }

func (c *Cluster) signal(component Component, signal syscall.Signal) error {
	c.changing.Lock()
	defer c.changing.Unlock()
	p := c.group.Get(string(component))
	if p == nil {
		return fmt.Errorf("cannot send %v to %s: cluster %s has none", signal, component, c.opts.Name)
	}
	return p.Signal(signal)
}

// Reconfigure lets change modify a copy of the cluster's options, restarts
// the components that the change concerns and waits until they are ready. It
// can change ExtraArgs, Scheduler, Tracing, the audit options, KWOK and PullBandwidth, and
// add Users; any other change is an error, and nothing happens.
func (c *Cluster) Reconfigure(ctx context.Context, change func(*Options)) error {
	c.changing.Lock()
	defer c.changing.Unlock()
	before := c.opts
	after := before.clone()
	change(&after)
	if err := after.Validate(); err != nil {
		return err
	}
	if err := reconfigurable(before, after); err != nil {
		return err
	}
	after = after.withDefaults()
	c.opts = after
	for _, u := range after.Users[len(before.Users):] {
		if err := c.writeKubeconfig(c.KubeconfigFor(u.Name), u.Name, u.Groups...); err != nil {
			return err
		}
	}
	if n, ok := c.nodes.(*realNodes); ok {
		if err := n.registry.SetBandwidth(ctx, after.PullBandwidth); err != nil {
			return err
		}
	}
	for _, component := range components {
		if c.group.Get(string(component)) == nil || !concerned(component, before, after) {
			continue
		}
		if err := c.restart(ctx, component); err != nil {
			return err
		}
	}
	return nil
}

// clone copies what Reconfigure may change.
func (o Options) clone() Options {
	o.Tracing, o.Users = maps.Clone(o.Tracing), slices.Clone(o.Users)
	if o.Tracing == nil {
		o.Tracing = map[Component]Tracing{}
	}
	extra := map[Component][]string{}
	for component, args := range o.ExtraArgs {
		extra[component] = slices.Clone(args)
	}
	o.ExtraArgs = extra
	return o
}

// reconfigurable reports what cannot change while the cluster lives.
func reconfigurable(before, after Options) error {
	for field, same := range map[string]bool{
		"Name":      before.Name == after.Name,
		"Dir":       before.Dir == after.Dir,
		"Version":   before.Version == after.Version,
		"Nodes":     before.Nodes == after.Nodes,
		"NodeCount": before.NodeCount == after.NodeCount,
		"Detached":  before.Detached == after.Detached,
		"AddOns":    slices.Equal(before.AddOns, after.AddOns),
		"Users (they can only be added)": len(after.Users) >= len(before.Users) &&
			slices.EqualFunc(before.Users, after.Users[:len(before.Users)], equalUsers),
	} {
		if !same {
			return fmt.Errorf("cannot reconfigure: %s cannot change while the cluster runs", field)
		}
	}
	return nil
}

func equalUsers(a, b User) bool { return a.Name == b.Name && slices.Equal(a.Groups, b.Groups) }

// concerned reports whether a component must be restarted for the change.
func concerned(component Component, before, after Options) bool {
	changed := !slices.Equal(before.ExtraArgs[component], after.ExtraArgs[component]) ||
		before.Tracing[component] != after.Tracing[component]
	switch component {
	case Scheduler:
		return changed || before.Scheduler != after.Scheduler
	case APIServer:
		return changed || before.AuditPolicy != after.AuditPolicy || before.AuditWebhook != after.AuditWebhook
	case KWOK:
		return changed || before.KWOK != after.KWOK
	default:
		return changed
	}
}

func (c *Cluster) restart(ctx context.Context, component Component) error {
	ctx, cancel := context.WithTimeoutCause(ctx, startLimit, fmt.Errorf("more than %s have passed", startLimit))
	defer cancel()
	begin := time.Now()
	_, ofAddOn := addOnComponents[component]
	switch {
	case ofAddOn || slices.Contains([]Component{Etcd, APIServer, ControllerManager, Scheduler}, component):
		p := c.group.Get(string(component))
		if p == nil {
			return fmt.Errorf("cannot restart %s: cluster %s has none", component, c.opts.Name)
		}
		if err := p.Stop(ctx); err != nil {
			return err
		}
		if err := c.launch(component); err != nil {
			return err
		}
		if err := c.ensure(ctx, component); err != nil {
			return err
		}
	default:
		if c.nodes == nil {
			return fmt.Errorf("cannot restart %s: cluster %s has no nodes", component, c.opts.Name)
		}
		if err := c.nodes.restart(ctx, component); err != nil {
			return err
		}
		if err := c.awaitNodes(ctx); err != nil {
			return err
		}
	}
	c.say("%s restarted in %s", component, time.Since(begin).Round(100*time.Millisecond))
	return nil
}
