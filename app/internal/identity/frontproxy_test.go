// SPDX-License-Identifier: Apache-2.0

package identity

import (
	"context"
	"encoding/pem"
	"net/http"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/kubernetes/fake"
)

// configOf returns the ConfigMap of an API server whose front proxy has an authority and allowed names, in JSON.
func configOf(names string, front *authority, clients ...*authority) *corev1.ConfigMap {
	text := func(all ...*authority) (out string) {
		for _, a := range all {
			out += string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: a.cert.Raw}))
		}
		return out
	}
	return &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Namespace: configNamespace, Name: configName},
		Data: map[string]string{
			frontCA: text(front), clientCA: text(clients...), frontNames: names,
			frontUser: `["X-Remote-User"]`, frontGroup: `["X-Remote-Group"]`, frontExtra: `["X-Remote-Extra-"]`,
		},
	}
}

// TestFrontProxy: the door follows the ConfigMap. It refuses all while each user could be a front proxy.
func TestFrontProxy(t *testing.T) {
	first, second, people := newAuthority(t), newAuthority(t), newAuthority(t)
	client := fake.NewClientset(configOf(`["front"]`, first, people))
	door, err := NewFrontProxy(client)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		door.Run(ctx)
	}()
	t.Cleanup(func() { cancel(); <-ended })
	a := New(Options{Doors: []Door{door}})
	header := http.Header{"X-Remote-User": {"ana"}}
	await := func(what string, is func() bool) {
		t.Helper()
		if err := wait.PollUntilContextTimeout(ctx, 10*time.Millisecond, 30*time.Second, true,
			func(context.Context) (bool, error) { return is(), nil }); err != nil {
			t.Fatalf("%s: %v", what, err)
		}
	}
	known := func(from *authority, name string) bool {
		u, _, err := send(t, a, from.client(t, name), header)
		return err == nil && u.GetName() == "ana"
	}
	set := func(c *corev1.ConfigMap) {
		t.Helper()
		if _, err := client.CoreV1().ConfigMaps(configNamespace).Update(ctx, c, metav1.UpdateOptions{}); err != nil {
			t.Fatal(err)
		}
	}

	await("the first authority", func() bool { return known(first, "front") })
	if known(first, "other") || known(second, "front") || known(people, "front") {
		t.Error("another certificate was accepted")
	}
	set(configOf(`["front"]`, second, people))
	await("the second authority", func() bool { return known(second, "front") })
	if known(first, "front") {
		t.Error("the former authority is accepted")
	}
	for what, clients := range map[string][]*authority{
		"one authority for all": {people}, "another one for some users": {second, people},
	} {
		set(configOf(`["front"]`, second, first))
		await("an authority of its own", func() bool { return known(second, "front") })
		set(configOf(`[]`, people, clients...))
		await(what, func() bool {
			_, _, err := send(t, a, people.client(t, "ben"), header)
			return err != nil && strings.Contains(err.Error(), "the cluster has one certificate authority")
		})
	}
}
