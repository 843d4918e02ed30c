// SPDX-License-Identifier: Apache-2.0

package commandline

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestText(t *testing.T) {
	tests := map[string]struct {
		reason, command, want string
	}{
		"apply":          {"A path and a context are harmless.", "kubectl -n shop apply -f app.yaml --context=prod", "kubectl -n shop apply -f app.yaml --context=prod"},
		"standard input": {"A dash is a path.", "kubectl apply --server-side -f - --field-manager ci", "kubectl apply --server-side -f - --field-manager ci"},
		"URL":            {"Its path and its query may hold a token.", "kubectl apply -f https://u:hunter2@host.example/hunter2/a.yaml?t=hunter2", "kubectl apply -f https://host.example/…"},
		"server":         {"A server is a host.", "kubectl --server=https://10.0.0.1:6443 get pods", "kubectl --server=https://10.0.0.1:6443 get pods"},
		"attached":       {"A short flag holds its value.", "kubectl -nshop get pods -oyaml -lapp=hunter2", "kubectl -nshop get pods -oyaml -lapp=…"},
		"attached patch": {"So does one with confidential data.", "kubectl patch pod web -p{\"a\":\"hunter2\"}", "kubectl patch pod web -p…"},
		"names":          {"Kinds and names are shown.", "kubectl delete pods/a svc/b deployments.v1.apps/c --now", "kubectl delete pods/a svc/b deployments.v1.apps/c --now"},
		"scale":          {"A number is shown.", "kubectl scale deploy web --replicas=3", "kubectl scale deploy web --replicas=3"},
		"set image":      {"An image is shown.", "kubectl set image deploy/web web=registry.example/web:1.2@sha256:00ff", "kubectl set image deploy/web web=registry.example/web:1.2@sha256:00ff"},
		"set env":        {"The value of a variable is hidden, whatever its name's case.", "kubectl set env deploy/d password=hunter2 PASSWORD=hunter2 OLD-", "kubectl set env deploy/d password=… PASSWORD=… OLD-"},
		"set resources":  {"Quantities are shown.", "kubectl set resources deploy/d --limits=cpu=200m,memory=1Gi", "kubectl set resources deploy/d --limits=cpu=200m,memory=1Gi"},
		"annotate":       {"The value of an annotation is hidden.", "kubectl annotate pod p tok=hunter2 a.example/b=hunter2", "kubectl annotate pod p tok=… a.example/b=…"},
		"label":          {"So is the value of a label.", "kubectl label pod a tier=hunter2", "kubectl label pod a tier=…"},
		"rollout":        {"Verbs of the second level are names.", "kubectl rollout undo deploy/web --to-revision=2", "kubectl rollout undo deploy/web --to-revision=2"},
		"wait":           {"Of conditions only the plain ones are shown.", "kubectl wait --for=condition=Ready pod/a --timeout=30s", "kubectl wait --for=condition=Ready pod/a --timeout=30s"},
		"wait jsonpath":  {"A JSON path holds a value.", "kubectl wait --for=jsonpath={.data.a}=hunter2 secret/a", "kubectl wait --for=… secret/a"},
		"literal":        {"The key of a literal is shown.", "kubectl create secret generic db --from-literal=password=hunter2", "kubectl create secret generic db --from-literal=password=…"},
		"literal word":   {"The value may be a word of its own.", "kubectl create secret generic db --from-literal password=hunter2", "kubectl create secret generic db --from-literal password=…"},
		"base64":         {"Padded base64 is no assignment.", "kubectl create secret generic db --from-literal=aHVudGVyMg== --from-literal aHVudGVyMgA=", "kubectl create secret generic db --from-literal=… --from-literal …"},
		"from file":      {"A path is shown, also behind a key.", "kubectl create configmap c --from-file=a=b/c.txt --from-file d.txt", "kubectl create configmap c --from-file=a=b/c.txt --from-file d.txt"},
		"docker":         {"Flags that are not listed lose their values.", "kubectl create secret docker-registry r --docker-username hunter2 --docker-password hunter2", "kubectl create secret docker-registry r --docker-username … --docker-password …"},
		"token":          {"A token is such a value.", "kubectl --token abc.def get pods", "kubectl --token … get pods"},
		"typing error":   {"The word after an unknown flag may be its value.", "kubectl create secret generic db --from-litteral hunter2", "kubectl create secret generic db --from-litteral …"},
		"exec":           {"A command of its own is hidden.", "kubectl exec -it web -c app -- mysql -phunter2", "kubectl exec -it web -c app -- …"},
		"exec old":       {"So is one without dashes.", "kubectl exec web hunter2", "kubectl exec web …"},
		"run":            {"So are arguments of a container.", "kubectl run web --image=nginx:1 --env=A=hunter2 --restart=Never -- hunter2", "kubectl run web --image=nginx:1 --env=A=… --restart=Never -- …"},
		"config":         {"Settings are hidden.", "kubectl config set users.a.token hunter2", "kubectl config set …"},
		"plugin":         {"A plugin's words are unknown.", "kubectl vault-login hunter2 apply hunter2 --flag", "kubectl … --flag"},
		"verb late":      {"A verb is the first word only.", "kubectl hunter2 get hunter3", "kubectl …"},
		"helm":           {"A release and a chart are shown.", "helm upgrade --install db ./chart -n x -f values.yaml --set auth.password=hunter2 --set-string a=hunter2,b=hunter2", "helm upgrade --install db ./chart -n x -f values.yaml --set auth.password=… --set-string a=…"},
		"helm OCI":       {"A registry is a host.", "helm install db oci://ghcr.io/x/chart --version 1.2.3", "helm install db oci://ghcr.io/… --version 1.2.3"},
		"make":           {"Goals and names of variables are shown.", "make -C dir deploy TOKEN=hunter2", "make -C dir deploy TOKEN=…"},
		"terraform":      {"Flags of one dash show one letter.", "terraform apply -var password=hunter2 -auto-approve hunter2", "terraform apply -v… … -a… …"},
		"shell":          {"A script is hidden.", "bash -c kubectl_create_secret_hunter2", "bash -c …"},
		"program":        {"Of an unknown program only flags are shown.", "./bin/deploy.sh prod hunter2 --dry-run --password=hunter2 -phunter2 KEY=hunter2", "./bin/deploy.sh … --dry-run --password=… -p… …"},
		"bad flag":       {"A flag's name is plain text.", "tool --hunter\x1b[2J=a --a_b -ü", "tool …"},
		"bad program":    {"So is a program's.", "to\x1bol a", "…"},
		"nothing":        {"No argument is no word.", "", ""},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tt.want, Text(strings.Fields(tt.command))); diff != "" {
				t.Errorf("%s\n-want +got:\n%s", tt.reason, diff)
			}
		})
	}
}

// FuzzText: a result is plain text of the input, and of an unknown program only
// the flags' names are shown.
func FuzzText(f *testing.F) {
	for _, line := range []string{
		"kubectl set env deploy/d password=hunter2", "kubectl annotate pod p tok=hunter2", "kubectl patch pod p -p{}",
		"bash -c hunter2", "helm upgrade a b --set x=hunter2", "kubectl exec a -- b", "kubectl --token=a get pods", "a \x1b[2J -\xff",
	} {
		f.Add(line)
	}
	f.Fuzz(func(t *testing.T, line string) {
		args := strings.Split(line, " ")
		for _, word := range strings.Split(Text(args), " ") {
			for part := range strings.SplitSeq(word, Hidden) {
				part = part[strings.LastIndex(part, "//")+1:] // a URL loses its user
				part = strings.TrimPrefix(part, "/")
				if !strings.Contains(line, strings.TrimSuffix(part, "/")) || strings.ContainsFunc(part, func(r rune) bool { return r <= ' ' || r > '~' }) {
					t.Errorf("%q shows %q", line, word)
				}
			}
		}
		for i, word := range strings.Split(Text(append([]string{"unknown"}, args...)), " ") {
			if i > 0 && word != Hidden && word[0] != '-' {
				t.Errorf("%q shows %q", line, word)
			}
		}
	})
}
