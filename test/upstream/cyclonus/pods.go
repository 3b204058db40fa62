package main

import (
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"runtime"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
	v1 "k8s.io/api/core/v1"
)

// A datagram that gets lost is sent again.
const resend = 250 * time.Millisecond

// server answers in a pod, over TCP and UDP, with the key of the pod.
type server struct {
	open []io.Closer
}

func serve(netns, key string, ports []int) (*server, error) {
	server := &server{}
	err := within(netns, func() error {
		for _, port := range ports {
			listener, err := net.Listen("tcp4", fmt.Sprintf(":%d", port))
			if err != nil {
				return err
			}
			server.open = append(server.open, listener)
			go accept(listener, key)
			socket, err := net.ListenPacket("udp4", fmt.Sprintf(":%d", port))
			if err != nil {
				return err
			}
			server.open = append(server.open, socket)
			go reply(socket, key)
		}
		return nil
	})
	if err != nil {
		server.close()
		return nil, fmt.Errorf("serve in %s: %w", netns, err)
	}
	return server, nil
}

func (s *server) close() {
	for _, one := range s.open {
		one.Close()
	}
}

func accept(listener net.Listener, key string) {
	for {
		connection, err := listener.Accept()
		if err != nil {
			if !errors.Is(err, net.ErrClosed) {
				fmt.Fprintf(os.Stderr, "pod %s accepts no more connections: %v\n", key, err)
			}
			return
		}
		// The client sends nothing, so that closing does not reset the connection.
		io.WriteString(connection, key)
		connection.Close()
	}
}

func reply(socket net.PacketConn, key string) {
	buffer := make([]byte, 64)
	for {
		_, client, err := socket.ReadFrom(buffer)
		if err != nil {
			if !errors.Is(err, net.ErrClosed) {
				fmt.Fprintf(os.Stderr, "pod %s answers no more datagrams: %v\n", key, err)
			}
			return
		}
		socket.WriteTo([]byte(key), client)
	}
}

// connect asks from a pod who answers at an address; "" if nobody does within the limit, or the connection is refused.
func connect(netns string, protocol v1.Protocol, address string, limit time.Duration) (string, error) {
	answer := ""
	err := within(netns, func() error {
		var err error
		if protocol == v1.ProtocolTCP {
			answer, err = connectTCP(address, limit)
		} else {
			answer, err = connectUDP(address, limit)
		}
		return err
	})
	if isTimeout(err) || errors.Is(err, syscall.ECONNREFUSED) {
		return "", nil
	}
	return answer, err
}

func connectTCP(address string, limit time.Duration) (string, error) {
	end := time.Now().Add(limit)
	connection, err := (&net.Dialer{Deadline: end}).Dial("tcp4", address)
	if err != nil {
		return "", err
	}
	defer connection.Close()
	connection.SetDeadline(end)
	answer, err := io.ReadAll(connection)
	return string(answer), err
}

func connectUDP(address string, limit time.Duration) (string, error) {
	end := time.Now().Add(limit)
	connection, err := net.Dial("udp4", address)
	if err != nil {
		return "", err
	}
	defer connection.Close()
	buffer := make([]byte, 64)
	for {
		if _, err := io.WriteString(connection, "who"); err != nil {
			return "", err
		}
		next := time.Now().Add(resend)
		if next.After(end) {
			next = end
		}
		connection.SetReadDeadline(next)
		length, err := connection.Read(buffer)
		if err == nil || !isTimeout(err) || next.Equal(end) {
			return string(buffer[:length]), err
		}
	}
}

func isTimeout(err error) bool {
	var failure net.Error
	return errors.As(err, &failure) && failure.Timeout()
}

// within does something in a network namespace, where sockets that it opens stay.
func within(netns string, do func() error) error {
	result := make(chan error, 1)
	go func() {
		// Never unlocked, so that the thread ends with the goroutine.
		runtime.LockOSThread()
		result <- func() error {
			namespace, err := os.Open("/run/netns/" + netns)
			if err != nil {
				return err
			}
			defer namespace.Close()
			if err := unix.Setns(int(namespace.Fd()), unix.CLONE_NEWNET); err != nil {
				return err
			}
			return do()
		}()
	}()
	return <-result
}
