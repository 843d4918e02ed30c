// SPDX-License-Identifier: Apache-2.0

package syntheticapi

import (
	"encoding/hex"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// Size is the number of objects in a cluster.
type Size struct {
	Nodes, Namespaces, Deployments int
	// Pods is the number of Pods of each Deployment.
	Pods int
	// Broken is the number of further Deployments, of one Pod each. They lack an image of a number of Causes.
	Broken, Causes int
	// Pace is the factor of all times in a rollout, such as the time until a Pod is ready; 0 means 1.
	Pace float64
}

// Cluster is a generated cluster with its Server. Nothing happens in it before Churn.
type Cluster struct {
	*Server
	size   Size
	random *rand.Rand

	pods        [stages]*template
	events      [eventsPerPod]*template
	node        *template
	nodes       []*values
	deployments []*deployment
	// addresses is the number of the last IP address of a Pod.
	addresses int
	// turn is the number of rollouts so far.
	turn int
}

// clusterUID is the UID of the namespace kube-system.
const clusterUID = "5f6d2c1e-0000-4000-8000-1234567890ab"

// age is the time since which the objects of the start exist.
const age = 72 * time.Hour

// New generates a cluster and starts its server.
func New(size Size) (*Cluster, error) {
	if size.Nodes < 1 || size.Namespaces < 1 || size.Pods < waves || size.Deployments < size.Namespaces {
		return nil, fmt.Errorf(
			"cannot generate a cluster of %+v: want a Node, a Deployment in each namespace, and %d Pods in each",
			size, waves)
	}
	if size.Broken > 0 && size.Causes < 1 {
		return nil, fmt.Errorf("cannot generate %d broken Deployments: want a cause", size.Broken)
	}
	s := newStore()
	c := &Cluster{
		size: size, random: rand.New(rand.NewPCG(1, 2)),
		pods: podTemplates(), events: eventTemplates(), node: nodeTemplate(),
	}
	began := time.Now().Add(-age).Truncate(time.Second)
	c.addNamespaces(s, began)
	for i := range size.Nodes {
		v := &values{}
		v.text[name], v.text[uid], v.text[nodeIP] = fmt.Sprintf("node-%05d", i), c.uid(), address(11, i)
		v.time[created], v.time[ready] = began.Unix(), time.Now().Unix()
		c.nodes = append(c.nodes, v)
		s.put(nodes, "", v.text[name], &templated{c.node, v})
	}
	for i := range size.Deployments {
		c.deployments = append(c.deployments, c.newDeployment(s, i, began))
	}
	c.addBroken(s, began)
	s.settleStart()
	srv, err := serve(s)
	if err != nil {
		return nil, err
	}
	c.Server = srv
	return c, nil
}

func (c *Cluster) addNamespaces(s *store, began time.Time) {
	all := []string{metav1.NamespaceSystem, metav1.NamespaceDefault}
	for i := range c.size.Namespaces {
		all = append(all, namespaceName(i))
	}
	at := metav1.NewTime(began)
	for _, n := range all {
		id := c.uid()
		if n == metav1.NamespaceSystem {
			id = clusterUID
		}
		account, ca := c.uid(), c.uid()
		s.put(namespaces, "", n, &built{func() object {
			return &corev1.Namespace{
				ObjectMeta: metav1.ObjectMeta{
					Name:              n,
					UID:               types.UID(id),
					CreationTimestamp: at,
					Labels:            map[string]string{corev1.LabelMetadataName: n},
				},
				Spec:   corev1.NamespaceSpec{Finalizers: []corev1.FinalizerName{corev1.FinalizerKubernetes}},
				Status: corev1.NamespaceStatus{Phase: corev1.NamespaceActive},
			}
		}})
		s.put(accounts, n, "default", &built{func() object {
			return &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{
				Name: "default", Namespace: n, UID: types.UID(account), CreationTimestamp: at,
			}}
		}})
		s.put(configMaps, n, "kube-root-ca.crt", &built{func() object {
			return &corev1.ConfigMap{
				ObjectMeta: metav1.ObjectMeta{
					Name: "kube-root-ca.crt", Namespace: n, UID: types.UID(ca), CreationTimestamp: at,
				},
				Data: map[string]string{"ca.crt": idSample},
			}
		}})
	}
}

// newDeployment adds a Deployment with its Pods, all ready.
func (c *Cluster) newDeployment(s *store, i int, began time.Time) *deployment {
	d := &deployment{
		namespace: namespaceName(i % c.size.Namespaces), name: fmt.Sprintf("web-%04d", i), uid: c.uid(),
		service: c.uid(), slice: c.uid(), created: began, changed: began, generation: 1, revision: 1, observed: 1,
		wanted: int32(c.size.Pods), complete: true,
	}
	d.current = c.newSet(d, began)
	d.current.wanted = d.wanted
	for range c.size.Pods {
		p := c.newPod(d, d.current, began)
		p.stage = podReady
		c.putPod(s, p)
	}
	d.current.total, d.current.ready = d.wanted, d.wanted
	c.putSet(s, d, d.current)
	c.putDeployment(s, d)
	s.put(services, d.namespace, d.name, &built{func() object { return d.serviceObject() }})
	c.putSlice(s, d, 1)
	return d
}

func namespaceName(i int) string { return fmt.Sprintf("team-%03d", i) }

// newSet returns the next ReplicaSet of a Deployment.
func (c *Cluster) newSet(d *deployment, at time.Time) *replicaSet {
	h := c.word(hashWidth)
	return &replicaSet{
		name: d.name + "-" + h, uid: c.uid(), hash: h, created: at, revision: d.revision, generation: 1,
	}
}

// newPod adds a Pod to a set. Its times are those of a life that begins at the time at.
func (c *Cluster) newPod(d *deployment, of *replicaSet, at time.Time) *pod {
	v := &values{}
	host := c.nodes[c.random.IntN(len(c.nodes))]
	c.addresses++
	v.text[name], v.text[namespace], v.text[uid] = c.podName(of), d.namespace, c.uid()
	v.text[ownerName], v.text[ownerUID], v.text[hash], v.text[app] = of.name, of.uid, of.hash, d.name
	v.text[node], v.text[nodeIP], v.text[ip] = host.text[name], host.text[nodeIP], address(10, c.addresses)
	second := func(f timeField, after time.Duration) { v.time[f] = at.Add(after).Unix() }
	second(created, 0)
	second(bound, birth[podBound])
	second(sandboxed, birth[podSandboxed])
	second(started, birth[podStarted])
	second(ready, birth[podReady])
	p := &pod{values: v}
	of.pods = append(of.pods, p)
	return p
}

// podName returns a name that no Pod of the set has: the API server refuses a second object of one name.
func (c *Cluster) podName(of *replicaSet) string {
	for {
		n := of.name + "-" + c.word(5)
		if !slices.ContainsFunc(of.pods, func(p *pod) bool { return p.values.text[name] == n }) {
			return n
		}
	}
}

func (c *Cluster) putPod(s *store, p *pod) {
	s.put(pods, p.values.text[namespace], p.values.text[name], &templated{c.pods[p.stage], p.values})
}

func (c *Cluster) putSet(s *store, d *deployment, of *replicaSet) {
	now, dep := *of, *d
	s.put(replicaSets, d.namespace, of.name, &built{func() object { return now.object(&dep) }})
}

func (c *Cluster) putDeployment(s *store, d *deployment) {
	now := *d
	current := *d.current
	now.current = &current
	if d.old != nil {
		old := *d.old
		now.old = &old
	}
	s.put(deployments, d.namespace, d.name, &built{func() object { return now.object() }})
}

func (c *Cluster) putSlice(s *store, d *deployment, generation int64) {
	now := *d
	var endpoints []pod
	for _, of := range []*replicaSet{d.current, d.old} {
		if of == nil {
			continue
		}
		for _, p := range of.pods {
			endpoints = append(endpoints, *p)
		}
	}
	s.put(endpointSlices, d.namespace, d.name+"-slice", &built{func() object {
		return now.sliceObject(endpoints, generation)
	}})
}

// putEvent adds an Event about a Pod.
func (c *Cluster) putEvent(s *store, p *pod, h happening, at time.Time) {
	v := &values{text: p.values.text}
	v.text[regarding], v.text[regardingUID], v.text[uid] = v.text[name], v.text[uid], c.uid()
	v.text[name] = v.text[regarding] + "." + v.text[uid][:8] + v.text[uid][24:32]
	v.time[created] = at.Unix()
	s.put(events, v.text[namespace], v.text[name], &templated{c.events[h], v})
}

// uid returns a new UID.
func (c *Cluster) uid() string {
	var b [16]byte
	for i := range 2 {
		n := c.random.Uint64()
		for j := range 8 {
			b[8*i+j] = byte(n >> (8 * j))
		}
	}
	h := hex.EncodeToString(b[:])
	return h[:8] + "-" + h[8:12] + "-4" + h[13:16] + "-8" + h[17:20] + "-" + h[20:]
}

// word returns a random part of a name.
func (c *Cluster) word(n int) string {
	const letters = "bcdfghjklmnpqrstvwxz2456789"
	b := make([]byte, n)
	for i := range b {
		b[i] = letters[c.random.IntN(len(letters))]
	}
	return string(b)
}

// address returns the n-th IP address with that first number, in 14 characters.
func address(first, n int) string {
	text := fmt.Sprintf("%d.%d.%d.%d", first, 100+n/10000%100, 100+n/100%100, 100+n%100)
	return fmt.Sprintf("%-14s", text)[:ipWidth]
}
