//go:build tools

// Package policy pins what the Network Policy API judges networks by; `make test-conformance-policy` builds its tests once.
package policy

import _ "sigs.k8s.io/network-policy-api/conformance"
