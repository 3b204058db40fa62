//go:build tools

package tools

// What nodes with kubelets run besides; `make cluster` builds them once.
import (
	_ "k8s.io/kubernetes/cmd/kube-proxy"
	_ "k8s.io/kubernetes/cmd/kube-scheduler"
	_ "k8s.io/kubernetes/cmd/kubelet"
)
