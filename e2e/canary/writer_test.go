// SPDX-License-Identifier: Apache-2.0

package canary

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"path"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
)

// writerEnv holds a request in JSON, with which this binary does not test but write.
const writerEnv = "LIFELINE_CANARY_WRITER"

// writer makes the writes of one test, below one namespace.
type writer struct {
	// Canary is the value to put everywhere, Namespace where, and Answers the file
	// for what the API server answered.
	Canary, Namespace, Answers string

	ctx     context.Context
	host    string
	client  *http.Client
	answers *os.File
}

// writerMain is the program that writes.
func writerMain() int {
	w := &writer{}
	err := json.Unmarshal([]byte(os.Getenv(writerEnv)), w)
	if err == nil {
		ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
		defer cancel()
		w.ctx = ctx
		err = w.write()
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

func (w *writer) write() error {
	cfg, err := clientcmd.BuildConfigFromFlags("", os.Getenv("KUBECONFIG"))
	if err != nil {
		return err
	}
	cfg.QPS, cfg.Burst, cfg.UserAgent = 200, 200, "canary"
	found, err := discovery.NewDiscoveryClientForConfig(cfg)
	if err != nil {
		return err
	}
	lists, err := found.ServerPreferredResources()
	if err != nil {
		return err
	}
	w.host = cfg.Host
	if w.client, err = rest.HTTPClientFor(cfg); err != nil {
		return err
	}
	defer w.client.CloseIdleConnections()
	if w.answers, err = os.OpenFile(w.Answers, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600); err != nil {
		return err
	}
	defer w.answers.Close()
	w.workloads()
	w.quoted()
	for _, list := range lists {
		for _, r := range list.APIResources {
			if slices.Contains(r.Verbs, "create") && !strings.Contains(r.Name, "/") {
				w.kind(list.GroupVersion, r)
			}
		}
	}
	return nil
}

// fill puts the canary and the namespace into a text.
func (w *writer) fill(text string) string {
	return strings.NewReplacer("CANARY", w.Canary, "NAMESPACE", w.Namespace).Replace(text)
}

// do sends a request and notes the answer.
func (w *writer) do(verb, at, contentType, body string) {
	at = w.fill(at)
	r, err := http.NewRequestWithContext(w.ctx, verb, w.host+at, strings.NewReader(w.fill(body)))
	if err != nil {
		w.note(verb, at, 0, err.Error())
		return
	}
	r.Header.Set("Content-Type", contentType)
	r.Header.Set("Accept", asJSON)
	answer, err := w.client.Do(r)
	if err != nil {
		w.note(verb, at, 0, err.Error())
		return
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		text = append(text, err.Error()...)
	}
	w.note(verb, at, answer.StatusCode, string(text))
}

// uid is that of an object.
func (w *writer) uid(at string) string {
	r, err := http.NewRequestWithContext(w.ctx, http.MethodGet, w.host+w.fill(at), nil)
	if err != nil {
		return err.Error()
	}
	answer, err := w.client.Do(r)
	if err != nil {
		return err.Error()
	}
	defer answer.Body.Close()
	var object metav1.PartialObjectMetadata
	if err := json.NewDecoder(answer.Body).Decode(&object); err != nil {
		return err.Error()
	}
	return string(object.UID)
}

func (w *writer) note(verb, at string, code int, answer string) {
	fmt.Fprintf(w.answers, "%s %s %d %s\n", verb, at, code, strings.ReplaceAll(strings.TrimSpace(answer), "\n", " "))
}

const (
	asJSON      = "application/json"
	asMerge     = string(types.MergePatchType)
	asStrategic = string(types.StrategicMergePatchType)
	asJSONPatch = string(types.JSONPatchType)
	asApply     = string(types.ApplyYAMLPatchType)
)

// pod is the specification of a Pod with a value wherever it holds one.
const pod = `{"terminationGracePeriodSeconds":0,"containers":[{"name":"web","image":"reg.example/web:1",` +
	`"command":["sh","-c","CANARY"],"args":["--password=CANARY"],
	"env":[{"name":"PASSWORD","value":"CANARY"}],
	"lifecycle":{"postStart":{"exec":{"command":["sh","CANARY"]}}},"livenessProbe":{"exec":{"command":["check",` +
	`"CANARY"]}},
	"readinessProbe":{"httpGet":{"path":"/ready?token=CANARY","port":80,"httpHeaders":[{"name":"Authorization",` +
	`"value":"CANARY"}]}}}]}`

// annotations are what kubectl apply and others leave on an object.
const annotations = `"annotations":{"example.com/token":"CANARY",` +
	`"kubectl.kubernetes.io/last-applied-configuration":"{\"data\":{\"password\":\"CANARY\"}}"}`

// workloads creates and changes what holds confidential values, as a user would.
func (w *writer) workloads() {
	const (
		core  = "/api/v1/namespaces/NAMESPACE/"
		apps  = "/apis/apps/v1/namespaces/NAMESPACE/"
		batch = "/apis/batch/v1/namespaces/NAMESPACE/"
	)
	w.do(
		"POST",
		core+"secrets",
		asJSON,
		`{"apiVersion":"v1","kind":"Secret","metadata":{"name":"s",`+
			``+annotations+`},"stringData":{"password":"CANARY"}}`,
	)
	w.do(
		"POST",
		core+"configmaps",
		asJSON,
		`{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"c",`+annotations+`},"data":{"password":"CANARY"}}`,
	)
	w.do("PATCH", core+"secrets/s", asMerge, `{"stringData":{"more":"CANARY"}}`)
	w.do("PATCH", core+"configmaps/c", asMerge, `{"data":{"more":"CANARY"}}`)
	meta := `"metadata":{"name":"web",` + annotations + `},"spec":{`
	template := `"template":{"metadata":{"labels":{"app":"web"},` + annotations + `},"spec":` + pod + `}}}`
	w.do(
		"POST",
		core+"pods",
		asJSON,
		`{"apiVersion":"v1","kind":"Pod","metadata":{"name":"web",`+annotations+`},"spec":`+pod+`}`,
	)
	for _, kind := range []string{"Deployment", "StatefulSet", "DaemonSet", "ReplicaSet"} {
		service := ""
		if kind == "StatefulSet" {
			service = `"serviceName":"web",`
		}
		w.do(
			"POST",
			apps+strings.ToLower(kind)+"s",
			asJSON,
			`{"apiVersion":"apps/v1","kind":"`+kind+`",`+meta+service+`"selector":{"matchLabels":{"app":"web"}},`+
				``+template,
		)
		w.do(
			"PATCH",
			apps+strings.ToLower(kind)+"s/web",
			asStrategic,
			`{"spec":{"template":{"spec":{"containers":[{"name":"web","env":[{"name":"MORE","value":"CANARY"}]}]}}}}`,
		)
	}
	once := strings.Replace(template, pod, strings.Replace(pod, `{"`, `{"restartPolicy":"Never","`, 1), 1)
	w.do("POST", batch+"jobs", asJSON, `{"apiVersion":"batch/v1","kind":"Job",`+meta+once)
	w.do(
		"POST",
		batch+"cronjobs",
		asJSON,
		`{"apiVersion":"batch/v1","kind":"CronJob",`+meta+`"schedule":"0 0 1 1 *","jobTemplate":{"spec":{`+once+`}}`,
	)
	// A Pod whose containers say something, as the kubelet reports it, and one
	// that a controller cannot create: the webhook quotes what it was asked.
	w.do(
		"PATCH",
		core+"pods/web/status",
		asStrategic,
		`{"status":{"phase":"Failed","reason":"Error","message":"CANARY was refused",`+
			`"conditions":[{"type":"Ready","status":"False","reason":"Bad CANARY","message":"token CANARY"}],
		"containerStatuses":[{"name":"web","image":"","imageID":"","ready":false,"restartCount":1,`+
			`"state":{"terminated":{"exitCode":1,"reason":"StartError","message":"exec: \"CANARY\": not found: `+
			`CANARY"}},"lastState":{"terminated":{"exitCode":1,"message":"login with CANARY failed"}}}]}}`,
	)
	w.do(
		"POST",
		apps+"deployments",
		asJSON,
		strings.ReplaceAll(
			`{"apiVersion":"apps/v1","kind":"Deployment",`+
				``+meta+`"progressDeadlineSeconds":5,"selector":{"matchLabels":{"app":"refused"}},`+template,
			`"web"`,
			`"refused"`,
		),
	)
	w.do(
		"POST",
		"/apis/canary.example.com/v1/namespaces/NAMESPACE/birds",
		asJSON,
		`{"apiVersion":"canary.example.com/v1","kind":"Bird","metadata":{"name":"b",`+
			``+annotations+`},"spec":{"song":"CANARY"}}`,
	)
	w.do(
		"PATCH",
		"/apis/canary.example.com/v1/namespaces/NAMESPACE/birds/b/status",
		asMerge,
		`{"status":{"observedGeneration":1,"conditions":[{"type":"Ready","status":"False","reason":"Sings",`+
			`"message":"it sings CANARY"},{"type":"Stalled","status":"True","reason":"CANARY!","message":"CANARY"}]}}`,
	)
	w.birds()
	uid := w.uid(core + "pods/web")
	for i, note := range []string{
		"getting credentials: exec: executable login failed: token CANARY",
		`Error: failed to start container "web": exec: "CANARY": no such file`,
		"Liveness probe failed: wrong password CANARY",
		"CANARY",
	} {
		w.do(
			"POST",
			core+"events",
			asJSON,
			fmt.Sprintf(
				`{"apiVersion":"v1","kind":"Event","metadata":{"name":"e%d",%s},`+
					`"involvedObject":{"apiVersion":"v1","kind":"Pod","namespace":"NAMESPACE","name":"web","uid":%q},
			"reason":%q,"message":%q,"type":"Warning","action":"CANARY","source":{"component":"kubelet"}}`,
				i,
				annotations,
				uid,
				[]string{"Failed", "Bad CANARY"}[i%2],
				note,
			),
		)
	}
	w.do("GET", core+"pods/web/exec?command=login&command=CANARY&container=web&stdout=true", asJSON, "")
	w.do("POST", core+"pods/web/exec?command=CANARY&container=web&stdout=true", asJSON, "")
	w.do("POST", core+"services/none:80/proxy/reset/CANARY?token=CANARY", asJSON, "CANARY")
}

// birds are custom resources with messages about themselves, about what they own, and about their past.
func (w *writer) birds() {
	const at = "/apis/canary.example.com/v1/namespaces/NAMESPACE/birds"
	create := func(name, meta, spec string) {
		w.do("POST", at, asJSON, fmt.Sprintf(
			`{"apiVersion":"canary.example.com/v1","kind":"Bird","metadata":{"name":%q%s},"spec":{%s}}`,
			name, meta, spec,
		))
	}
	say := func(name, text string) {
		message, _ := json.Marshal(w.fill(text))
		w.do("PATCH", at+"/"+name+"/status", asMerge, fmt.Sprintf(
			`{"status":{"conditions":[{"type":"Ready","status":"False","reason":"Sings","message":%s}]}}`, message,
		))
	}
	const values = `"values":{"db":{"password":"CANARY","pin":` + number + `}}`
	in64 := base64.StdEncoding.EncodeToString([]byte("user:" + w.Canary))
	for name, text := range map[string]string{
		"helm": "the login with CANARY was refused, and data " + in64 + ", too",
		// Forms of the value, and parts of it.
		"percent": "cannot read ?token=" + percent(w.Canary) + "&x=1",
		"url":     "cannot fetch https://me:CANARY@git.example.com/CANARY?token=CANARY",
		"part":    "the login with " + w.Canary[:cut] + "...",
		"end":     strings.Repeat("so ", 336) + "with " + w.Canary[:cut],
		"part64":  "the data is " + in64[:len(in64)-6] + "...",
		"upper":   "the key " + strings.ToUpper(w.Canary) + " is unknown",
		"hex":     fmt.Sprintf("the keys %x and %X are unknown", w.Canary, w.Canary),
		"bytes":   fmt.Sprintf("the keys %v and %#v are unknown", []byte(w.Canary), []byte(w.Canary)),
		"nested":  "the data is " + base64.StdEncoding.EncodeToString([]byte(in64)),
		"url64":   "the data is " + base64.RawURLEncoding.EncodeToString([]byte("??"+w.Canary+"?>")) + ", too",
		"middle":  "the keys " + w.Canary[:cut] + "..., ..." + w.Canary[len(w.Canary)-cut:] + " are unknown",
		"parser":  `cannot load: strconv.Atoi: parsing "` + w.Canary[:cut] + `": invalid syntax`,
		"number":  "the pin " + number + " is wrong",
		"output":  "the hook failed: exit status 1: CANARY",
		"token":   "the answer is " + token + " and no more",
		// Refusals of objects that do not exist: Flux and Argo CD quote such.
		"flux": `Deployment/shop/web dry-run failed (Forbidden): admission webhook "v.example.com" denied the ` +
			"request: PASSWORD=" + token + " or CANARY",
		"secret": `Secret/shop/db dry-run failed (Invalid): Secret "db" is invalid: data[k]: Invalid value: ` +
			`"CANARY": no`,
		"field": `one or more objects failed to apply, reason: Deployment.apps "web" is invalid: spec.paused: ` +
			`Invalid value: "CANARY": it is CANARY`,
	} {
		create(name, "", values)
		say(name, text)
	}
	// The value is that of an object below, of the object above, and of the version before.
	create("above", "", `"song":"la"`)
	owner := fmt.Sprintf(
		`,"ownerReferences":[{"apiVersion":"canary.example.com/v1","kind":"Bird","name":"above","uid":%q,`+
			`"controller":true}]`,
		w.uid(at+"/above"),
	)
	create("below", owner, values)
	say("above", "the bird below has CANARY")
	create("parent", "", values)
	owner = strings.ReplaceAll(owner, w.uid(at+"/above"), w.uid(at+"/parent"))
	create("child", strings.ReplaceAll(owner, "above", "parent"), `"song":"la"`)
	say("child", "the bird above has CANARY")
	create("keeper", "", `"song":"la"`)
	keeper := fmt.Sprintf(
		`,"ownerReferences":[{"apiVersion":"canary.example.com/v1","kind":"Bird","name":"keeper","uid":%q}]`,
		w.uid(at+"/keeper"),
	)
	w.do("POST", "/api/v1/namespaces/NAMESPACE/configmaps", asJSON, fmt.Sprintf(
		`{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"kept"%s},"data":{"f":"# a file\n  db: CANARY\n"}}`,
		keeper,
	))
	say("keeper", "the file has CANARY")
	create("past", "", values)
	w.do("PATCH", at+"/past", asMerge, `{"spec":{"values":{"db":{"password":"another1"}}}}`)
	say("past", "it had CANARY")
}

// quoted are the refusals that quote values, each in its own way.
func (w *writer) quoted() {
	const (
		core  = "/api/v1/namespaces/NAMESPACE/"
		apps  = "/apis/apps/v1/namespaces/NAMESPACE/"
		batch = "/apis/batch/v1/namespaces/NAMESPACE/"
	)
	// The merge patch of issue and story: the stored data is quoted, too.
	w.do("PATCH", core+"secrets/s", asMerge, `{"stringData":{"k":{"x":"CANARY"}}}`)
	w.do("PATCH", core+"configmaps/c", asMerge, `{"data":{"k":{"x":"CANARY"}}}`)
	w.do("PATCH", core+"configmaps/c", asMerge, `{"data":{"CANARY!":"CANARY"}}`)
	w.do(
		"PATCH",
		core+"pods/web",
		asStrategic,
		`{"spec":{"containers":[{"name":"web","env":[{"name":"PASSWORD","value":"changed CANARY"}]}]}}`,
	)
	w.do(
		"PATCH",
		batch+"jobs/web",
		asStrategic,
		`{"spec":{"template":{"spec":{"containers":[{"name":"web","env":[{"name":"PASSWORD","value":"changed `+
			`CANARY"}]}]}}}}`,
	)
	w.do(
		"PATCH",
		apps+"deployments/web",
		asMerge,
		`{"spec":{"template":{"spec":{"containers":[{"name":"web","image":"a","env":[{"name":"A",`+
			`"value":{"x":"CANARY"}}]}]}}}}`,
	)
	w.do(
		"PATCH",
		apps+"deployments/web",
		asStrategic,
		`{"spec":{"template":{"spec":{"containers":[{"name":"web","env":[{"name":"not a name CANARY",`+
			`"value":"x"}]}]}}}}`,
	)
	w.do("PATCH", apps+"deployments/web", asStrategic, `{"spec":{"replicas":"CANARY"}}`)
	w.do(
		"PATCH",
		apps+"deployments/web",
		asStrategic,
		`{"spec":{"template":{"spec":{"containers":[{"name":"web","resources":{"limits":{"cpu":"CANARY"}}}]}}}}`,
	)
	w.do(
		"PATCH",
		apps+"deployments/web",
		asJSONPatch,
		`[{"op":"test","path":"/metadata/annotations/example.com~1token","value":"other CANARY"}]`,
	)
	w.do("PATCH", apps+"deployments/web", asMerge, `{"CANARY`)
	w.do(
		"PATCH",
		apps+"deployments/web?fieldManager=other",
		asApply,
		`{"apiVersion":"apps/v1","kind":"Deployment","metadata":{"name":"web",`+
			`"annotations":{"example.com/token":"other CANARY"}},`+
			`"spec":{"template":{"spec":{"containers":[{"name":"web","args":["x"]}]}}}}`,
	)
	w.do(
		"PATCH",
		apps+"deployments/web?fieldManager=other&force=true",
		asApply,
		`{"apiVersion":"apps/v1","kind":"Deployment","metadata":{"name":"web"},`+
			`"spec":{"template":{"spec":{"containers":[{"name":"web","args":{"CANARY":"x"}}]}}}}`,
	)
	w.do(
		"PATCH",
		apps+"deployments/web?fieldValidation=Strict",
		asMerge,
		`{"spec":{"paused":false,"extra":{"a":"CANARY"}}}`,
	)
	// A webhook, a policy and the rules of a custom resource quote what they like.
	for _, name := range []string{"webhook", "webhook-reason", "webhook-causes", "policy"} {
		w.do(
			"POST",
			core+"serviceaccounts",
			asJSON,
			`{"apiVersion":"v1","kind":"ServiceAccount","metadata":{"name":"`+name+`",`+annotations+`}}`,
		)
	}
	birds := "/apis/canary.example.com/v1/namespaces/NAMESPACE/birds"
	w.do(
		"POST",
		birds,
		asJSON,
		`{"apiVersion":"canary.example.com/v1","kind":"Bird","metadata":{"name":"silent"},`+
			`"spec":{"song":"silent CANARY"}}`,
	)
	w.do("PATCH", birds+"/b", asMerge, `{"spec":{"song":{"a":"CANARY"}}}`)
	w.do("PATCH", birds+"/b", asMerge, `{"spec":{"list":["CANARY","CANARY"]}}`)
	w.do(
		"PATCH",
		birds+"/b?fieldManager=other",
		asApply,
		`{"apiVersion":"canary.example.com/v1","kind":"Bird","metadata":{"name":"b"},"spec":{"song":7,`+
			`"list":["CANARY","CANARY"]}}`,
	)
}

// kind creates an object of a kind, and tries changes that are refused.
func (w *writer) kind(groupVersion string, r metav1.APIResource) {
	at := "/apis/" + groupVersion
	if groupVersion == "v1" {
		at = "/api/v1"
	}
	if r.Namespaced {
		at += "/namespaces/NAMESPACE"
	}
	at = path.Join(at, r.Name)
	head := fmt.Sprintf(
		`{"apiVersion":%q,"kind":%q,"metadata":{"name":"canary-NAMESPACE",%s`,
		groupVersion,
		r.Kind,
		annotations,
	)
	w.do("POST", at, asJSON, head+`},"spec":{"token":"CANARY"},"data":{"password":"CANARY"}}`)
	w.do(
		"POST",
		at,
		asJSON,
		head+`,"labels":{"example.com/bad":"not a label CANARY!"}},"spec":{"token":"CANARY"},"data":{"a":"Q0FOQVJZ"}}`,
	)
	w.do("POST", at, asJSON, head+`},"spec":"CANARY","data":"CANARY"}`)
	if slices.Contains(r.Verbs, "patch") {
		one := at + "/canary-NAMESPACE"
		w.do("PATCH", one, asMerge, `{"metadata":{"annotations":{"example.com/token":{"x":"CANARY"}}}}`)
		w.do("PATCH", one, asMerge, `{"metadata":{"labels":{"example.com/bad":"not a label CANARY!"}}}`)
		w.do("PATCH", one+"?fieldManager=canary", asApply, head+`,"finalizers":["CANARY CANARY"]}}`)
	}
	if slices.Contains(r.Verbs, "update") {
		w.do("PUT", at+"/canary-NAMESPACE", asJSON, head+`,"resourceVersion":"1","finalizers":["CANARY CANARY"]}}`)
	}
}
