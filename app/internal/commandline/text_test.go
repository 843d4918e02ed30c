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
		"apply": {
			reason:  "A path and a context are harmless.",
			command: "kubectl -n shop apply -f app.yaml --context=prod",
			want:    "kubectl -n shop apply -f app.yaml --context=prod",
		},
		"standard input": {
			reason:  "A dash is a path.",
			command: "kubectl apply --server-side -f - --field-manager ci",
			want:    "kubectl apply --server-side -f - --field-manager ci",
		},
		"URL": {
			reason:  "Its path and its query may hold a token.",
			command: "kubectl apply -f https://u:hunter2@host.example/hunter2/a.yaml?t=hunter2",
			want:    "kubectl apply -f https://host.example/…",
		},
		"server": {
			reason:  "A server is a host.",
			command: "kubectl --server=https://10.0.0.1:6443 get pods",
			want:    "kubectl --server=https://10.0.0.1:6443 get pods",
		},
		"attached": {
			reason:  "A short flag holds its value.",
			command: "kubectl -nshop get pods -oyaml -lapp=hunter2",
			want:    "kubectl -nshop get pods -oyaml -lapp=…",
		},
		"attached patch": {
			reason:  "So does one with confidential data.",
			command: "kubectl patch pod web -p{\"a\":\"hunter2\"}",
			want:    "kubectl patch pod web -p…",
		},
		"names": {
			reason:  "Kinds and names are shown.",
			command: "kubectl delete pods/a svc/b deployments.v1.apps/c --now",
			want:    "kubectl delete pods/a svc/b deployments.v1.apps/c --now",
		},
		"scale": {
			reason:  "A number is shown.",
			command: "kubectl scale deploy web --replicas=3",
			want:    "kubectl scale deploy web --replicas=3",
		},
		"set image": {
			reason:  "An image is shown.",
			command: "kubectl set image deploy/web web=registry.example/web:1.2@sha256:00ff",
			want:    "kubectl set image deploy/web web=registry.example/web:1.2@sha256:00ff",
		},
		"set env": {
			reason:  "The value of a variable is hidden, whatever its name's case.",
			command: "kubectl set env deploy/d password=hunter2 PASSWORD=hunter2 OLD-",
			want:    "kubectl set env deploy/d password=… PASSWORD=… OLD-",
		},
		"set resources": {
			reason:  "Quantities are shown.",
			command: "kubectl set resources deploy/d --limits=cpu=200m,memory=1Gi",
			want:    "kubectl set resources deploy/d --limits=cpu=200m,memory=1Gi",
		},
		"annotate": {
			reason:  "The value of an annotation is hidden.",
			command: "kubectl annotate pod p tok=hunter2 a.example/b=hunter2",
			want:    "kubectl annotate pod p tok=… a.example/b=…",
		},
		"label": {
			reason:  "So is the value of a label.",
			command: "kubectl label pod a tier=hunter2",
			want:    "kubectl label pod a tier=…",
		},
		"rollout": {
			reason:  "Verbs of the second level are names.",
			command: "kubectl rollout undo deploy/web --to-revision=2",
			want:    "kubectl rollout undo deploy/web --to-revision=2",
		},
		"wait": {
			reason:  "Of conditions only the plain ones are shown.",
			command: "kubectl wait --for=condition=Ready pod/a --timeout=30s",
			want:    "kubectl wait --for=condition=Ready pod/a --timeout=30s",
		},
		"wait jsonpath": {
			reason:  "A JSON path holds a value.",
			command: "kubectl wait --for=jsonpath={.data.a}=hunter2 secret/a",
			want:    "kubectl wait --for=… secret/a",
		},
		"literal": {
			reason:  "The key of a literal is shown.",
			command: "kubectl create secret generic db --from-literal=password=hunter2",
			want:    "kubectl create secret generic db --from-literal=password=…",
		},
		"literal word": {
			reason:  "The value may be a word of its own.",
			command: "kubectl create secret generic db --from-literal password=hunter2",
			want:    "kubectl create secret generic db --from-literal password=…",
		},
		"base64": {
			reason:  "Padded base64 is no assignment.",
			command: "kubectl create secret generic db --from-literal=aHVudGVyMg== --from-literal aHVudGVyMgA=",
			want:    "kubectl create secret generic db --from-literal=… --from-literal …",
		},
		"from file": {
			reason:  "A path is shown, also behind a key.",
			command: "kubectl create configmap c --from-file=a=b/c.txt --from-file d.txt",
			want:    "kubectl create configmap c --from-file=a=b/c.txt --from-file d.txt",
		},
		"docker": {
			reason:  "Flags that are not listed lose their values.",
			command: "kubectl create secret docker-registry r --docker-username hunter2 --docker-password hunter2",
			want:    "kubectl create secret docker-registry r --docker-username … --docker-password …",
		},
		"token": {
			reason:  "A token is such a value.",
			command: "kubectl --token abc.def get pods",
			want:    "kubectl --token … get pods",
		},
		"typing error": {
			reason:  "The word after an unknown flag may be its value.",
			command: "kubectl create secret generic db --from-litteral hunter2",
			want:    "kubectl create secret generic db --from-litteral …",
		},
		"exec": {
			reason:  "A command of its own is hidden.",
			command: "kubectl exec -it web -c app -- mysql -phunter2",
			want:    "kubectl exec -it web -c app -- …",
		},
		"exec old": {
			reason:  "So is one without dashes.",
			command: "kubectl exec web hunter2",
			want:    "kubectl exec web …",
		},
		"exec shell": {
			reason:  "Flags of such a command are none of kubectl.",
			command: "kubectl exec web sh -c hunter2",
			want:    "kubectl exec web …",
		},
		"run shell": {
			reason:  "The same holds for the command of a container.",
			command: "kubectl run web --image=nginx:1 sh -c hunter2",
			want:    "kubectl run web --image=nginx:1 …",
		},
		"image with a password": {
			reason:  "An image has a digest behind the at sign.",
			command: "kubectl set image deploy/web web=bob:hunter2@registry.example/web",
			want:    "kubectl set image deploy/web web=…",
		},
		"path with a password": {
			reason:  "A URL with a typing error is no path.",
			command: "kubectl apply -f https:/bob:hunter2@host.example/a.yaml",
			want:    "kubectl apply -f …",
		},
		"helm repository": {
			reason:  "Credentials of a repository are hidden.",
			command: "helm repo add r https://bob:hunter2@host.example/x --username bob --password hunter2",
			want:    "helm … --username … --password …",
		},
		"run": {
			reason:  "So are arguments of a container.",
			command: "kubectl run web --image=nginx:1 --env=A=hunter2 --restart=Never -- hunter2",
			want:    "kubectl run web --image=nginx:1 --env=A=… --restart=Never -- …",
		},
		"config": {
			reason:  "Settings are hidden.",
			command: "kubectl config set users.a.token hunter2",
			want:    "kubectl config set …",
		},
		"plugin": {
			reason:  "A plugin's words are unknown.",
			command: "kubectl vault-login hunter2 apply hunter2 --flag",
			want:    "kubectl … --flag",
		},
		"verb late": {
			reason:  "A verb is the first word only.",
			command: "kubectl hunter2 get hunter3",
			want:    "kubectl …",
		},
		"helm": {
			reason: "A release and a chart are shown.",
			command: "helm upgrade --install db ./chart -n x -f values.yaml --set auth.password=hunter2 --set-string " +
				"a=hunter2,b=hunter2",
			want: "helm upgrade --install db ./chart -n x -f values.yaml --set auth.password=… --set-string a=…",
		},
		"helm OCI": {
			reason:  "A registry is a host.",
			command: "helm install db oci://ghcr.io/x/chart --version 1.2.3",
			want:    "helm install db oci://ghcr.io/… --version 1.2.3",
		},
		"make": {
			reason:  "Goals and names of variables are shown.",
			command: "make -C dir deploy TOKEN=hunter2",
			want:    "make -C dir deploy TOKEN=…",
		},
		"terraform": {
			reason:  "Flags of one dash show one letter.",
			command: "terraform apply -var password=hunter2 -auto-approve hunter2",
			want:    "terraform apply -v… … -a… …",
		},
		"shell": {
			reason:  "A script is hidden.",
			command: "bash -c kubectl_create_secret_hunter2",
			want:    "bash -c …",
		},
		"program": {
			reason:  "Of an unknown program only flags are shown.",
			command: "./bin/deploy.sh prod hunter2 --dry-run --password=hunter2 -phunter2 KEY=hunter2",
			want:    "./bin/deploy.sh … --dry-run --password=… -p… …",
		},
		"bad flag": {
			reason:  "A flag's name is plain text.",
			command: "tool --hunter\x1b[2J=a --a_b -ü",
			want:    "tool …",
		},
		"bad program": {
			reason:  "So is a program's.",
			command: "to\x1bol a",
			want:    "…",
		},
		"nothing": {
			reason:  "No argument is no word.",
			command: "",
			want:    "",
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tt.want, Text(strings.Fields(tt.command))); diff != "" {
				t.Errorf("%s\n-want +got:\n%s", tt.reason, diff)
			}
		})
	}
}

// FuzzText: a result is plain text of the input. Of an unknown program it shows only the names of
// flags.
func FuzzText(f *testing.F) {
	for _, line := range []string{
		"kubectl set env deploy/d password=hunter2", "kubectl annotate pod p tok=hunter2", "kubectl patch pod p -p{}",
		"bash -c hunter2", "helm upgrade a b --set x=hunter2", "kubectl exec a -- b", "kubectl --token=a get pods",
		"a \x1b[2J -\xff",
	} {
		f.Add(line)
	}
	f.Fuzz(func(t *testing.T, line string) {
		args := strings.Split(line, " ")
		for _, word := range strings.Split(Text(args), " ") {
			for part := range strings.SplitSeq(word, Hidden) {
				part = part[strings.LastIndex(part, "//")+1:] // a URL loses its user
				part = strings.TrimPrefix(part, "/")
				if !strings.Contains(line, strings.TrimSuffix(part, "/")) ||
					strings.ContainsFunc(part, func(r rune) bool { return r <= ' ' || r > '~' }) {
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
