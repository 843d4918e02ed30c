// SPDX-License-Identifier: Apache-2.0

package build

import (
	"bytes"
	"testing"
	"time"
)

func TestEstimate(t *testing.T) {
	now := time.Unix(0, 0)
	one := make([]string, 100)
	paths := make([]string, len(one))
	for i := range one {
		paths[i] = "k8s.io/" + string(rune('a'+i%26)) + string(rune('a'+i/26))
		one[i] = packageKey("kubernetes", paths[i])
	}
	shared := append([]string{"fmt"}, one[:60]...)
	// 101 packages and two links of 40.
	e := newEstimate(func() time.Time { return now }, one, shared)
	var rest bytes.Buffer
	lines := &packageLines{estimate: e, module: "kubernetes", rest: &rest}
	write := func(text string) {
		if _, err := lines.Write([]byte(text)); err != nil {
			t.Fatal(err)
		}
	}
	expect := func(reason, want string) {
		t.Helper()
		if got := e.String(); got != want {
			t.Errorf("%s: got %q, want %q", reason, got, want)
		}
	}
	expect("nothing is done", "")
	e.compiled(packageKey("etcd", paths[0])) // another version of the package
	now = now.Add(time.Minute)
	for _, p := range paths[:20] {
		write(p + "\n")
	}
	expect("20 of 181 in a minute", ", about 8 minutes left in all")
	write("go: downloading x\nk8s.io")
	write("/nothing of ours\n" + paths[20] + "\n" + paths[20] + "\n")
	if want := "go: downloading x\nk8s.io/nothing of ours\n" + paths[20] + "\n"; rest.String() != want {
		t.Errorf("passed on %q, want %q", rest.String(), want)
	}
	now = now.Add(time.Minute)
	e.built(one)
	expect("21 packages and a link of 102: the cache had 79 packages", ", about a minute left in all")
	now = now.Add(time.Minute)
	e.built(shared)
	expect("all is done", ", less than a minute left in all")
	if (*estimate)(nil).String() != "" || (*estimate)(nil).compiled("fmt") {
		t.Error("no estimate knows something")
	}
	(*estimate)(nil).built(nil)
}
