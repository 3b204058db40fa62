//go:build tools

// Package tools pins wireguard-go.
package tools

import _ "golang.zx2c4.com/wireguard"
