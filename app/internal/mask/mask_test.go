// SPDX-License-Identifier: Apache-2.0

package mask

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"html"
	"net/url"
	"strconv"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/types"

	"github.com/kube-lifeline/lifeline/app/internal/object"
)

var testKey = key{1, 2}

// decoded returns an object from JSON.
func decoded(t testing.TB, text string) Object {
	t.Helper()
	var obj Object
	if err := json.Unmarshal([]byte(text), &obj); err != nil {
		t.Fatal(err)
	}
	return obj
}

// of returns the values of the environment variables.
func of(t testing.TB, values ...string) Values {
	t.Helper()
	env := []any{}
	for _, v := range values {
		env = append(env, Object{"name": "A", "value": v})
	}
	return Values{key: testKey, sets: []*Words{collect(testKey, Object{"spec": Object{"env": env}}, false)}}
}

func TestMask(t *testing.T) {
	const (
		value, odd, phrase = "hunter2xyz", `p@ss:"w0rd<1`, "my dog is red"

		dsn = "postgres://app:hunt7erpw@db-main:5432/shop"
	)
	in64 := base64.StdEncoding.EncodeToString
	for name, c := range map[string]struct{ in, want string }{
		"plain":               {"login with hunter2xyz failed", "login with … failed"},
		"twice":               {"hunter2xyz hunter2xyz", "… …"},
		"assigned":            {"PASSWORD=hunter2xyz is not allowed", "PASSWORD=… is not allowed"},
		"inside a word":       {"the key xhunter2xyz1, too", "the key …, too"},
		"another":             {"login with hunter3 failed", "login with hunter3 failed"},
		"odd":                 {"got " + odd + " here", "got … here"},
		"odd, quoted":         {"got " + strconv.Quote(odd) + " here", `got "…" here`},
		"odd, JSON":           {`got "p@ss:\"w0rd\u003c1" here`, `got "…" here`},
		"odd, URL":            {"got " + url.QueryEscape(odd) + " here", "got … here"},
		"part of a URL":       {"password authentication failed: hunt7erpw", "password authentication failed: …"},
		"short part":          {"user app, database shop", "user app, database shop"},
		"phrase":              {"it is my dog is red now", "it is … now"},
		"phrase, quoted":      {`it is "my dog\nis\tred" now`, `it is "…" now`},
		"words of the phrase": {"my dog is here", "my dog is here"},
		"base64":              {"data " + in64([]byte(value)) + " here", "data … here"},
		"base64, in more": {
			"Authorization: Basic " + in64([]byte("me:"+value+":x")) + " was refused",
			"Authorization: Basic … was refused",
		},
		"base64, in more, shifted": {"data " + in64([]byte("m:"+value)), "data …"},
		"base64, URL":              {"data " + base64.URLEncoding.EncodeToString([]byte("??"+value+"??>")), "data …"},
		"base64, cut before":       {"data " + in64([]byte("abcdef" + value + "abc"))[3:], "data …"},
		"base64 in a URL":          {"data " + url.QueryEscape(in64([]byte("a"+value))), "data …"},
		"cut":                      {"the password is hunter2x", "the password is …"},
		"base64, no padding":       {"data " + strings.TrimRight(in64([]byte(value)), "=") + " here", "data … here"},
		"base64 in base64":         {"data " + in64([]byte(`{"auth":"`+in64([]byte("me:"+value))+`"}`)), "data …"},
		"base64 of a URL":          {"data " + in64([]byte("?a="+percentAll(value))), "data …"},
		"hexadecimal":              {fmt.Sprintf("data %x here", value), "data … here"},
		"hexadecimal, parted":      {fmt.Sprintf("data % x here", value), "data … here"},
		"hexadecimal, upper case":  {fmt.Sprintf("data 0x%X here", value), "data … here"},
		"hexadecimal, in more":     {"data " + fmt.Sprintf("%x here", "a:"+value+":b")[1:], "data … here"},
		"bytes":                    {fmt.Sprintf("data %v here", []byte(value)), "data […] here"},
		"bytes, Go syntax":         {fmt.Sprintf("data %#v here", []byte(value)), "data []byte{…} here"},
		"bytes, JSON":              {strings.ReplaceAll(fmt.Sprintf("%v", []byte("a"+value)), " ", ","), "[…]"},
		"URL, each byte":           {"got " + percentAll(value) + " here", "got … here"},
		"HTML":                     {"got " + html.EscapeString(odd) + " here", "got … here"},
		"JSON in JSON":             {"got " + strconv.Quote(strconv.Quote(odd)) + " here", `got "\"…\"" here`},
		"upper case":               {"login with HUNTER2XYZ failed", "login with … failed"},
		"title case, base64":       {"data " + in64([]byte("Hunter2Xyz")), "data …"},
		"composed":                 {"got p\u00e4ssw\u00f6rt here", "got … here"},
		"decomposed":               {"got pa\u0308sswo\u0308rt here", "got … here"},
		"full width":               {"got \uff48unter2xyz here", "got … here"},
		"curly quotes":             {"got said-so1 here", "got … here"},
		"cut before more":          {"got hunter2... and more", "got …... and more"},
		"cut before a quote":       {`got "hunter2x..." and more`, `got "…..." and more`},
		"cut phrase":               {"it is my dog i", "it is …"},
		"cut, base64":              {"data " + in64([]byte(value))[:10], "data …"},
		"between separators":       {"a=hunter2xyz,b:hunter2xyz;c", "a=…,b:…;c"},
		"letters":                  {"the deployment failed to deploy", "the deployment failed to …"},
		"nothing":                  {"Failed to wait for order web-1", "Failed to wait for order web-1"},
		"credential": {
			"token ghp_" + "0123456789abcdefghijABCDEFGHIJ456789" + " is expired", "token … is expired",
		},
		"private key": {
			"it is -----BEGIN RSA PRIVATE KEY-----" + strings.Repeat("MIIEow0aZ9/x+", 10) +
				"-----END RSA PRIVATE KEY----- now",
			"it is … now",
		},
	} {
		t.Run(name, func(t *testing.T) {
			v := of(t, value, odd, dsn, phrase, "deploy", "p\u00e4ssw\u00f6rt", "said“-so1”")
			got := v.Mask(c.in)
			if got != c.want {
				t.Errorf("got  %q\nwant %q", got, c.want)
			}
			if again := v.Mask(got); again != got {
				t.Errorf("a second Mask changed it to %q", again)
			}
		})
	}
}

// percentAll encodes each byte as in a URL.
func percentAll(text string) string {
	var b strings.Builder
	for _, c := range []byte(text) {
		fmt.Fprintf(&b, "%%%02x", c)
	}
	return b.String()
}

// TestCollect: which texts of an object are values.
func TestCollect(t *testing.T) {
	const names = "a Deployment web-server of deploys, reg.example/image:1, secret my-secret, item-key, from-config"
	for name, c := range map[string]struct {
		object string
		custom bool
		// masked are values, and all words of names are none.
		masked []string
	}{
		"pod": {
			object: `{"metadata":{"name":"web-server","annotations":{"a":"annotation1"}},"spec":{
				"containers":[{"name":"from-config","image":"reg.example/image:1","command":["sh","-c","command01"],
				"args":["--password=argument1","--secret","argument2","-pargument3"],
				"env":[{"name":"deploys","value":"variable1"},
				{"name":"B","valueFrom":{"secretKeyRef":{"name":"my-secret","key":"item-key"}}}],
				"readinessProbe":{"httpGet":{"path":"/r?token=queries",
				"httpHeaders":[{"name":"A","value":"headers1"}]}}}]}}`,
			masked: []string{
				"annotation1", "command01", "argument1", "argument2", "argument3", "variable1", "queries", "headers1",
			},
		},
		"names of tools": {
			object: `{"kind":"Deployment","metadata":{"name":"web-server","annotations":{
				"argocd.argoproj.io/tracking-id":"app:apps/deploys:from-config/web-server",
				"meta.helm.sh/release-name":"my-secret",
				"example.com/kind":"Deployment"}}}`,
		},
		"template": {
			object: `{"spec":{"template":{"metadata":{"annotations":{"a":"annotation1"}},"spec":{"containers":[
				{"env":[{"name":"A","value":"variable1"}]}]}}}}`,
			masked: []string{"annotation1", "variable1"},
		},
		"applied": {
			object: `{"metadata":{"annotations":{"kubectl.kubernetes.io/last-applied-configuration":
				"{\"metadata\":{\"name\":\"web-server\"},\"data\":{\"item-key\":\"content1\"}}"}}}`,
			masked: []string{"content1"},
		},
		"config map": {
			object: `{"kind":"ConfigMap","data":{"one":"valuable1","file":"serve deploys of web-server\n` +
				`db_password: p4ssword\nexport API_TOKEN=t0kentoken\nid a1b2c3d4e5f6a7b8c9 reg.example\n"}}`,
			masked: []string{"valuable1", "p4ssword", "t0kentoken", "a1b2c3d4e5f6a7b8c9"},
		},
		"settings in a config map": {
			object: `{"kind":"ConfigMap","data":{` +
				`"file":"db: plainword\n- other = sh0rt/w0rds\nuser x#y1z2w3 is allowed\n",` +
				`"json":"{\"level\":\n\"quietly\",\"pin\":1234567}"}}`,
			masked: []string{"plainword", "sh0rt/w0rds", "x#y1z2w3", "quietly", "1234567"},
		},
		"helm": {
			object: `{"spec":{"chart":"image",
				"values":{"db":{"password":"p4ssword","secret":"s3cretive","name":"deploys"},"list":["elements1"]},
				"valuesFrom":[{"kind":"Secret","name":"my-secret","valuesKey":"item-key"}],
				"secretRef":{"name":"my-secret"},"apiToken":"t0kentoken","config":"user: settings1\nkey: s3ttings"}}`,
			custom: true, masked: []string{"p4ssword", "s3cretive", "elements1", "t0kentoken", "settings1", "s3ttings"},
		},
		"values of many names": {
			object: `{"spec":{"source":{"helm":{"valuesObject":{"a":{"b":"inner-value1"}},` +
				`"parameters":[{"name":"from-config","value":"param-value1"}]}},` +
				`"pin":12345678,"userConfig":{"x":"user-value1"},"dsn":"data-source1",` +
				`"configMap":"my-secret","databaseConfigMapName":"item-key",` +
				`"uri":"amqp://us3rname:p4ssword@mq.example/1",` +
				`"settings":["set-value1"],"number":1234567.5}}`,
			custom: true,
			masked: []string{
				"inner-value1", "param-value1", "12345678", "user-value1", "data-source1", "us3rname", "p4ssword",
				"set-value1",
			},
		},
		"applied Secret": {
			object: `{"metadata":{"annotations":{"kubectl.kubernetes.io/last-applied-configuration":
				"{\"kind\":\"Secret\",\"data\":{\"item-key\":\"Y29udGVudDE=\"},` +
				`\"stringData\":{\"a\":\"content2\"}}"}}}`,
			masked: []string{"content1", "content2"},
		},
		"short value": {
			object: `{"spec":{"containers":[{"args":["--pin=1234","PIN=12"]}]}}`,
			masked: []string{"--pin=1234", "PIN=12"},
		},
		"status": {object: `{"status":{"env":[{"value":"deploys"}]},"spec":{"song":"my-secret"}}`, custom: true},
	} {
		t.Run(name, func(t *testing.T) {
			v := Values{key: testKey, sets: []*Words{collect(testKey, decoded(t, c.object), c.custom)}}
			for _, value := range c.masked {
				if got := v.Mask("it is " + value + " now"); got != "it is … now" {
					t.Errorf("%s: got %q", value, got)
				}
			}
			if got := v.Mask(names); got != names {
				t.Errorf("got %q", got)
			}
		})
	}
}

// TestBounds: an object with too many values has unknown ones.
func TestBounds(t *testing.T) {
	many := []any{}
	for i := range maxWords + 2 {
		many = append(many, "argument"+strconv.Itoa(i))
	}
	for name, args := range map[string][]any{
		"words": many, "content": {strings.Repeat("x", maxContent+1)},
	} {
		m := NewMemory()
		ref := &object.Ref{UID: "u"}
		m.Put(&Version{Ref: ref, ResourceVersion: 1, Words: m.Collect(Object{"spec": Object{"args": args}}, false)})
		if _, ok := m.Of("u", false); ok {
			t.Errorf("%s: the values count as known", name)
		}
	}
}

// TestMemory: the values of the relatives of an object are known, and those of others are not.
func TestMemory(t *testing.T) {
	m := NewMemory()
	put := func(name string, version uint64, value, owner string) {
		of := object.Kind{Group: "apps", Kind: "Deployment"}
		ref := &object.Ref{UID: types.UID(name), Kind: of, Namespace: "n", Name: name}
		var owners []object.Owner
		var applied object.Name
		if kind, of, found := strings.Cut(owner, "/"); found {
			applied = object.Name{Group: "apps", Kind: kind, Namespace: "n", Name: of}
		} else if owner != "" {
			owners = []object.Owner{{UID: types.UID(owner), Controller: true}}
		}
		m.Put(&Version{
			Ref: ref, ResourceVersion: version, Owners: owners, Applied: applied,
			Words: m.Collect(Object{"spec": Object{"args": []any{value}}}, false),
		})
	}
	const all = "kustomized deployed replica1 running1 neighbour"
	check := func(name string, earlier bool, want string) {
		t.Helper()
		v, ok := m.Of(types.UID(name), earlier)
		got := "unknown"
		if ok {
			got = v.Mask(all)
		}
		if got != want {
			t.Errorf("%s: got %q, want %q", name, got, want)
		}
	}
	put("flux", 1, "kustomized", "")
	put("web", 2, "deployed", "Deployment/flux")
	put("rs", 3, "replica1", "web")
	put("pod", 4, "running1", "rs")
	put("other", 5, "neighbour", "")
	check("flux", false, "… … replica1 running1 neighbour")
	check("web", false, "… … … running1 neighbour")
	check("pod", false, "… … … … neighbour")
	check("other", false, "kustomized deployed replica1 running1 …")
	check("stranger", false, "unknown")
	check("pod", true, "unknown")

	// The versions before count.
	put("other", 6, "running1", "")
	put("other", 6, "deployed", "")
	put("other", 5, "deployed", "")
	check("other", true, "kustomized deployed replica1 … …")
	put("other", 7, "running1", "")
	check("other", true, "kustomized deployed replica1 … …")
	put("other", 8, "replica1", "")
	check("other", true, "kustomized deployed … … …")

	// A deleted object is known for a while, and leaves nothing then.
	for _, name := range []string{"pod", "rs", "web", "flux", "other"} {
		m.Forget(types.UID(name))
	}
	check("web", false, "… … … running1 neighbour")
	for i := range maxGone + 10 {
		name := "gone" + strconv.Itoa(i)
		put(name, 1, "running"+strconv.Itoa(i), "web")
		m.Forget(types.UID(name))
	}
	check("web", false, "unknown")
	if len(m.objects) > maxGone || len(m.names) > maxGone || len(m.shared) > maxGone || len(m.below) > 1 {
		t.Errorf("%d objects, %d names, %d words, %d owners are left",
			len(m.objects), len(m.names), len(m.shared), len(m.below))
	}
}

// TestForeign: the values of an object with an unknown owner of a custom kind are unknown, and those of one with an
// unknown owner of Kubernetes itself are known.
func TestForeign(t *testing.T) {
	m := NewMemory()
	for group, want := range map[string]bool{"apps": true, "example.com": false} {
		owner := object.Owner{UID: "above", Kind: object.Kind{Group: group, Kind: "X"}, Controller: true}
		ref := &object.Ref{UID: types.UID(group), Name: group}
		m.Put(&Version{Ref: ref, ResourceVersion: 1, Owners: []object.Owner{owner}, Words: none})
		if _, known := m.Of(ref.UID, false); known != want {
			t.Errorf("an owner of %s: the values are known: %t", group, known)
		}
	}
	m.Put(&Version{Ref: &object.Ref{UID: "above"}, ResourceVersion: 1, Words: none})
	if _, known := m.Of("example.com", false); !known {
		t.Error("the values are unknown although the owner is known")
	}
}

// TestReads: the values of the ConfigMaps that an object reads are its own, also for its dependants. Those that the
// owner had before count, too.
func TestReads(t *testing.T) {
	m := NewMemory()
	file := object.Name{Kind: "ConfigMap", Namespace: "n", Name: "c"}
	put := func(uid, name string, version uint64, obj Object, reads []object.Name, owner types.UID) {
		ref := &object.Ref{UID: types.UID(uid), Kind: object.Kind{Kind: "ConfigMap"}, Namespace: "n", Name: name}
		var owners []object.Owner
		if owner != "" {
			owners = []object.Owner{{UID: owner}}
		}
		m.Put(&Version{
			Ref: ref, ResourceVersion: version, Owners: owners, Reads: reads, Words: m.Collect(obj, false),
		})
	}
	args := func(text string) Object { return Object{"spec": Object{"args": []any{text}}} }
	put("web", "web", 1, args("argument1"), []object.Name{file}, "")
	put("pod", "pod", 2, args("argument1"), nil, "web")
	if v, known := m.Of("pod", false); !known || !v.Unread() {
		t.Error("an unknown ConfigMap counts as read")
	}
	put("c", "c", 3, Object{"kind": "ConfigMap", "data": Object{"a": "content1"}}, nil, "")
	v, known := m.Of("pod", false)
	if got := v.Mask("content1 argument1"); !known || v.Unread() || got != "… …" {
		t.Errorf("got %q, known %t, unread %t", got, known, v.Unread())
	}
	put("pod", "pod", 4, args("argument2"), nil, "web")
	if v, _ := m.Of("web", false); v.Mask("argument1 argument2") != "… …" {
		t.Error("the owner shows a value that its dependant had before")
	}
	put("many", "many", 5, args("argument1"), make([]object.Name, maxReads+1), "")
	if _, known := m.Of("many", false); known {
		t.Error("an object that reads too much is known")
	}
}

// TestEarlierVersions: the values of all earlier versions are known, unless there are too many.
func TestEarlierVersions(t *testing.T) {
	m, ref := NewMemory(), &object.Ref{UID: "u"}
	var all []string
	for i := range maxBefore + 2 {
		value := fmt.Sprintf("value-%03d", i)
		all = append(all, value)
		obj := Object{"spec": Object{"args": []any{value}}}
		m.Put(&Version{Ref: ref, ResourceVersion: uint64(i + 1), Words: m.Collect(obj, false)})
		if i != maxBefore-1 && i != maxBefore+1 {
			continue
		}
		v, _ := m.Of("u", false)
		got := v.Mask(strings.Join(all, " "))
		if want := strings.TrimSpace(strings.Repeat("… ", len(all))); i < maxBefore && got != want {
			t.Errorf("got %q", got)
		}
		if i > maxBefore && !strings.HasSuffix(got, " … …") {
			t.Errorf("the two last versions are %q", got[len(got)-30:])
		}
	}
	if len(m.shared) > 2 {
		t.Errorf("%d words are left", len(m.shared))
	}
}

// TestRules: each rule of gitleaks can be read, and the generic one is left out.
func TestRules(t *testing.T) {
	if n := len(rules()); n < 200 {
		t.Errorf("there are %d rules", n)
	}
	for _, r := range rules() {
		if r.id == generic {
			t.Error("the generic rule is used")
		}
		r.compile()
	}
}

func FuzzMask(f *testing.F) {
	f.Add("login with hunter2xyz failed")
	f.Add(`%68unter2xyz \u0068unter2xyz aHVudGVyMnh5eg== ghp_0123456789abcdefghijABCDEFGHIJ456789`)
	v := of(f, "hunter2xyz", "my dog is red")
	f.Fuzz(func(t *testing.T, text string) {
		got := v.Mask(text)
		if strings.Contains(got, "hunter2xyz") || strings.Contains(got, "my dog is red") {
			t.Errorf("%q became %q", text, got)
		}
	})
}

func BenchmarkMask(b *testing.B) {
	v := of(b, "hunter2xyz", "postgres://app:hunt7erpw@db-main:5432/shop", "my dog is red", "deploy")
	for name, text := range map[string]string{
		"short": "Failed to wait for order web-1 to become ready: order is in invalid state",
		"long":  strings.Repeat("the certificate request has failed to complete and will be retried ", 60),
	} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				v.Mask(text)
			}
		})
	}
}

func BenchmarkCollect(b *testing.B) {
	obj := decoded(b, `{"metadata":{"name":"web","annotations":{"a":"annotation1"}},"spec":{"containers":[{"name":"web",
		"image":"reg.example/image:1","command":["sh","-c","command01"],"args":["--password=argument1","--v=2"],
		"env":[{"name":"A","value":"variable1"},{"name":"B","value":"variable2"}]}],"nodeName":"n","volumes":[]}}`)
	b.ReportAllocs()
	for b.Loop() {
		collect(testKey, obj, false)
	}
}
